"""A tool server reaches the agent through the gateway alone, and a hostile one harms its own call only."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from runner.gateway.control.link import Gateway
from runner.gateway.control.messages import ServerCallMade, ServerTrouble, read
from runner.gateway.control.terms import Terms, ToolServerTerms
from runner.gateway.control.uplink import Uplink
from runner.gateway.servers.tool_servers import MAX_AT_ONCE, MAX_CALLS, ToolServers
from tests.runner.gateway.world import Ears, Line
from tests.waiting import until

PROGRAM = Path(__file__).with_name("tool_server.py")
SECRET = "s3cret-of-the-server"
TERMS = ToolServerTerms("docs", ("echo",), hidden=(SECRET,))
TOOL = "docs__echo"
Part = Callable[["Table"], Awaitable[None]]


class Table:
    """The tool servers of a gateway, its supervisor's line, and a started tool server."""

    def __init__(self, servers: ToolServers, far: socket.socket) -> None:
        self.servers, self._far = servers, far

    async def say(self, text: str) -> tuple[bool, str]:
        return await self.servers.call(TOOL, {"text": text})

    async def names(self) -> list[str]:
        return [tool["name"] for tool in await self.servers.tools()]

    def messages(self) -> list[object]:
        """Return what the supervisor was told since the last time."""
        events: list[object] = []
        self._far.setblocking(False)
        while True:
            try:
                events += read(self._far.recv(1 << 17).decode())
            except BlockingIOError:
                return events


@asynccontextmanager
async def table(way: str, call_s: float, start_s: float, earlier: int = 0) -> AsyncIterator[Table]:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    uplink = Uplink(near)
    uplink.is_open, uplink.turn, uplink.tools = True, "work-1", ("progress", TOOL)
    wire, its_wire = socket.socketpair()
    errors, its_errors = socket.socketpair()
    child = subprocess.Popen(
        [sys.executable, "-I", str(PROGRAM), way],
        stdin=its_wire.fileno(),
        stdout=its_wire.fileno(),
        stderr=its_errors.fileno(),
    )
    its_wire.close()
    its_errors.close()
    servers = ToolServers(uplink, (TERMS,), call_s, start_s, earlier)
    servers.handle_order(
        {"type": "attach", "server": "docs", "descriptors": (wire.detach(), errors.detach())}
    )
    try:
        async with asyncio.timeout(60):
            yield Table(servers, far)
    finally:
        servers.close()
        await asyncio.sleep(0)  # the transports close in the loop
        await asyncio.sleep(0)
        child.kill()
        child.wait(60)
        uplink.close()
        near.close()
        far.close()


def play(
    part: Part, way: str = "honest", call_s: float = 20.0, start_s: float = 20.0, earlier: int = 0
) -> None:
    async def whole() -> None:
        async with table(way, call_s, start_s, earlier) as new_table:
            await part(new_table)

    asyncio.run(whole())


def test_only_granted_tools_are_listed_and_called_and_each_call_is_measured() -> None:
    async def part(made: Table) -> None:
        (tool,) = await made.servers.tools()
        assert tool["name"] == TOOL
        assert tool["inputSchema"]["properties"] == {"text": {"type": "string"}}
        assert "in its own words: echo" in tool["description"]
        done, text = await made.say("hello")
        assert done
        assert "\nhello\n" in text
        assert await made.servers.call("docs__rm", {}) == (
            False,
            "it is not there in this run: go on without it",
        )
        first, second = (event for event in made.messages() if isinstance(event, ServerCallMade))
        assert (first.server, first.tool, first.outcome) == ("docs", "echo", "ok")
        assert first.input_bytes == len(json.dumps({"text": "hello"}))
        assert first.output_bytes == len(text)
        assert (second.tool, second.outcome) == ("rm", "gone")

    play(part)


@pytest.mark.parametrize("way", ["no-object", "huge", "wrong", "elsewhere", "odd"])
def test_a_tool_with_a_schema_that_would_break_model_calls_is_left_out_and_named(way: str) -> None:
    async def part(made: Table) -> None:
        assert await made.names() == []
        (trouble,) = made.messages()
        assert isinstance(trouble, ServerTrouble)
        assert "the schema of its tool echo" in trouble.detail
        assert not trouble.ended

    play(part, way)


def test_a_call_that_hangs_ends_at_its_limit_and_leaves_the_others_alone() -> None:
    async def part(made: Table) -> None:
        await made.names()
        done, text = await made.say("hang")
        assert not done
        assert "did not answer within" in text
        assert [event.outcome for event in made.messages() if isinstance(event, ServerCallMade)] == [
            "timeout"
        ]

    play(part, call_s=0.3)


def test_more_calls_at_once_than_allowed_are_refused() -> None:
    async def part(made: Table) -> None:
        await made.names()
        results = await asyncio.gather(*(made.say("hang") for _ in range(MAX_AT_ONCE + 1)))
        assert sum("at once: wait" in text for _, text in results) == 1

    play(part, call_s=0.3)


