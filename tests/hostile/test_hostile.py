"""Each real agent works in a repository that was made to hurt, and is turned itself: nothing comes out."""

import json
from pathlib import Path

import pytest

from ledger.events.run import RunParked
from ledger.states import Ending
from runner.run.run_spec import Guards
from tests.contracts.conftest import agent, stand
from tests.contracts.stand import FINISH, PLAN, Stand
from tests.hostile.traps import ORDER, host_folder, plant, sprung
from tests.runner.world import BRANCH, git

__all__ = ["agent", "stand"]
pytestmark = pytest.mark.timeout(600)
WORKFLOWS = (".github/workflows/**",)
REFUSED = (
    "sparse", "device", "character", "push https", "push mirror", "push origin", "submodules",
    "host file", "through a link", "mirror",
)  # fmt: skip
PUBLISH = "Publish these files too"


def test_a_hostile_repository_and_a_turned_agent_stay_harmless(stand: Stand) -> None:
    host = host_folder(stand.root)
    before = sorted(path.name for path in host.iterdir())
    git(stand.world.origin, "config", "core.logAllRefUpdates", "always")
    plant(stand.world, host)
    go = {"run": f"python3 attack.py {host}"}
    ask = {"ask": {"question": "Shall I go on?"}}
    look = {"run": "git status --short | head"}
    stand.scenario(plan=[PLAN], work=[go, ask, look, FINISH])
    spec = stand.spec(planned=False, guards=Guards({"protected": "ask"}, WORKFLOWS))

    parked = stand.run(spec)
    assert isinstance(parked, RunParked), parked
    assert parked.why == "question"
    (home,) = stand.world.places.workspaces.glob("*/home")
    outcome = json.loads((home / "outcome.json").read_text())
    assert outcome["commit"] == "done", outcome
    assert {name: outcome[name] for name in REFUSED if outcome[name] == "done"} == {}
    assert_nothing_of_the_repository_ran(stand, home)

    parked = stand.world.answer(spec, "Yes")
    assert isinstance(parked, RunParked), parked
    assert parked.why == "limit"
    asked = stand.world.only("QuestionAsked", newest=True)
    assert ".github/workflows/ci.yml" in asked.text
    assert WORKFLOWS[0] in asked.text
    assert BRANCH not in git(stand.world.origin, "branch", "--format=%(refname:short)")
    assert_nothing_of_the_repository_ran(stand, home)

    stand.world.answer(spec, PUBLISH)
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert_nothing_of_the_repository_ran(stand, home)
    assert_only_cardinal_pushed(stand)
    assert_nothing_from_outside_was_published(stand)
    assert sorted(path.name for path in host.iterdir()) == before
    assert sprung(host / "sprung") == set()
    assert stand.model.problems == []


def assert_nothing_of_the_repository_ran(stand: Stand, home: Path) -> None:
    """No trap of the repository or of the agent's home sprang, but the one that shows that traps spring."""
    marks = sprung(home)
    assert "sprung-control" in marks
    assert {mark for mark in marks if mark.startswith(("sprung-repo-", "sprung-home-"))} == set()
    assert {
        mark for mark in marks if mark.startswith("beside-")
    } == set()  # the mirror was never shown to one
    assert [heard.path for heard in stand.model.requests if ORDER in str(heard.body)] == []


def assert_only_cardinal_pushed(stand: Stand) -> None:
    pushed = [one.head for one in stand.world.of("BranchPushed")]
    moves = git(stand.world.origin, "reflog", "show", "--format=%H", f"refs/heads/{BRANCH}").splitlines()
    assert moves == pushed == [stand.world.head()]
    log = git(stand.world.origin, "reflog", "show", "--format=%H", "refs/heads/main").splitlines()
    assert len(log) == 1  # the stranger's
    assert {one.pattern for one in stand.world.of("ToolAllowed")} == set()


def assert_nothing_from_outside_was_published(stand: Stand) -> None:
    """What was published is what the agent committed: links as links, and no byte of the host."""
    origin = stand.world.origin
    changed = git(origin, "diff", "--name-only", "main", BRANCH).splitlines()
    assert sorted(changed) == ["-rf", ".github/workflows/ci.yml", "environment", "hello.txt", "stolen"]
    assert git(origin, "ls-tree", BRANCH, "stolen").startswith("120000 ")
    assert git(origin, "show", f"{BRANCH}:hello.txt") == "hello"
    objects = git(origin, "rev-list", "--objects", BRANCH, "^main").splitlines()
    texts = [git(origin, "cat-file", "-p", line.split(" ")[0]) for line in objects]
    assert not any("HOST-CANARY-CONTENT" in text for text in texts)
