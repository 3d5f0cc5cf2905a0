"""A real agent calls a tool server of its repository: in a container of its own, through the gateway only."""

import json

import pytest

from ledger.states import Ending
from runner.run.run_spec import ToolServerSpec, ToolSpec
from tests.contracts.stand import COMMIT, EDIT, FINISH, Stand, first_of_all
from tests.runner.gateway.test_servers import PROGRAM

pytestmark = pytest.mark.timeout(600)
SERVER = ToolServerSpec(
    "docs", ("python3", "-c", PROGRAM.read_text(encoding="utf-8")), reads=True, secrets=("DOCS_KEY",)
)
GONE = ToolServerSpec("gone", ("no-such-program",))
KEYLESS = ToolServerSpec("keyless", ("cat",), secrets=("NO_KEY",))
KEY = "the-key-of-the-docs"
TOOLS = ToolSpec(mcp=("docs__echo", "gone__echo", "keyless__echo"))
CALL = {"board": {"tool": "docs__echo", "input": {"text": "key"}}}


@first_of_all("claude")
def test_an_agent_calls_a_tool_server_and_a_broken_one_is_named(stand: Stand) -> None:
    stand.scenario(work=[CALL, EDIT, COMMIT, FINISH])
    stand.world.tool_secrets = {"DOCS_KEY": KEY}
    stand.run(stand.spec(TOOLS, servers=(SERVER, GONE, KEYLESS)))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    (called,) = stand.world.of("ToolServerCalled")
    assert (called.server, called.tool, called.outcome) == ("docs", "echo", "ok")
    keyless, gone = stand.world.of("ToolServerFailed")
    assert (keyless.server, gone.server) == ("keyless", "gone")
    assert "lacks NO_KEY: an operator puts" in keyless.detail
    assert "no-such-program" in gone.detail
    logs = "".join(path.read_text() for path in stand.world.places.logs.rglob("*") if path.is_file())
    requests = "".join(json.dumps(request.body) for request in stand.model.requests)
    assert f"of {len(KEY)} characters" in requests
    assert KEY not in logs + requests
    assert stand.containers() == []
