"""`cardinal mcp`: a process that an agent starts, and that speaks for one token."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import anyio
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from werkzeug.serving import make_server

from bot.cli import main
from ledger.events.conversation import CommandGiven
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.agent import document, fault
from tests.bot.web.mcp.test_server import name_of
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.world import Pages


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
            assert "gave `/cardinal cancel` by a program" in receipt["answer"]
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
