"""The MCP server at `/mcp`: the official client over streamable HTTP, and who is not let in."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bot.web.api import door as api_door
from bot.web.mcp import door
from bot.web.mcp.door import McpDoor
from ledger.events.conversation import CommandGiven
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.agent import bridge, document
from tests.bot.web.mcp.test_server import name_of
from tests.bot.web.pages.forms import at_work, commands
from tests.bot.web.pages.world import PUBLIC, Pages

JSON_RPC = {"Accept": "application/json, text/event-stream"}


def http_client(pages: Pages, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(McpDoor(bridge(pages), PUBLIC))
    return httpx2.AsyncClient(transport=transport, base_url=PUBLIC, headers=headers)


def bearer(program: Program) -> dict[str, str]:
    return {"Authorization": f"Bearer {program.token}"}


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_gives_a_command_over_http_as_its_tokens_account(pages: Pages, mode: str) -> None:
    item = at_work(pages)

    async def whole() -> None:
        http = http_client(pages, bearer(Program(pages, "bob")))
        transport = streamable_http_client(f"{PUBLIC}/mcp", http_client=http)
        async with http, Client(transport, mode=mode) as client:
            assert document(await client.call_tool("whoami", {}))["login"] == "bob"
            document(await client.call_tool("cancel_job", name_of(pages, item)))

    anyio.run(whole)
    assert [(it.by, it.command) for it in pages.cardinal.events(CommandGiven)] == [("bob", "cancel")]


def call(number: int, tool: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": fields}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_request_that_comes_again_in_its_session_acts_once_and_sessions_have_numbers_of_their_own(
    pages: Pages,
) -> None:
    item = at_work(pages)
    pause = call(2, "give_command", {**name_of(pages, item), "command": "pause"})
    version = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version}

    async def whole() -> None:
        async with http_client(pages, bearer(Program(pages, "bob")) | JSON_RPC) as http:
            early = {"mcp-protocol-version": "2025-06-18"}  # some clients send it before it is agreed on
            begun = [await http.post("/mcp", json=begin, headers=sent) for sent in ({}, early)]
            sessions = [answer.headers["mcp-session-id"] for answer in begun]
            again = []
            for session in (sessions[0], sessions[0], sessions[1]):
                headers = {"mcp-session-id": session, "mcp-protocol-version": "2025-06-18"}
                result = (await http.post("/mcp", json=pause, headers=headers)).json()["result"]
                again.append(json.loads(result["content"][0]["text"])["again"])
            assert again == [False, True, False]

    anyio.run(whole)
    assert len(commands(pages)) == 2


def test_who_has_no_token_or_comes_from_another_page_is_not_let_in(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = bearer(Program(pages, "bob")) | JSON_RPC

    async def status(headers: Mapping[str, str], method: str = "POST", body: bytes = b"{}") -> int:
        async with http_client(pages, headers) as http:
            more = {"content-type": "application/json"}
            return (await http.request(method, "/mcp", content=body, headers=more)).status_code

    async def whole() -> None:
        assert await status(JSON_RPC) == 401
        assert await status(JSON_RPC | {"Authorization": "Bearer nothing"}) == 401
        assert await status(ours | {"Origin": "https://evil.example"}) == 403
        assert await status(ours, "GET") == 405
        for name, text in (("Authorization", "Bearer nothing"), ("Origin", "https://evil.example")):
            twice = httpx2.Headers([*(ours | {"Origin": PUBLIC}).items(), (name, text)])
            assert await status(twice) == 400
            assert await status(httpx2.Headers(list(reversed(twice.multi_items())))) == 400
        assert await status(ours, body=b" " * 300_000) == 413
        assert await status(ours | {"Origin": PUBLIC}) == 400  # let in: it is no JSON-RPC
        monkeypatch.setattr(door, "MAX_AT_ONCE", 0)
        assert await status(ours) == 503

    anyio.run(whole)


def test_a_request_counts_once_of_those_that_a_token_may_send(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_door, "A_MINUTE", 3)
    bob = Program(pages, "bob")

    async def whole() -> None:
        async with http_client(pages, bearer(bob) | JSON_RPC) as http:
            headers = {"mcp-session-id": "s", "mcp-protocol-version": "2025-06-18"}
            for number in range(3):
                answer = await http.post("/mcp", json=call(number, "list_boards", {}), headers=headers)
                assert not answer.json()["result"]["isError"], answer.text
            answer = await http.post("/mcp", json=call(9, "list_boards", {}), headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many")

    anyio.run(whole)
    assert bob.send("GET", "/whoami").status_code == 429
