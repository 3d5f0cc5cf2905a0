"""`cardinal job`: the API from a shell, one job at a time and many, with exit codes for scripts."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import CliError, _operations, main
from bot.cli._show import answer_lines
from bot.web.api.operation import OPERATIONS
from bot.web.api.sending import ApiProblemError
from ledger.events.conversation import CommandGiven
from tests.bot.flows.board.test_many_boards import second
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY
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
    assert set(_operations.operations_by_name().values()) == set(OPERATIONS.names())
    item = at_work(pages)
    card, run = pages.cardinal.card(item), pages.cardinal.run_of(item)
    name = f"{card.repository}#{card.number}"
    listed = shell("list", "--state", "working", "--limit", "5", "--json")
    assert [it["run"] for it in json.loads(listed.stdout)["jobs"]] == [run.run_id]
    rows = shell("list").stdout
    assert (run.run_id in rows, "(" in rows) == (True, True)
    assert re.search(r"\d\d-\d\dT\d\d:", rows + shell("show", name).stdout) is None
    assert "state: working" in shell("show", name).stdout
    assert "why: " in shell("explain", name).stdout
    assert shell("follow-run", run.run_id).exit_code == 0
    for _ in range(2):
        paused = shell("command", "pause", name, "--key", "k", "--json")
        assert (paused.exit_code, len(commands(pages))) == (0, 1), paused.output
    made = shell("create", "acme/1", "acme/shop", "Say hello").stdout
    assert ("number: 0" in made, "`cardinal job get-request " in made) == (False, True)
    missing = shell("show", "acme/shop#999")
    assert (missing.exit_code, "check the spelling" in missing.stderr) == (1, True)
    assert shell("show", "nonsense").exit_code == 2
    assert shell("list", "--state", "nonsense").exit_code == 2
    away = shell("list", CARDINAL_URL="http://127.0.0.1:9")
    assert (away.exit_code, "CARDINAL_URL" in away.stderr) == (2, True)


def test_the_only_board_need_not_be_named(pages: Pages, shell: Shell) -> None:
    for words in (("list-specialists",), ("show-board",)):
        named, taken = shell(*words, "acme", "1", "--json"), shell(*words, "--json")
        assert (taken.exit_code, taken.stdout) == (0, named.stdout), taken.output
    half = shell("list-specialists", "acme")
    assert (half.exit_code, "OWNER and NUMBER, or neither" in half.stderr) == (2, True)
    second(pages.cardinal)
    several = shell("list-specialists")
    assert several.exit_code == 2
    assert "name one as OWNER NUMBER: acme/1 or acme/2" in several.stderr


def test_many_jobs_from_standard_input_go_on_after_a_fault(pages: Pages, shell: Shell) -> None:
    cards = [pages.cardinal.card(at_work(pages)) for _ in range(2)]
    names = [f"{card.repository}#{card.number}" for card in cards]
    stdin = "\n".join((names[0], "acme/shop#999", "", names[1]))
    result = shell("command", "cancel", "-", stdin=stdin)
    assert result.exit_code == 1, result.output
    assert [row.partition(":")[0] for row in result.stdout.splitlines()] == names
    assert result.stderr.startswith("acme/shop#999: nothing by that name")
    assert [event.command for event in pages.cardinal.events(CommandGiven)] == ["cancel", "cancel"]


def test_a_filter_names_the_jobs_and_a_dry_run_does_nothing(pages: Pages, shell: Shell) -> None:
    items = [pages.cardinal.new("Old", column="Tasks") for _ in range(2)]
    pages.cardinal.catch_up()
    cards = [pages.cardinal.card(item) for item in items]
    names = sorted(f"{card.repository}#{card.number}" for card in cards)
    old = ("--filter", "column=Tasks", "--filter", "search=old")
    meant = shell("command", "archive", *old, "--dry-run")
    assert (meant.exit_code, commands(pages)) == (0, []), meant.output
    assert sorted(meant.stdout.splitlines()) == [f"{name}: would be done" for name in names]
    for words in (("--most", "1"), ("--filter", "colour=red"), ("--filter", "search=x"), ("acme/shop#1",)):
        refused = shell("command", "archive", *old, *words)
        assert (refused.exit_code, commands(pages)) == (2, []), refused.output
    for given in (("--text", "We chose euros."), ("--metadata", "currency=EUR")):
        copied = shell("command", "complete", *old, *given)
        assert (copied.exit_code, commands(pages)) == (2, []), copied.output
        assert "is for one card" in copied.stderr
    assert shell("command", "archive").exit_code == 2
    assert shell("command", "destroy", *old, "--dry-run").exit_code == 2
    done = shell("command", "archive", *old, "--json")
    assert [it["fault"] for it in map(json.loads, done.stdout.splitlines())] == ["", ""]
    pages.cardinal.catch_up()
    nothing = shell("command", "archive", *old)
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == "no jobs match, so nothing was done\n"
    assert shell("list", "--column", "In Progress").stderr == "nothing matches\n"


def test_more_commands_than_a_minute_has_wait_for_the_next(
    pages: Pages, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        pages.cardinal.clock.forward(61)

    monkeypatch.setattr(_operations, "sleep", wait)
    pages.cardinal.set_policy(POLICY.replace("limits: {", "limits: {commands_per_minute: 1, "))
    pages.cardinal.catch_up()
    cards = [pages.cardinal.card(at_work(pages)) for _ in range(2)]
    stdin = "\n".join(f"{card.repository}#{card.number}" for card in cards)
    many = shell("command", "status", "-", stdin=stdin)
    assert (many.exit_code, waits) == (0, [_operations.WAIT_S]), many.output
    monkeypatch.setattr(_operations, "sleep", waits.append)
    late = shell("command", "status", "-", stdin=stdin)
    assert (late.exit_code, "continue in a minute" in late.stderr) == (2, True)
    assert len(waits) == 1 + 2 * _operations.WAITS
    assert [event.command for event in pages.cardinal.events(CommandGiven)] == ["status", "status"]


def test_an_issue_on_two_boards_is_a_job_of_each(pages: Pages, shell: Shell) -> None:
    cardinal = pages.cardinal
    item, board = cardinal.new(column="Tasks"), second(cardinal)
    projects, carol = cardinal.forge.store.projects, cardinal.person("carol")
    other = projects.add(board, issue_of(item), actor=carol)
    projects.drag(other, "Tasks", actor=carol)
    cardinal.catch_up()
    name, where = f"acme/shop#{issue_of(item).number}", f"acme/{board.number}"
    listed = json.loads(shell("list", "--json").stdout)["jobs"]
    assert sorted(it["board"] for it in listed if it["number"] == issue_of(item).number) == ["acme/1", where]
    assert shell("show", name, "--board", "acme/9").exit_code == 1
    assert json.loads(shell("show", name, "--board", where, "--json").stdout)["board"] == where
    refused = shell("command", "archive", name)
    assert (refused.exit_code, f"on acme/1 and {where}" in refused.stderr) == (1, True), refused.output
    for words, stdin in ((("--filter", f"board={where}"), ""), (("-",), f"{name} {where}")):
        archived = shell("command", "archive", *words, stdin=stdin)
        assert archived.exit_code == 0, archived.output
        cardinal.catch_up()
        assert [it.archived_at is None for it in (item, other)] == [True, False]


def test_what_fits_no_command_is_said_in_words(shell: Shell) -> None:
    wrong = shell("command", "aprove", "acme/shop#1")
    assert "command: There is no command `aprove`. Did you mean `/cardinal approve`?" in wrong.stderr
    job = shell("get-run", "twelve")
    assert "run: invalid value: The run's name, such as r12" in job.stderr
    assert "pattern" not in wrong.stderr + job.stderr


def test_a_second_try_has_the_key_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def do(_job: object, key: str) -> dict[str, str]:
        keys.append(key)
        if len(keys) == 1:  # it may have been done all the same
            raise ApiProblemError(503, "busy", "GitHub is away", "send it again")
        return {}

    monkeypatch.setattr(_operations, "sleep", lambda _: None)
    jobs = [_operations.JobPlace("acme/shop#1"), _operations.JobPlace("acme/shop#1", "acme/2")]
    assert _operations.each(jobs, "", do, as_json=False) == 0
    assert keys[0] == keys[1] != keys[2]
    assert all(keys)


def test_a_filter_that_mostly_drafts_fit_does_nothing_in_silence() -> None:
    page = {"jobs": [{"repository": "", "number": 0}], "next": "more"}
    with pytest.raises(CliError, match="too many cards match"):
        _operations.job_names(lambda *_: page, ["column=Tasks"], 100)


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"at": "2026-99-99T99:99:99Z"}, ["at: 2026-99-99T99:99:99Z"]),
        ({"wait_s": 10**18, "usd": "x", "tags": ["a"]}, ["wait_s: 1", "usd: x", 'tags: ["a"]']),
        ({"job": None, "state": ["x"]}, ["job: null", 'state: ["x"]']),
        ({"deep": {"a": {"b": [1]}}}, ['deep: {"a": {"b": [1]}}']),
        ({"red": "one\n\x1b[31mtwo\u202e"}, ["red: one "]),
    ],
)
def test_metadata_of_a_report_is_shown_by_its_own_names(metadata: dict[str, Any], shown: list[str]) -> None:
    report = {"done": "2026-13-01T00:00:00Z", "changed": ["x"], "metadata": metadata}
    lines = list(answer_lines({"run": "r1", "report": report}, {}))
    assert lines[:4] == ["run: r1", "report:", "  done: 2026-13-01T00:00:00Z", "  changed: x"]
    assert lines[4] == "  metadata:"
    assert all(line.startswith(f"    {begin}") for line, begin in zip(lines[5:], shown, strict=True))
    assert not {"\x1b", "\u202e"} & set("".join(lines))


def test_no_exit_code_is_hidden_and_a_draft_is_called_one() -> None:
    evidence = [{"command": "true", "exit_code": 0}, {"command": "false", "exit_code": 1}]
    stages = [{"stage": "write", "seconds": 1.8847}]
    pull = {"number": 6, "draft": True}
    lines = list(answer_lines({"pull": pull, "evidence": evidence, "stages": stages}, {}))
    assert lines[0] == "pull: number 6, draft yes"
    assert [line.split()[-1] for line in lines[3:5]] == ["0", "1"]
    assert lines[-1].split() == ["write", "1", "s"]
