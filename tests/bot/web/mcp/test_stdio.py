"""`cardinal mcp`: a process that an agent starts, and that speaks for one token."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, ListToolsResult
from werkzeug.serving import make_server

from bot.cli import main
from bot.web.mcp import last_answers
from ledger.events.conversation import CommandGiven
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.agent import document, fault
from tests.bot.web.mcp.test_server import name_of
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.world import Pages

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
HANDSHAKE = (
    SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="initialize", params=HELLO)),
    SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")),
)


@contextmanager
def served(pages: Pages) -> Iterator[str]:
    """Serve the pages on a socket; yield the address."""
    server = make_server("127.0.0.1", 0, pages.app, threaded=True)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_agent_starts_the_server_and_cancels_a_run_through_it(
    pages: Pages, program: Path, tmp_path: Path
) -> None:
    item = at_work(pages)
    token = Program(pages, "bob")

    async def whole(address: str) -> None:
        environ = {
            "CARDINAL_HOME": str(tmp_path / "elsewhere"),
            "CARDINAL_URL": address,
            "CARDINAL_TOKEN": token.token,
        }
        server = StdioServerParameters(command=str(program), args=["mcp"], env=environ)
        async with Client(server) as client:
            assert document(await client.call_tool("whoami", {}))["login"] == "bob"
            receipt = document(await client.call_tool("cancel_job", name_of(pages, item)))
            assert receipt["done"] is True
            pages.cardinal.clock.forward(token.row.until.timestamp())
            assert "no valid token" in fault(await client.call_tool("whoami", {}))

    with served(pages) as address:
        anyio.run(whole, address)
    assert [it.command for it in pages.cardinal.events(CommandGiven)] == ["cancel"]


def test_without_an_address_or_a_token_it_says_what_to_set(tmp_path: Path) -> None:
    environ = {"CARDINAL_HOME": str(tmp_path), "CARDINAL_URL": "http://127.0.0.1:9", "CARDINAL_TOKEN": ""}
    result = CliRunner().invoke(main, ["mcp"], env=environ)
    assert (result.exit_code, "set CARDINAL_TOKEN to" in result.output) == (2, True)
    assert "CARDINAL_URL" not in result.output


def test_what_was_asked_before_the_input_ended_is_answered(
    pages: Pages, program: Path, tmp_path: Path
) -> None:
    calls = [("initialize", HELLO), *[("tools/call", {"name": "whoami", "arguments": {}})] * 5]
    listens: tuple[str, dict[str, object]] = (
        "subscriptions/listen",
        {"notifications": {}},
    )  # is never answered, and held up for nothing
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate([*calls, listens])
    ]
    with served(pages) as address:
        environ = {
            "CARDINAL_HOME": str(tmp_path / "elsewhere"),
            "CARDINAL_URL": address,
            "CARDINAL_TOKEN": Program(pages, "bob").token,
        }
        done = subprocess.run(
            (program, "mcp"), input="\n".join(lines) + "\n", env=environ, capture_output=True, text=True,
            timeout=60, check=True,
        )  # fmt: skip
    answers = {it["id"]: it for it in map(json.loads, done.stdout.splitlines())}
    assert set(range(len(calls))) <= answers.keys(), done.stderr
    logins = [answers[it]["result"]["structuredContent"]["login"] for it in range(1, len(calls))]
    assert logins == ["bob"] * 5


def test_an_answer_that_never_comes_holds_the_end_up_no_longer_than_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(last_answers, "WAIT_S", 0.1)
    requests = last_answers.OpenRequests()
    asked = SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call"))

    async def hang(_context: object, _sent: object) -> ListToolsResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def whole() -> None:
        to_server, read = anyio.create_memory_object_stream[SessionMessage | Exception](9)
        write, answers = anyio.create_memory_object_stream[SessionMessage](9)
        for message in HANDSHAKE:
            await to_server.send(message)
        await to_server.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/list")))
        to_server.close()
        with anyio.fail_after(10), answers:
            await last_answers.serve_to_the_last_answer(Server("slow", on_list_tools=hang), read, write)

    anyio.run(whole)
    requests.note_received(asked)
    gone = {"requestId": 1}
    cancelled = JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=gone)
    requests.note_received(SessionMessage(cancelled))
    anyio.run(requests.answered)
