"""The commands on a real ledger: they say what is there, harm nothing, and refuse in one sentence."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click import Command, Context, Group
from click.testing import CliRunner, Result
from rich.console import Console
from sqlalchemy import Engine

from bot.cli import main
from bot.cli._show import ago, table
from bot.system import lock_file
from bot.system.config import Config
from bot.system.program import TRIAL
from bot.web.api.operations import list_inbox
from ledger.events import board as on_board
from ledger.events import run as of_run
from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.states import CardState
from tests.bot.cli.conftest import AT, BOARD, CARD, Cardinal, card, printed, queued
from tests.ledger.queue.test_hosts import beat, fall_silent


def leaves(group: Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield every command that does something, with the words that call it."""
    for name in group.list_commands(Context(group)):
        inner = group.get_command(Context(group), name)
        assert inner is not None
        if isinstance(inner, Group):
            yield from leaves(inner, (*path, name))
        elif not inner.hidden:
            yield (*path, name), inner


def of_column(name: str, result: Result) -> list[dict[str, Any]]:
    """Return the cards that `cardinal board --json` lists in a column."""
    (board,) = printed(result)
    (column,) = [column for column in board["columns"] if column["name"] == name]
    return list(column["listed"])


def test_every_command_has_help_with_examples_that_it_understands(
    cardinal: Cardinal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (".github", "shop.git"):
        Path(folder).mkdir()
    wheels = [f"cardinal_board-{version}-py3-none-any.whl" for version in ("0.1.0", "0.2.0")]
    given = (".github/cardinal.yml", "before-upgrade.db", "images.txt", "my-board.cardinal", "r12.json")
    for file in (*given, *wheels):
        Path(file).touch()
    for path, command in leaves():
        page = cardinal(*path, "--help").stdout
        assert cardinal("help", *path).stdout.strip() == page.strip()
        examples = re.findall(rf"cardinal {' '.join(path)}\b(.*)", page.partition("Example")[2])
        assert examples, path
        for example in examples:
            words = shlex.split(re.sub(r"( #|\)|>|<|\|).*", "", example))
            command.make_context(path[-1], words, help_option_names=["-h", "--help"])


def test_help_of_no_command_is_refused_in_one_sentence(cardinal: Cardinal) -> None:
    assert cardinal("help").output.startswith("Usage: cardinal [OPTIONS] COMMAND")
    for words in (("demmo",), ("up", "now")):
        refused = cardinal("help", *words)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"no command `cardinal {' '.join(words)}`" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("board",),
        ("inbox",),
        ("runs",),
        ("show", "r1"),
        ("explain", "acme/shop#1"),
        ("watch", "--once"),
        ("log", "r1"),
        ("audit", "verify"),
        ("backup",),
        ("replay",),
    ],
)
def test_without_a_ledger_a_command_says_what_to_do_and_makes_none(
    cardinal: Cardinal, config: Config, words: tuple[str, ...]
) -> None:
    result = cardinal(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "change to the folder where Cardinal was started" in result.stderr
    assert not list(config.home.rglob("*.db"))


def test_a_wrong_setting_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["board"], env={"CARDINAL_PROT": "1"})
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "Error: CARDINAL_PROT is not a setting: did you mean CARDINAL_PORT?"
    ]


def test_a_database_that_is_none_is_one_sentence(cardinal: Cardinal, config: Config) -> None:
    file = config.home / "data" / "ledger.db"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no database at all" * 100)
    result = cardinal("board")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_the_board_lists_columns_and_cards(cardinal: Cardinal, story: Engine) -> None:
    output = cardinal("board").stdout
    assert "acme/1  Shop board" in output
    assert "The board is stopped by alice since " in output
    with event_store.writing(story) as db:
        event_store.append(db, on_board.StopOrdered(BOARD, "card", "PVTI_2", "bob"), at=AT)
    assert "The card acme/shop#2 is stopped by bob since " in cardinal("board").stdout
    assert " for the board: Runs at the same time on the board." in output
    assert "In Progress (2)" in output
    assert "Tasks (0)" in output
    assert [card["state"] for card in of_column("In Progress", cardinal("board", "--json"))] == [
        "failed",
        "draft",
    ]


