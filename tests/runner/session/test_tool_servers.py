"""A run whose tool server cannot start says so once, and goes on without it."""

from pathlib import Path

from ledger.states import Ending
from runner.run.run_spec import ToolServerSpec, ToolSpec
from tests.runner.world import make_world

WORK = [{"edit": {"path": "hello.txt", "content": "hello\n"}}, {"commit": "Say hello"}]
PLAN = {"plan": {"summary": "Say hello", "steps": ["Write hello.txt"]}}
FINISH = {"finish": {"done": "There is a greeting.", "changed": ["hello.txt: new"]}}


def test_without_containers_the_server_is_named_and_the_work_is_done(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"README.md": "# Shop\n"})
    world.scenario(plan=[PLAN], work=[*WORK, FINISH])
    server = ToolServerSpec("docs", ("docs",), hosts=("a.example",))
    tools = ToolSpec(mcp=("docs__find",))
    world.run(world.spec(plan_required=False, tools=tools, servers=(server,)))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    (failed,) = world.of("ToolServerFailed")
    assert (failed.server, "CARDINAL_WORKSPACE=docker" in failed.detail) == ("docs", True)
    assert not any(world.places.servers.iterdir())
    world.engine.dispose()
