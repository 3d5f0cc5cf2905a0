"""A real agent calls a tool server of its repository: in a container of its own, through the gateway only."""

import pytest

from ledger.states import Ending
from runner.run.run_spec import ToolServerSpec, ToolSpec
from tests.contracts.stand import COMMIT, EDIT, FINISH, Stand, first_of_all
from tests.runner.gateway.test_servers import PROGRAM

pytestmark = pytest.mark.timeout(600)
SERVER = ToolServerSpec("docs", ("python3", "-c", PROGRAM.read_text(encoding="utf-8")), reads=True)
GONE = ToolServerSpec("gone", ("no-such-program",))
TOOLS = ToolSpec(mcp=("docs__echo", "gone__echo"))
CALL = {"board": {"tool": "docs__echo", "input": {"text": "where"}}}


@first_of_all("claude")
def test_an_agent_calls_a_tool_server_and_a_broken_one_is_named(stand: Stand) -> None:
    stand.scenario(work=[CALL, EDIT, COMMIT, FINISH])
    stand.run(stand.order(TOOLS, servers=(SERVER, GONE)))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    (called,) = stand.world.of("ToolServerCalled")
    assert (called.server, called.tool, called.outcome) == ("docs", "echo", "ok")
    (failed,) = stand.world.of("ToolServerFailed")
    assert failed.server == "gone"
    assert "no-such-program" in failed.detail
    assert stand.containers() == []