def test_the_board_has_places_of_queued_cards_with_reasons(cardinal: Cardinal, story: Engine) -> None:
    assert "queue:" not in cardinal("board").stdout
    moved = on_board.CardStateChanged(CardId("PVTI_2"), CardState.DRAFT, CardState.QUEUED, "behind r1")
    with event_store.writing(story) as db:
        event_store.append(db, queued("r2", 2), moved, at=AT)
    assert re.search(r"\n1      acme/shop#2  r2   .*behind r1\n", cardinal("board").stdout)
    assert "queue:" not in cardinal("board", "--search", "no title").stdout
    (board,) = printed(cardinal("board", "--json"))
    (place,) = board["queues"]
    assert (place["column"], place["place"], place["run"], place["why"]) == (
        "In Progress",
        "1",
        "r2",
        "behind r1",
    )


def test_the_board_of_one_column(cardinal: Cardinal, story: Engine) -> None:
    (board,) = printed(cardinal("board", "--json", "--column", "Tasks"))
    assert [(it["name"], it["listed"]) for it in board["columns"]] == [("Tasks", [])]


def test_a_long_column_says_how_many_cards_it_leaves_out(cardinal: Cardinal, story: Engine) -> None:
    output = cardinal("board", "--limit", "1").stdout
    assert "In Progress (2)\n" in output
    assert "\n1 more: `cardinal board --limit 10000` lists them\n" in output
    assert " more: " not in cardinal("board").stdout


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        (("--state", "failed"), [1]),
        (("--search", "idle"), [2]),
        (("--search", "idle", "--state", "failed"), []),
        (("--person", "ALICE"), [1]),
        (("--repository", "acme/shop", "--column", "In Progress"), [1, 2]),
    ],
)
def test_the_board_is_filtered(
    cardinal: Cardinal, story: Engine, words: tuple[str, ...], listed: list[int]
) -> None:
    assert [
        card["number"] for card in of_column("In Progress", cardinal("board", "--json", *words))
    ] == listed


def test_a_filter_is_one_of_all_boards_also_where_a_board_knows_nothing_of_it(
    cardinal: Cardinal, story: Engine
) -> None:
    second = BoardId("PVT_2")
    other = replace(card(7, "Of the other board"), board_id=second, repository="acme/other")
    with event_store.writing(story) as db:
        event_store.append(db, on_board.BoardSeen(second, "acme", 2, "Other", "F_2", (), ()), other, at=AT)
    boards = printed(cardinal("board", "--json", "--repository", "acme/other"))
    listed = {
        it["board"]: [card["number"] for row in it["columns"] for card in row["listed"]] for it in boards
    }
    assert listed == {"acme/1": [], "acme/2": [7]}
    assert "did you mean acme/other?" in cardinal("board", "--repository", "acme/othr").output


def test_the_inbox_is_filtered(cardinal: Cardinal, story: Engine) -> None:
    (listed,) = printed(cardinal("inbox", "--json", "--search", "prices"))["jobs"]
    assert (listed["number"], listed["people"]) == (1, ["alice"])
    assert cardinal("inbox", "--search", "idle").stdout == "nothing is waiting for anyone\n"
    with event_store.writing(story) as db:
        event_store.append(db, card(7, "Merge me", CardState.BLOCKED), at=AT)
    held = cardinal("inbox", "--search", "merge")
    assert held.stdout == "not waiting for anyone: 1 card; `cardinal inbox --all` lists them\n"


