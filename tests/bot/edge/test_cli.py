"""The commands on a real ledger: they say what is there, harm nothing, and refuse in one sentence."""

import json
import os
import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click import Context
from click.testing import CliRunner, Result
from redis import Redis
from rich.console import Console
from sqlalchemy import Engine

from bot import presence
from bot.cli import Listing, main
from bot.cli._show import ago, table
from bot.config import Config
from ledger import book, inbox
from ledger.events import board as on_board
from ledger.events import run as of_run
from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft
from ledger.ids import BoardId, CardId, DeliveryId, RunId
from ledger.inbox import Delivery
from ledger.states import CardState, Ending, RunState
from rules.policy import default_policy

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
BOARD, CARD = BoardId("PVT_1"), CardId("PVTI_1")
HOSTILE = "Prices \x1b[2J\x1b]0;owned\x07 ‮desrever <b>"
Cardinal = Callable[..., Result]


@pytest.fixture
def cardinal(config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cardinal:
    """Run one command in a home of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, words, env={"CARDINAL_HOME": str(config.home)})


def card(number: int, title: str, state: CardState = CardState.DRAFT) -> on_board.CardSeen:
    """A card of acme/shop in In Progress."""
    place = ("acme/shop", number, title, "", "alice", "In Progress", state)
    return on_board.CardSeen(CardId(f"PVTI_{number}"), BOARD, f"I_{number}", *place)


def queued(run: str, number: int) -> of_run.RunQueued:
    """A first run of the card, as the default board has it."""
    settings = default_policy("acme/board").column("In Progress")
    assert settings is not None
    return of_run.RunQueued(
        run_id=RunId(run),
        card_id=CardId(f"PVTI_{number}"),
        attempt=1,
        kind="first",
        column="In Progress",
        repository="acme/shop",
        branch=f"cardinal/{number}",
        agent="scripted",
        by="alice",
        session_id="",
        settings=settings.to_json(),
        plan_required=True,
    )


@pytest.fixture
def story(engine: Engine) -> Engine:
    """A board with a failed card and one that waits in the queue, told by events alone."""
    columns = tuple(on_board.Column(f"o{name}", name, "") for name in ("Tasks", "In Progress"))
    events = (
        on_board.BoardSeen(BOARD, "acme", 1, "Shop board", "F_1", columns, ()),
        card(1, HOSTILE),
        card(2, "Idle"),
        on_board.CardStateChanged(CARD, CardState.DRAFT, CardState.QUEUED, "moved to In Progress"),
        queued("r1", 1),
        of_run.RunClaimed(RunId("r1"), 1, "w1"),
        of_run.RunStepped(RunId("r1"), RunState.CLAIMED, RunState.PREPARING),
        of_run.BriefingMade(RunId("r1"), "# Briefing\nYou are told this.", "d" * 64, ()),
        of_run.PlanProposed(RunId("r1"), 1, "Two steps", ("Read", "Write\x1b[31m")),
        of_run.CommandChecked(RunId("r1"), 1, "fast", "ruff check .", 1, 0.5, "e" * 64, "bad"),
        of_run.RunEnded(RunId("r1"), Ending.FAILED, "agent_error", "it crashed", "preparing"),
        on_board.CardStateChanged(CARD, CardState.QUEUED, CardState.FAILED, "the agent crashed"),
        on_board.StopOrdered(BOARD, "board", "acme/1", "alice"),
    )
    for number, event in enumerate(events):
        with book.writing(engine) as db:
            book.append(db, event, at=AT + timedelta(seconds=number))
    return engine


def printed(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_every_command_has_help(cardinal: Cardinal) -> None:
    names = Listing().list_commands(Context(main))
    assert "up" in names
    for name in names:
        result = cardinal(name, "--help")
        assert result.exit_code == 0, name
        assert len(result.output.splitlines()) > 3


@pytest.mark.parametrize(
    "words",
    [
        ("board",),
        ("inbox",),
        ("runs",),
        ("show", "r1"),
        ("explain", "acme/shop#1"),
        ("watch", "--once"),
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
    assert "cardinal up" in result.stderr
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
    assert "stopped: board acme/1 by alice" in output
    assert "In Progress (2)" in output
    assert "Tasks (0)" in output
    (board,) = printed(cardinal("board", "--json"))
    assert [card["state"] for card in board["columns"]["In Progress"]] == ["failed", "draft"]


def test_the_board_of_one_column(cardinal: Cardinal, story: Engine) -> None:
    (board,) = printed(cardinal("board", "--json", "--column", "Tasks"))
    assert board["columns"] == {"Tasks": []}


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
    (card,) = printed(cardinal("inbox", "--json"))
    assert (card["number"], card["state"], card["because"]) == (1, "failed", "the agent crashed")
    assert "acme/shop#1" in cardinal("inbox").stdout


def test_the_runs_name_card_person_age_duration_and_reason(cardinal: Cardinal, story: Engine) -> None:
    head, row = cardinal("runs").stdout.splitlines()
    assert head.split() == ["run", "state", "card", "title", "by", "queued", "took", "cost", "why"]
    assert row.startswith("r1   failed  acme/shop#1  Prices")
    assert re.search(r"alice  \d+ \w+ ago \(2026-11-20 UTC\)  5 s", row)
    assert row.endswith("the agent stopped with an error: it crashed")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_the_terminal_and_no_title_is_markup(width: int) -> None:
    screen = Console(width=width, force_terminal=True, color_system="standard", file=StringIO())
    title = "[red]Big[/] [link=https://evil.example]baskets[/link] get a discount of ten percent \x1b[2J"
    rows = [("r1", "failed", title, "it crashed " * 10), ("r2", "working", "Small", "")]
    drawn = "\n".join(table(("run", "state", "title", "why"), rows, empty="", console=screen))
    assert "\x1b[31mfailed" in drawn
    shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    assert max(map(len, shown.splitlines())) <= width
    assert "[red]Big[/]" in shown
    assert "\x1b" not in shown
    assert shown.count("crashed") == 10


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Console(width=80, force_terminal=True, color_system="standard", file=StringIO())
    assert "\x1b[31m" not in "".join(table(("state",), [("failed",)], empty="", console=screen))


def test_in_a_pipe_nothing_is_wrapped_or_coloured(cardinal: Cardinal, story: Engine) -> None:
    with book.writing(story) as db:
        book.append(db, on_board.CardExplained(CARD, "why " * 60), at=AT + timedelta(minutes=1))
    (row,) = cardinal("inbox").stdout.splitlines()[1:]
    assert row.endswith(("why " * 60).strip())
    assert "\x1b" not in row


@pytest.mark.parametrize(
    ("past", "told"),
    [
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
    (run,) = printed(cardinal("runs", "--json"))
    assert (run["run_id"], run["ending"]) == ("r1", "failed")
    assert printed(cardinal("runs", "--json", "--card", "acme/shop#2")) == []
    shown = printed(cardinal("show", "r1", "--json"))
    assert shown["plans"][0]["summary"] == "Two steps"
    assert shown["checks"][0]["command"] == "ruff check ."
    output = cardinal("show", "r1").stdout
    assert "because: agent_error it crashed" in output


def test_a_run_is_shown_with_its_stages(cardinal: Cardinal, story: Engine) -> None:
    run = RunId("r1")
    events = (
        StageEntered(run, "build", 1, 1, "", "policy", False, "tester", "built in", "f" * 64, "m", "c"),
        SnapshotTaken(run, "build", 1, "Built\x1b[31m", (), 0, (), (), (), "c"),
        StageLeft(run, "build", 1, "check", 0.5, 1, 1, 1, 60.0, 2, 30),
    )
    with book.writing(story) as db:
        book.append(db, *events, at=AT + timedelta(minutes=1))
    assert printed(cardinal("show", "r1", "--json"))["stages"][0]["target"] == "check"
    output = cardinal("show", "r1").stdout
    assert "stage 1, build → check at 2026-11-20 10:01:00 UTC" in output
    assert "persona tester (built in, ffffffffffff), $0.00 · 0 tokens · 0 s · 2 files, 30 lines" in output
    assert "\x1b" not in output


def test_a_briefing_is_shown_as_the_agent_got_it(cardinal: Cardinal, story: Engine) -> None:
    assert cardinal("show", "r1", "--briefing").stdout == "# Briefing\nYou are told this.\n"


def test_a_card_is_shown_with_its_timeline(cardinal: Cardinal, story: Engine) -> None:
    shown = printed(cardinal("show", "acme/shop#1", "--json", "--zoom", "conversation"))
    assert [row["kind"] for row in shown["timeline"]][-1] == "RunEnded"
    assert "run r1 failed" in cardinal("show", "acme/shop#1").stdout


def test_while_nothing_runs_explain_and_board_say_so_and_promise_nothing(
    cardinal: Cardinal, config: Config, story: Engine
) -> None:
    away = f"`cardinal up` does not run in {config.home}: nothing moves until you start it"
    assert cardinal("explain", "acme/shop#1").stdout.startswith(f"{away}. When it last ran: ")
    assert cardinal("board").stdout.startswith(f"{away}\nacme/1  Shop board\n")
    with presence.hold(config.home):
        presence.record(config.home, presence.Presence(os.getpid(), "http://127.0.0.1:1", {}))
        assert away not in cardinal("explain", "acme/shop#1").stdout + cardinal("board").stdout


def test_a_worker_elsewhere_counts_while_it_shows_signs_of_life(
    cardinal: Cardinal, story: Engine, redis: Redis
) -> None:
    assert "does not run" in cardinal("board").stdout
    redis.sadd("rq:workers", "rq:worker:elsewhere")  # as RQ registers one; what died leaves this behind
    assert "does not run" in cardinal("board").stdout
    redis.hset("rq:worker:elsewhere", "birth", "now")
    assert "does not run" not in cardinal("board").stdout


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
    lines = cardinal("watch", "acme/shop#1", "--from", "0", "--once", "--json").stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds[0] == "CardSeen"
    assert "RunEnded" in kinds
    assert "BriefingMade" not in kinds
    assert cardinal("watch", "--once").stdout == ""


def test_a_policy_file_is_judged_as_strictly_as_cardinal_does(cardinal: Cardinal, tmp_path: Path) -> None:
    good, bad, binary = tmp_path / "good.yml", tmp_path / "bad.yml", tmp_path / "binary.yml"
    good.write_text("version: 1\n")
    bad.write_text("version: 1\nboard:\n  colums: {}\n")
    binary.write_bytes(b"\xff\xfe\x00")
    assert cardinal("policy", "validate", str(good)).exit_code == 0
    assert "ends before an agent is started" in cardinal("policy", "validate", str(good)).stdout
    good.write_text("version: 1\nrepository: {validation: none}\n")
    assert json.loads(cardinal("policy", "validate", str(good), "--json").stdout)["hints"] == [
        "validation is none: nothing checks what agents do in this repository"
    ]
    result = cardinal("policy", "validate", str(bad), "--json")
    assert result.exit_code == 1
    assert "columns" in json.loads(result.stdout)["problems"][0]
    assert cardinal("policy", "validate", str(binary)).exit_code == 1
    assert cardinal("policy", "validate", str(tmp_path / "none.yml")).exit_code == 2


def test_a_repositorys_own_profile_lies_beside_its_policy_file(cardinal: Cardinal, tmp_path: Path) -> None:
    file = tmp_path / ".github/cardinal.yml"
    (tmp_path / ".github/cardinal/profiles").mkdir(parents=True)
    file.write_text("version: 1\nrepository: {profile: our_shop}\n")
    refused = cardinal("policy", "validate", str(file))
    assert refused.exit_code == 1
    assert "unknown profile `our_shop`: known are docs, go_service" in refused.stdout
    (tmp_path / ".github/cardinal/profiles/our_shop.md").write_text("Prices are in cents.")
    assert cardinal("policy", "validate", str(file)).exit_code == 0


WRONG_BESIDE = {
    "profiles/our_shop.md": (
        "---\nskils: [cents]\n---\nCents.\n",
        "line 2: skils: unknown key `skils`: did you",
    ),
    "profiles/open.md": (
        "---\nskills: [cents]\n",
        "the front matter has no end: put `---` on a line of its own",
    ),
    "profiles/vast.md": ("x" * 16_001, "it is no plain file of at most 16000 bytes"),
    "personas/sceptic.md": ("---\nname: sceptic\n---\nDoubt.\n", "line 2: description: is missing"),
    "personas/coder.md": (b"\xff\xfe", "the file is not UTF-8"),
    "personas/vast.md": ("x" * 16_385, "it is no plain file of at most 16384 bytes"),
}


def test_what_lies_beside_the_policy_file_is_judged_with_it(cardinal: Cardinal, tmp_path: Path) -> None:
    file, root = tmp_path / ".github/cardinal.yml", tmp_path / ".github/cardinal"
    for folder in ("profiles", "personas", "skills/cents"):
        (root / folder).mkdir(parents=True)
    file.write_text("version: 1\nrepository: {validation: none, profile: our_shop}\n")
    for name, (text, _) in WRONG_BESIDE.items():
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (root / "profiles/link.md").symlink_to("vast.md")
    (root / "personas/README.md").write_text("No persona is called so.\n")
    (root / "skills/cents/SKILL.md").write_text("No front matter.\n")
    refused = cardinal("policy", "validate", str(file), "--json")
    assert refused.exit_code == 1
    problems = json.loads(refused.stdout)["problems"]
    assert len(problems) == len(WRONG_BESIDE)
    for name, (_, said) in WRONG_BESIDE.items():
        assert [one for one in problems if one.startswith(f"{root / name}: ") and said in one], (
            name,
            problems,
        )
    file.write_text("version: 2\n")
    both = cardinal("policy", "validate", str(file)).stdout.splitlines()
    assert len(both) == 1 + len(WRONG_BESIDE)
    for name in WRONG_BESIDE:
        (root / name).unlink()
    (root / "profiles/our_shop.md").write_text("---\nskills: [cents]\n---\nCents.\n")
    (root / "personas/sceptic.md").write_text("---\nname: sceptic\ndescription: It doubts.\n---\nDoubt.\n")
    file.write_text("version: 1\nrepository: {validation: none, profile: our_shop}\n")
    taken = cardinal("policy", "validate", str(file))
    assert taken.exit_code == 0, taken.stdout
    hint = f"{root}/skills/cents: every run skips this skill: its SKILL.md does not begin with front matter"
    assert taken.stdout.splitlines()[-1].startswith(hint)


def test_the_built_in_profiles_are_listed_with_what_they_suggest(cardinal: Cardinal) -> None:
    told = {profile["name"]: profile for profile in printed(cardinal("policy", "profiles", "--json"))}
    assert told["python_service"]["full"] == ["ruff check .", "pytest -q"]
    shown = cardinal("policy", "profiles").stdout
    assert "python_service: A service or library in Python, with pytest and ruff." in shown
    assert "  full: pytest -q" in shown


def test_the_chain_is_verified_and_a_change_is_found(
    cardinal: Cardinal, config: Config, story: Engine
) -> None:
    assert printed(cardinal("audit", "verify", "--json"))["events"] == 13
    story.dispose()
    with sqlite3.connect(config.home / "data" / "ledger.db") as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE events SET body = replace(body, 'alice', 'mallory') WHERE seq = 3")
    db.close()
    result = cardinal("audit", "verify", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"whole": False, "broken_at": 3}


def test_a_backup_comes_back(cardinal: Cardinal, config: Config, story: Engine, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    assert printed(cardinal("backup", str(target), "--json"))["events"] == 13
    assert cardinal("backup", str(target)).exit_code == 2
    assert cardinal("backup").exit_code == 0
    with book.writing(story) as db:
        book.append(db, on_board.StopLifted(BOARD, "board", "acme/1", "alice"), at=AT)
    story.dispose()
    assert cardinal("restore", str(target)).exit_code == 2
    assert printed(cardinal("restore", str(target), "--overwrite-newer", "--json"))["events"] == 13


def test_quarantined_deliveries_are_listed_and_tried_again(cardinal: Cardinal, engine: Engine) -> None:
    delivery_id = DeliveryId("d-1")
    inbox.store(engine, Delivery(delivery_id, "issues", "edited", b"{}", AT))
    claimed = inbox.claim(engine, delivery_id, now=AT, lease_s=1)
    assert claimed is not None
    inbox.fail(engine, claimed, "KeyError: number", now=AT, retry_in_s=1, max_attempts=1)
    assert "KeyError: number" in cardinal("replay").stdout
    assert inbox.due(engine, now=AT, limit=1) == ()
    assert printed(cardinal("replay", "d-1", "--json")) == {"replayed": ["d-1"]}
    assert inbox.due(engine, now=AT, limit=1) == (delivery_id,)
    assert cardinal("replay", "d-1").exit_code == 2
    assert printed(cardinal("replay", "--all", "--json")) == {"replayed": []}


def test_doctor_says_what_is_missing_and_what_to_do(cardinal: Cardinal, story: Engine) -> None:
    result = cardinal("doctor", "--json")
    assert result.exit_code == 1
    findings = {found["name"]: found for found in json.loads(result.stdout)}
    assert findings["settings"]["level"] == "fail"
    assert findings["ledger"]["found"].startswith("the ledger is in sqlite, with 13 events")
    assert all(found["next_step"] for found in findings.values() if found["level"] != "ok")
    assert "it is signed with this" not in result.output


@pytest.mark.parametrize("name", ["up", "serve", "work"])
def test_where_nothing_is_set_up_one_line_says_what_to_do(
    cardinal: Cardinal, config: Config, name: str
) -> None:
    result = cardinal(name)
    assert (result.exit_code, result.stdout) == (2, "")
    how = "run `cardinal init` here, or name the home that is with CARDINAL_HOME"
    assert result.stderr == f"Error: Cardinal is not set up in {config.home}: {how}\n"
    assert not config.home.exists()


@pytest.mark.parametrize("words", [(), ("audit",), ("policy",)])
def test_a_group_without_a_command_shows_its_help(cardinal: Cardinal, words: tuple[str, ...]) -> None:
    result = cardinal(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: ")
    assert "..." not in result.stdout.partition("Commands:")[2]  # each command's line is whole
