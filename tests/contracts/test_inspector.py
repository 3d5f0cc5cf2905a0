"""The MCP inspector's command line, which others wrote: it lists and calls, over both ways to the server."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bot.web.api.operation import OPERATIONS
from bot.web.mcp.tools import JOB_TOOLS
from ledger.events.conversation import CommandGiven
from tests.bot.flows.opening import opened
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.agent import listening
from tests.bot.web.pages.forms import asked
from tests.bot.web.pages.world import PUBLIC, Pages
from tests.peer.emulator import command

Inspector = Callable[..., dict[str, Any]]
PROGRAM = "@modelcontextprotocol/inspector-cli/build/cli.js"


def inspector(*server: str) -> Inspector:
    """Return a way to have the inspector ask one thing of that server."""
    node, peer = command()
    program = Path(peer).parents[2] / PROGRAM
    place = program.parent  # it looks for its own package.json from where it is started

    def inspect(method: str, *more: str) -> dict[str, Any]:
        words = (node, str(program), "--cli", *server, "--method", method, *more)
        quiet = {"PATH": os.environ["PATH"]}
        done = subprocess.run(
            words, cwd=place, env=quiet, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return inspect


@contextmanager
def waiting(tmp_path: Path) -> Iterator[tuple[Pages, list[str], str, str]]:
    """Serve a board with a question; yield it, its job as arguments of a tool, the address, and a token."""
    command()
    with opened(tmp_path / "cardinal", public_url=PUBLIC) as cardinal:
        pages = Pages.over(cardinal)
        number = cardinal.card(asked(pages, "80", "81")).number
        listener = socket.create_server(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with listening(pages, listener):
            words = ["--tool-arg", "owner=acme", "repository=shop", f"number={number}"]
            yield pages, words, address, Program(pages, "bob").token


def answers(pages: Pages) -> list[tuple[str, str, str, str]]:
    return [(it.by, it.place, it.command, it.argument) for it in pages.cardinal.events(CommandGiven)]


def test_it_lists_and_answers_a_question_over_http(tmp_path: Path) -> None:
    with waiting(tmp_path) as (pages, job, address, token):
        header = ("--header", f"Authorization: Bearer {token}")
        inspect = inspector(f"{address}/mcp", "--transport", "http", *header)
        assert {it["name"] for it in inspect("tools/list")["tools"]} == {*OPERATIONS.names(), *JOB_TOOLS}
        assert len(inspect("resources/templates/list")["resourceTemplates"]) == 4
        prompt = inspect("prompts/get", "--prompt-name", "orchestrate", "--prompt-args", "goal=A shop")
        assert prompt["messages"][0]["content"]["text"].endswith("A shop")
        refused = inspect("tools/call", "--tool-name", "resume_job", *job)
        assert (refused["isError"], "waiting for an answer" in refused["content"][0]["text"]) == (True, True)
        done = inspect("tools/call", "--tool-name", "resume_job", *job, 'text="2"')
        assert done["structuredContent"]["again"] is False
        assert answers(pages) == [("bob", "api", "answer", "2")]


def test_it_starts_the_server_itself_and_answers_a_question(tmp_path: Path) -> None:
    with waiting(tmp_path) as (pages, job, address, token):
        settings = {"CARDINAL_HOME": str(tmp_path), "CARDINAL_URL": address, "CARDINAL_TOKEN": token}
        passed = (word for name, text in settings.items() for word in ("-e", f"{name}={text}"))
        inspect = inspector(*passed, sys.executable, "-P", "-m", "bot.cli", "mcp")
        done = inspect("tools/call", "--tool-name", "resume_job", *job, 'text="2"')
        assert done["structuredContent"]["again"] is False
        assert answers(pages) == [("bob", "api", "answer", "2")]
