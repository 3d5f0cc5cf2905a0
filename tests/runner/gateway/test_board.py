"""The board tools as an agent meets them: over HTTP on a unix socket, with a supervisor that answers."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from runner.agents.board_tools import TOOLS, offer_tools
from runner.gateway.control.mcp_server import CALLS_PER_MINUTE, INPUT_BYTES, REQUEST_BYTES, board_app
from runner.gateway.control.uplink import Uplink

WAIT_S = 60.0
WORK = offer_tools(read_only=False, threads=False)
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass
class BoardClient:
    """An agent's client, and the supervisor at the other end."""

    http: httpx2.AsyncClient
    line: socket.socket
    now_s: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    result: Mapping[str, object] = field(default_factory=lambda: {"ok": True})

    async def order(self, **order: object) -> None:
        self.line.send(json.dumps(order).encode())
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)

    async def open(
        self, turn: str = "work-1", tools: tuple[str, ...] = WORK, withheld: tuple[str, ...] = ()
    ) -> None:
        await self.order(type="open", turn=turn, tools=tools, withheld=withheld, usd_left=1.0)

    async def post(self, method: str, params: Mapping[str, object] | None = None, **headers: str) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = await self.http.post("/board", json=body, headers=HEADERS | headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    async def call(self, tool: str, **given: object) -> tuple[bool, str]:
        """Return whether it was an error, and the text of the answer."""
        result = await self.post("tools/call", {"name": tool, "arguments": given})
        return result["isError"], result["content"][0]["text"]

    def hear(self) -> None:
        message = json.loads(self.line.recv(1 << 17))
        if message["type"] != "call":
            self.told.append(message)
            return
        self.asked.append(message)
        self.line.send(json.dumps({"type": "reply", "id": message["id"], "result": self.result}).encode())


@asynccontextmanager
async def board_client(folder: Path) -> AsyncIterator[BoardClient]:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    uplink = Uplink(near)
    path = str(folder / "m.sock")
    http = httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(uds=path), base_url="http://gateway")
    new_board_client = BoardClient(http, far)
    asyncio.get_running_loop().add_reader(far.fileno(), new_board_client.hear)
    app = board_app(uplink, clock=lambda: new_board_client.now_s)
    config = uvicorn.Config(app, uds=path, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    async with asyncio.timeout(WAIT_S):
        while not server.started:
            await asyncio.sleep(0.01)
    try:
        yield new_board_client
    finally:
        await http.aclose()
        serving.cancel()  # it looks only ten times a second whether it shall end
        for listening in server.servers:
            listening.close()
        asyncio.get_running_loop().remove_reader(far.fileno())
        uplink.close()
        near.close()
        far.close()


def play(folder: Path, part: Callable[[BoardClient], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with board_client(folder) as new_board_client:
            await part(new_board_client)

    asyncio.run(whole())


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_an_agent_of_any_age_shakes_hands_lists_and_calls(tmp_path: Path, version: str) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        who = {"name": "agent", "version": "1"}
        hello = await made.post(
            "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": who}
        )
        assert (hello["serverInfo"]["name"], hello["protocolVersion"]) == ("board", version)
        noted = await made.http.post(
            "/board", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=HEADERS
        )
        assert noted.status_code == 202
        spoken: dict[str, Any] = {"mcp-protocol-version": version}
        listed = await made.post("tools/list", **spoken)
        assert [tool["name"] for tool in listed["tools"]] == list(WORK)
        result = await made.post(
            "tools/call",
            {"name": "progress", "arguments": {"text": "Half way"}},
            **{"mcp-protocol-version": version},
        )
        assert result["content"] == [{"type": "text", "text": '{"ok": true}'}]

    play(tmp_path, part)


def test_an_agent_without_a_handshake_discovers_the_same(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        version = "2026-07-28"
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        for method in ("server/discover", "tools/list"):
            headers = {"mcp-protocol-version": version, "mcp-method": method}
            found = await made.post(method, {"_meta": meta}, **headers)
        assert [tool["name"] for tool in found["tools"]] == list(WORK)

    play(tmp_path, part)


def test_every_tool_is_listed_with_words_and_a_schema(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open(tools=tuple(TOOLS))
        tools = (await made.post("tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == list(TOOLS)
        await made.post("tools/list")
        assert made.told == [{"type": "board_listed"}]
        for tool in tools:
            assert tool["description"].endswith(".")
            assert tool["inputSchema"]["type"] == "object"
            for one in tool["inputSchema"]["properties"].values():
                assert one["description"]
            assert tool["_meta"] == {"anthropic/alwaysLoad": True}

    play(tmp_path, part)


def test_a_field_that_is_withheld_is_not_told_of(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open(tools=("create_card", "finish"), withheld=("create_card.column", "create_card.start"))
        card, finish = (await made.post("tools/list"))["tools"]
        assert {"title", "parents"} <= card["inputSchema"]["properties"].keys()
        assert card["inputSchema"]["properties"].keys().isdisjoint({"column", "start"})
        assert finish["inputSchema"]["properties"].keys() == TOOLS["finish"].model_fields.keys()

    play(tmp_path, part)


def test_nothing_is_offered_and_nothing_obeyed_between_turns(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        for _ in range(2):
            assert (await made.post("tools/list"))["tools"] == []
            wrong, text = await made.call("note", text="x")
            assert wrong
            assert "no turn is open" in text
            await made.open()
            assert (await made.post("tools/list"))["tools"]
            await made.order(type="shut")
        assert made.asked == []

    play(tmp_path, part)


def test_only_what_the_turn_offers_can_be_called(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open(tools=("plan", "ask"))
        for tool in ("finish", "nothing", "__class__", ""):
            wrong, text = await made.call(tool, done="x")
            assert (wrong, text) == (True, "there is no such tool in this turn; there are plan, ask")
        assert made.asked == []

    play(tmp_path, part)


def test_the_supervisors_answer_is_the_tools_result(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        made.result = {"ok": True, "card": {"title": "Grüße"}}
        assert await made.call("show_card") == (False, '{"ok": true, "card": {"title": "Grüße"}}')
        made.result = {"error": "the plan is settled"}
        assert await made.call("note", text="x") == (True, "the plan is settled")
        assert [(one["tool"], one["input"]) for one in made.asked] == [
            ("show_card", {}),
            ("note", {"text": "x"}),
        ]

    play(tmp_path, part)


def test_a_call_has_the_same_id_after_a_crash_and_equal_calls_of_one_life_have_two(tmp_path: Path) -> None:
    said = [("note", "a"), ("note", "a"), ("note", "b"), ("progress", "a"), ("note", "a")]
    ids: list[list[str]] = []

    async def life(made: BoardClient) -> None:
        await made.open()
        for tool, text in said:
            await made.call(tool, text=text)
        await made.open(turn="repair-1")
        await made.call("note", text="a")
        ids.append([one["id"] for one in made.asked])

    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        play(folder, life)
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(said) + 1


def test_the_order_of_keys_does_not_make_another_call(tmp_path: Path) -> None:
    ids: list[str] = []
    for number, given in enumerate(({"summary": "s", "steps": ["a"]}, {"steps": ["a"], "summary": "s"})):
        folder = tmp_path / str(number)
        folder.mkdir()

        async def life(made: BoardClient, given: dict[str, Any] = given) -> None:
            await made.open(tools=("plan",))
            await made.call("plan", **given)
            ids.append(made.asked[0]["id"])

        play(folder, life)
    assert ids[0] == ids[1]


def test_a_chatty_agent_is_slowed_down_and_told(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        for _ in range(CALLS_PER_MINUTE):
            assert not (await made.call("progress", text="again"))[0]
        for _ in range(3):
            wrong, text = await made.call("progress", text="again")
            assert wrong
            assert "call less often" in text
        assert len(made.asked) == CALLS_PER_MINUTE
        assert [(one["type"], one["kind"]) for one in made.told] == [("refused", "rate")]
        made.now_s += 1.0
        assert not (await made.call("progress", text="again"))[0]

    play(tmp_path, part)


def test_a_large_input_is_refused_in_words_and_a_huge_request_at_the_door(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        wrong, text = await made.call("note", text="é" * (INPUT_BYTES // 6))
        assert wrong
        assert "say it shorter" in text
        huge = await made.http.post("/board", content=b"x" * (REQUEST_BYTES + 1), headers=HEADERS)
        assert huge.status_code == 413
        assert made.asked == []
        assert not (await made.call("note", text="é" * (INPUT_BYTES // 7)))[0]

    play(tmp_path, part)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"[" * 50_000, b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"null"]
)
def test_what_is_no_request_is_an_error_and_the_board_lives_on(tmp_path: Path, body: bytes) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        answer = await made.http.post("/board", content=body, headers=HEADERS)
        assert 400 <= answer.status_code < 500
        assert not (await made.call("note", text="x"))[0]

    play(tmp_path, part)


def test_a_number_that_json_has_no_word_for_is_refused(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        params = b'{"name":"tick","arguments":{"done":NaN}}'
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}"
        answer = await made.http.post("/board", content=body, headers=HEADERS)
        assert answer.status_code >= 400 or answer.json()["result"]["isError"]
        assert made.asked == []

    play(tmp_path, part)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_nothing_to_listen_to(tmp_path: Path, method: str) -> None:
    async def part(made: BoardClient) -> None:
        answer = await made.http.request(method, "/board", headers={"accept": "text/event-stream"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")

    play(tmp_path, part)


def test_an_agent_that_hangs_up_does_not_hold_the_board(tmp_path: Path) -> None:
    async def part(made: BoardClient) -> None:
        await made.open()
        made.line.setblocking(False)
        asyncio.get_running_loop().remove_reader(made.line.fileno())  # a supervisor that is busy
        with pytest.raises(httpx2.TimeoutException):
            await made.http.post(
                "/board",
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "note", "arguments": {"text": "x"}}},
                headers=HEADERS,
                timeout=0.2,
            )  # fmt: skip
        asyncio.get_running_loop().add_reader(made.line.fileno(), made.hear)
        assert not (await made.call("note", text="y"))[0]

    play(tmp_path, part)