def test_a_long_inbox_says_how_many_cards_it_leaves_out(
    cardinal: Cardinal, story: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with event_store.writing(story) as db:
        event_store.append(db, card(7, "Held", CardState.NEEDS_INPUT), at=AT)
    assert "more card" not in cardinal("inbox").stdout
    monkeypatch.setattr(list_inbox, "MAX_LISTED", 1)
    assert cardinal("inbox").stdout.endswith("\n1 more card: use a filter, such as --repository\n")


def test_a_card_is_no_run_and_another_command_prints_it(cardinal: Cardinal, story: Engine) -> None:
    assert "`cardinal show acme/shop#1` prints" in cardinal("log", "acme/shop#1").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("board", "--column", "In Progres"),
            "no card here has the column “In Progres”: did you mean In Pro",
        ),
        (("board", "--label", "bug"), "no card here has the label “bug”: correct it, or leave it out"),
        (
            ("inbox", "--state", "draft"),
            "no card here can have the state “draft”: choose needs input, failed",
        ),
        (("inbox", "--search", "x " * 9), "a search may have up to 8 words: remove some"),
    ],
)
def test_a_filter_that_names_nothing_is_one_sentence(
    cardinal: Cardinal, story: Engine, words: tuple[str, ...], said: str
) -> None:
    refused = cardinal(*words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in refused.stderr


@pytest.mark.parametrize(
    "words",
    [("board",), ("inbox",), ("show", "acme/shop#1"), ("show", "r1"), ("watch", "--once", "--from", "0")],
)
def test_outside_text_cannot_move_the_cursor_or_turn_the_line(
    cardinal: Cardinal, story: Engine, words: tuple[str, ...]
) -> None:
    output = cardinal(*words).stdout
    assert output
    assert not {char for char in output if char != "\n" and not char.isprintable()}


def test_the_inbox_has_what_waits_for_a_person(cardinal: Cardinal, story: Engine) -> None:
    (card,) = printed(cardinal("inbox", "--json"))["jobs"]
    assert (card["number"], card["state"], card["why"]) == (1, "failed", "the agent crashed")
    head, row = (re.split(r" {2,}", line) for line in cardinal("inbox").stdout.splitlines())
    waits = dict(zip(head, row, strict=False))
    assert (waits["lane"], waits["job"], waits["for"]) == ("Failed", "acme/shop#1", "alice")


def test_the_inbox_has_the_lanes_of_the_page_and_a_persons_own_cards_first(
    cardinal: Cardinal, story: Engine
) -> None:
    with event_store.writing(story) as db:
        for number, state in ((7, CardState.IN_REVIEW), (8, CardState.WORKING), (9, CardState.IN_REVIEW)):
            event_store.append(db, card(number, f"Card {number}", state), at=AT)
        event_store.append(db, on_board.MoverFound(CardId("PVTI_9"), "In Progress", "Carol", "write"), at=AT)
    every = printed(cardinal("inbox", "--json", "--all", "--mine", "carol"))["jobs"]
    assert [(it["lane"], it["number"]) for it in every] == [
        ("Failed", 1),
        ("To review", 9),
        ("To review", 7),
        ("Working", 8),
    ]


def test_the_runs_name_card_person_age_duration_and_reason(cardinal: Cardinal, story: Engine) -> None:
    head, row = cardinal("runs").stdout.splitlines()
    assert head.split() == ["run", "status", "job", "title", "by", "queued", "took", "cost", "why"]
    assert row.startswith("r1   failed  acme/shop#1  Prices")
    assert re.search(r"alice  \d+ \w+ ago \(2026-11-20 UTC\)  5 s", row)
    assert row.endswith("the agent stopped with an error: it crashed")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_the_terminal_and_no_title_is_markup(width: int) -> None:
    screen = Console(width=width, force_terminal=True, color_system="standard", file=StringIO())
    title = "[red]Big[/] [link=https://evil.example]baskets[/link] get a discount of ten percent \x1b[2J"
    long = ("acme/storefront#134", "alice", "3 min ago (10:00 UTC)", "12 min")
    rows = [
        ("r1", "failed", *long, title, "it crashed " * 10),
        ("r2", "working", "", "", "", "", "Small", ""),
    ]
    heads = ("run", "state", "card", "by", "queued", "took", "title", "why")
    drawn = "\n".join(table(heads, rows, empty="", console=screen))
    assert "\x1b[31mfailed" in drawn
    shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    assert max(map(len, shown.splitlines())) <= width
    assert "[red]Big[/]" in shown
    assert "\x1b" not in shown
    assert shown.count("crashed") == 10
    assert all(one in shown for one in long)
    assert ("took 12 min" in shown) is (width < 80)


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Console(width=80, force_terminal=True, color_system="standard", file=StringIO())
    assert "\x1b[31m" not in "".join(table(("state",), [("failed",)], empty="", console=screen))


def test_in_a_pipe_nothing_is_wrapped_or_coloured(cardinal: Cardinal, story: Engine) -> None:
    with event_store.writing(story) as db:
        event_store.append(db, on_board.CardExplained(CARD, "why " * 60), at=AT + timedelta(minutes=1))
    (row,) = cardinal("inbox").stdout.splitlines()[1:]
    assert row.endswith(("why " * 60).strip())
    assert "\x1b" not in row


@pytest.mark.parametrize(
    ("past", "told"),
    [
        (timedelta(days=-3), "in 3 days (2026-11-23 UTC)"),
        (timedelta(minutes=-3), "in 3 min (12:03 UTC)"),
        (timedelta(0), "just now (12:00 UTC)"),
        (timedelta(seconds=45), "45 s ago (11:59 UTC)"),
        (timedelta(minutes=3), "3 min ago (11:57 UTC)"),
        (timedelta(hours=5), "5 h ago (07:00 UTC)"),
        (timedelta(days=3), "3 days ago (2026-11-17 UTC)"),
    ],
)
def test_times_are_relative_with_the_zone_behind(past: timedelta, told: str) -> None:
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    assert ago(now - past, now) == told


def test_the_runs_are_listed_and_shown(cardinal: Cardinal, story: Engine) -> None:
    (run,) = printed(cardinal("runs", "--json"))["runs"]
    assert (run["run"], run["ending"]) == ("r1", "failed")
    assert printed(cardinal("runs", "--json", "--card", "acme/shop#2"))["runs"] == []
    (of_card,) = printed(cardinal("runs", "--json", "--card", CARD))["runs"]
    assert (of_card["run"], of_card["number"]) == ("r1", 1)
    assert "`cardinal board` lists them" in cardinal("runs", "--card", "acme/shop#99").stderr
    shown = printed(cardinal("show", "r1", "--json"))
    assert shown["plans"][0]["summary"] == "Two steps"
    assert shown["evidence"][0]["command"] == "ruff check ."
    output = cardinal("show", "r1").stdout
    assert "reason: agent_error: it crashed" in output


@pytest.mark.parametrize("words", [("board", "--search"), ("inbox", "--label"), ("runs", "--person")])
def test_a_filter_that_is_too_long_says_the_limit(
    cardinal: Cardinal, story: Engine, words: tuple[str, str]
) -> None:
    refused = cardinal(*words, "x" * 201)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"{words[1][2:]}: may have up to 200 characters: shorten it" in refused.stderr


def test_a_run_is_shown_with_its_stages(cardinal: Cardinal, story: Engine) -> None:
    run = RunId("r1")
    events = (
        StageEntered(run, "build", 1, 1, "", "policy", False, "tester", "built in", "f" * 64, "m", "c"),
        SnapshotTaken(run, "build", 1, "Built\x1b[31m", (), 0, (), (), (), "c"),
        StageLeft(run, "build", 1, "check", 0.5, 1, 1, 1, 60.0, 2, 30),
    )
    with event_store.writing(story) as db:
        event_store.append(db, *events, at=AT + timedelta(minutes=1))
    assert printed(cardinal("show", "r1", "--json"))["stages"][0]["target"] == "check"
    output = cardinal("show", "r1").stdout
    assert re.search(r"  1 +build +check +tester +built in .* 2 +30 +\d+ \w+ ago \(2026-11-20 UTC\)", output)
    assert "\x1b" not in output


def test_a_briefing_is_shown_as_the_agent_got_it(cardinal: Cardinal, story: Engine) -> None:
    assert cardinal("show", "r1", "--briefing").stdout == "# Briefing\nYou are told this.\n"


def test_a_card_is_shown_with_its_timeline(cardinal: Cardinal, story: Engine) -> None:
    shown = printed(cardinal("show", "acme/shop#1", "--json", "--zoom", "conversation"))
    assert [row["kind"] for row in shown["events"]][-1] == "RunEnded"
    assert "run r1 failed" in cardinal("show", "acme/shop#1").stdout


def test_a_card_is_shown_with_the_steps_of_its_agent_in_a_row_as_one(
    cardinal: Cardinal, story: Engine
) -> None:
    steps = [of_run.ToolUsed(RunId("r1"), "Bash", f"make {number}", True) for number in range(14)]
    with event_store.writing(story) as db:
        event_store.append(db, *steps, at=AT + timedelta(minutes=1))
    output = cardinal("show", "acme/shop#1").stdout
    assert (output.count("ran 14 commands"), "make 3" in output) == (1, False)
    assert "make 3" in cardinal("show", "acme/shop#1", "--zoom", "debug").stdout
    (fold,) = [
        row
        for row in printed(cardinal("show", "acme/shop#1", "--json"))["events"]
        if row["kind"] == "ToolUsed"
    ]
    assert fold["text"] == "ran 14 commands"


def test_while_nothing_runs_explain_and_board_say_so_and_promise_nothing(
    cardinal: Cardinal, config: Config, story: Engine
) -> None:
    away = f"`cardinal up` is not running in {config.home}: nothing happens until you start it"
    assert cardinal("explain", "acme/shop#1").stdout.startswith(f"{away}. Status when it last ran: ")
    assert cardinal("board").stdout.startswith(f"{away}\nacme/1  Shop board\n")
    (config.home / TRIAL).touch()
    assert cardinal("board").stdout.startswith(away.replace("cardinal up", "cardinal try"))
    with lock_file.hold_lock(config.home):
        lock_file.record_presence(config.home, lock_file.Presence(os.getpid(), "http://127.0.0.1:1", {}))
        assert "is not running" not in cardinal("explain", "acme/shop#1").stdout + cardinal("board").stdout


def test_a_host_elsewhere_counts_while_it_shows_signs_of_life(cardinal: Cardinal, story: Engine) -> None:
    assert "is not running" in cardinal("board").stdout
    beat(story, "elsewhere")
    assert "is not running" not in cardinal("board").stdout
    fall_silent(story, "elsewhere")
    assert "is not running" in cardinal("board").stdout


def test_explain_is_one_line(cardinal: Cardinal, story: Engine) -> None:
    result = cardinal("explain", "acme/shop#1")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 1
    assert printed(cardinal("explain", "acme/shop#1", "--json"))["state"] == "failed"


@pytest.mark.parametrize(
    "words",
    [("explain", "acme/shop#99"), ("show", "r99"), ("show", "nonsense"), ("replay", "no-such-delivery")],
)
def test_an_unknown_name_is_one_sentence(cardinal: Cardinal, story: Engine, words: tuple[str, ...]) -> None:
    result = cardinal(*words)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_watch_prints_what_is_new_for_one_card(cardinal: Cardinal, story: Engine) -> None:
    lines = cardinal("watch", "ACME/Shop#1", "--from", "0", "--once", "--json").stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds[0] == "CardSeen"
    assert all(json.loads(line)["title"].startswith("Prices ") for line in lines)
    assert "RunEnded" in kinds
    assert "BriefingMade" not in kinds
    assert cardinal("watch", "ACME/Shop#1", "--once", "--json").stdout.splitlines() == lines
    chosen = cardinal("watch", "--from", "0", "--once", "--json", "--kind", "CardSeen").stdout.splitlines()
    assert {json.loads(row)["kind"] for row in chosen} == {"CardSeen"}
    wrong = cardinal("watch", "--once", "--kind", "CardSean")
    assert wrong.exit_code == 2


ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
LISTS = (
    "board",
    "inbox",
    "runs",
    "show r1",
    "show acme/shop#1",
    "artifacts r1",
    "hosts",
    "replay",
    "tokens list",
)


def test_times_are_relative_in_lists_and_exact_in_json(cardinal: Cardinal, story: Engine) -> None:
    for words in LISTS:
        listed = cardinal(*words.split())
        assert (listed.exit_code, ISO.findall(listed.stdout)) == (0, []), listed.output
    assert " ago (" in cardinal("show", "acme/shop#1").stdout
    (run,) = printed(cardinal("runs", "--json"))["runs"]
    assert datetime.fromisoformat(run["queued_at"]) == AT + timedelta(seconds=4)