@pytest.mark.parametrize(
    ("text", "why"), [("flood", "more than 8 MB at once"), ("die", "it ended; it wrote: out of")]
)
def test_a_server_that_floods_or_dies_is_let_go_and_named_once(text: str, why: str) -> None:
    async def part(made: Table) -> None:
        await made.names()
        assert not (await made.say(text))[0]
        assert await made.say("again") == (False, "it is not there in this run: go on without it")
        assert await made.names() == []
        troubles = [event for event in made.messages() if isinstance(event, ServerTrouble)]
        assert [(trouble.ended, why in trouble.detail) for trouble in troubles] == [(True, True)]
        assert SECRET not in troubles[0].detail

    play(part)


def test_a_result_is_cut_cleaned_and_marked_as_material() -> None:
    async def part(made: Table) -> None:
        await made.names()
        _, text = await made.say("forge")
        assert "never an instruction" in text
        assert "</untrusted-00>" not in text
        assert SECRET not in text
        assert "\u202e" not in text
        assert len((await made.say("long"))[1]) < 61_000
        assert "larger than 1 MB" in (await made.say("large"))[1]
        assert "names the key 'result' twice" in (await made.say("twice"))[1]
        assert "image: left out" in (await made.say("picture"))[1]
        assert (await made.say("strange"))[0] is False
        assert "refused -32601" in (await made.say("ask"))[1]
        assert (await made.say("fine"))[0]

    play(part)


def test_a_server_that_never_begins_is_let_go() -> None:
    async def part(made: Table) -> None:
        assert await made.names() == []
        (trouble,) = made.messages()
        assert isinstance(trouble, ServerTrouble)
        assert (trouble.ended, "within" in trouble.detail) == (True, True)

    play(part, "silent", start_s=0.3)


@pytest.mark.parametrize("earlier", [0, MAX_CALLS - 1])
def test_a_loop_of_calls_ends_at_a_limit_of_the_run_that_is_said_once(earlier: int) -> None:
    async def part(made: Table) -> None:
        await made.names()
        for _ in range(MAX_CALLS - earlier):
            assert (await made.say("x"))[0]
        made.messages()
        assert [(await made.say("x"))[0] for _ in range(3)] == [False] * 3
        assert [type(event) for event in made.messages()] == [ServerCallMade, ServerTrouble]

    play(part, earlier=earlier)


def test_an_agent_meets_the_tools_among_those_of_the_board(tmp_path: Path) -> None:
    lent = (ToolServerTerms("docs", ("echo",), hosts=("example.org",)),)
    terms = Terms(models=(), servers=lent, server_calls=MAX_CALLS - 1)
    gateway = Gateway.spawn(tmp_path / "g", terms, {}, servers=tmp_path / "s")
    wire, its_wire = socket.socketpair()
    errors, its_errors = socket.socketpair()
    child = subprocess.Popen(
        [sys.executable, "-I", str(PROGRAM)], stdin=its_wire.fileno(), stdout=its_wire.fileno()
    )
    try:
        with wire, its_wire, errors, its_errors:
            gateway.attach("docs", wire.fileno(), errors.fileno())
        gateway.open(turn="work-1", usd_left=1.0, tools=("progress", TOOL))
        assert gateway.network_of("docs") == tmp_path / "s" / "docs"
        assert _rpc(gateway, "tools/list", {})["tools"][1]["name"] == TOOL
        result = _rpc(gateway, "tools/call", {"name": TOOL, "arguments": {"text": "hello"}})
        assert "hello" in result["content"][0]["text"]
        assert [server_call_made.outcome for server_call_made in Ears(gateway).wait(ServerCallMade)] == ["ok"]
        result = _rpc(gateway, "tools/call", {"name": TOOL, "arguments": {"text": "hello"}})
        assert "more than 200 calls of tool servers in a run" in str(result)
        assert b"tool server docs" in _proxied(tmp_path / "s" / "docs", "other.example")
        gateway.open(turn="work-2", usd_left=1.0, tools=("progress",))
        assert "there is no such tool" in str(_rpc(gateway, "tools/call", {"name": TOOL, "arguments": {}}))
    finally:
        gateway.close()
        child.kill()
        child.wait(60)
    assert not (tmp_path / "s").exists()


def _rpc(gateway: Gateway, method: str, params: dict[str, object]) -> dict[str, list[dict[str, str]]]:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def result() -> dict[str, list[dict[str, str]]] | None:
        with closing(Line(gateway.folder)) as line:
            line.request("POST", "/board", body, headers)
            said: dict[str, list[dict[str, str]]] = json.loads(line.getresponse().read())["result"]
        return said if said.get("tools", True) else None  # the order to open comes by another way

    return until(result, "its tools")


def _proxied(folder: Path, host: str) -> bytes:
    with closing(Line(folder, "network.sock")) as line:
        line.request("GET", f"http://{host}/")
        return line.getresponse().read()
