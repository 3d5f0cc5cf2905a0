"""An agent may tell its git that the mirror is elsewhere: Cardinal's own git runs nothing then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.states import Ending
from tests.runner.world import World, make_world

PLAN = {"plan": {"summary": "Say hello", "steps": ["Write it"]}}
EDIT = {"edit": {"path": "hello.txt", "content": "hello\n"}}
FINISH = {"finish": {"done": "There is a greeting.", "changed": ["hello.txt: new"]}}
SPY = "ls /mirror > /workspace/home/seen; exit 1"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Yield a world whose repository has one commit."""
    made = make_world(tmp_path, files={"README.md": "# Shop\n", "spy.sh": SPY})
    yield made
    made.engine.dispose()


@pytest.mark.parametrize(
    "setting",
    [
        "url.'ext::sh /workspace/repo/spy.sh '.insteadOf /",
        "url.'ssh://x/'.insteadOf /",
    ],
)
def test_a_rewritten_address_leads_nowhere_and_runs_nothing(world: World, setting: str) -> None:
    spy = (
        "git config protocol.allow always; git config protocol.ext.allow always;"
        f" git config core.sshCommand 'sh /workspace/repo/spy.sh'; git config {setting}"
    )
    world.scenario(plan=[PLAN], work=[EDIT, {"run": spy}, {"ask": {"question": "Well?"}}, FINISH])
    spec = world.spec()
    world.run(spec)
    world.commit({"other.txt": "theirs\n"})  # something to fetch
    world.answer(spec, "Go on")
    assert list(world.places.workspaces.glob("*/repo/hello.txt"))
    assert not list(world.places.workspaces.glob("*/home/seen"))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()  # Cardinal's git reads a config of its own
    assert world.show("hello.txt") == "hello"
