"""`cardinal job`: the API from a shell, one job at a time and many, with exit codes for scripts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import _operations, main
from bot.web.api.operation import OPERATIONS
from ledger.events.conversation import CommandGiven
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.test_stdio import served
from tests.bot.web.pages.conftest import pages
from tests.bot.web.pages.forms import at_work, commands
from tests.bot.web.pages.world import Pages

__all__ = ["pages"]
Shell = Callable[..., Result]


@pytest.fixture
def shell(pages: Pages, tmp_path: Path) -> "object":
    with served(pages) as address:
        environ = {
            "CARDINAL_HOME": str(tmp_path / "elsewhere"),
            "CARDINAL_URL": address,
            "CARDINAL_TOKEN": Program(pages, "bob").token,
        }
        yield lambda *words, stdin="", **more: CliRunner().invoke(
            main, ["job", *words], input=stdin, env=environ | more
        )


def test_every_operation_is_a_command_and_a_job_is_driven_from_a_shell(pages: Pages, shell: Shell) -> None:
    assert set(_operations.named().values()) == set(OPERATIONS.names())
    item = at_work(pages)
    card, run = pages.cardinal.card(item), pages.cardinal.run_of(item)
    name = f"{card.repository}#{card.number}"
    listed = shell("list", "--state", "working", "--limit", "5", "--json")
    assert [it["run"] for it in json.loads(listed.stdout)["jobs"]] == [run.run_id]
    assert run.run_id in shell("list").stdout
    assert "state: working" in shell("show", name).stdout
    assert "why: " in shell("explain", name).stdout
    assert shell("follow-run", run.run_id).exit_code == 0
    for _ in range(2):
        paused = shell("command", "pause", name, "--key", "k", "--json")
        assert (paused.exit_code, len(commands(pages))) == (0, 1), paused.output
    made = shell("create", "acme/1", "acme/shop", "Say hello").stdout
    assert ("number: 0" in made, "`cardinal job get-request " in made) == (False, True)
    missing = shell("show", "acme/shop#999")
    assert (missing.exit_code, "look at the spelling" in missing.stderr) == (1, True)
    assert shell("show", "nonsense").exit_code == 2
    assert shell("list", "--state", "nonsense").exit_code == 2
    away = shell("list", CARDINAL_URL="http://127.0.0.1:9")
    assert (away.exit_code, "CARDINAL_URL" in away.stderr) == (2, True)


def test_many_jobs_from_standard_input_go_on_after_a_fault(pages: Pages, shell: Shell) -> None:
    cards = [pages.cardinal.card(at_work(pages)) for _ in range(2)]
    names = [f"{card.repository}#{card.number}" for card in cards]
    stdin = "\n".join((names[0], "acme/shop#999", "", names[1]))
    result = shell("command", "cancel", "-", stdin=stdin)
    assert result.exit_code == 1, result.output
    assert [row.partition(":")[0] for row in result.stdout.splitlines()] == names
    assert result.stderr.startswith("acme/shop#999: there is nothing of that name")
    assert [it.command for it in pages.cardinal.events(CommandGiven)] == ["cancel", "cancel"]
