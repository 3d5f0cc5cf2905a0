"""The command line for operators: policies, back-ups, the chain, deliveries, doctor."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine

from bot.admin.doctor import fail, ok
from bot.cli.doctor import _lines
from bot.outbox import handlers
from bot.system.config import Config
from ledger.db import tables
from ledger.db.rows import drop
from ledger.events import board as on_board
from ledger.events.publication import EntryGivenUp
from ledger.ids import CardId, DeliveryId, EntryKey
from ledger.log import event_store
from ledger.queue import inbox, outbox
from ledger.queue.inbox import Delivery
from rules.intents.outbound import Say
from tests.bot.cli.conftest import AT, BOARD, Cardinal, printed

CHECKED_ELSEWHERE = (
    "repository: {validation: none, paths: {web: {validation: {full: [a]}}}}",
    "board: {repositories: {without_policy: {validation: {full: [a]}}}}",
    "board: {columns: {Tasks: {archetype: inbox}}}",
)


def test_a_policy_file_is_judged_as_strictly_as_cardinal_does(cardinal: Cardinal, tmp_path: Path) -> None:
    good, bad, binary = tmp_path / "good.yml", tmp_path / "bad.yml", tmp_path / "binary.yml"
    good.write_text("version: 1\n")
    bad.write_text("version: 1\nboard:\n  colums: {}\n")
    binary.write_bytes(b"\xff\xfe\x00")
    assert cardinal("policy", "validate", str(good)).exit_code == 0
    assert "end before an agent starts" in cardinal("policy", "validate", str(good)).stdout
    good.write_text("version: 1\nrepository: {validation: none}\n")
    assert json.loads(cardinal("policy", "validate", str(good), "--json").stdout)["hints"] == [
        "validation is none: nothing checks agents' work in this repository"
    ]
    for checked in CHECKED_ELSEWHERE:
        good.write_text(f"version: 1\n{checked}\n")
        hints = json.loads(cardinal("policy", "validate", str(good), "--json").stdout)["hints"]
        assert not any("validation" in hint for hint in hints)
    flows = tmp_path / "cardinal" / "workflows"
    flows.mkdir(parents=True)
    (flows / "docs.yml").write_text("stages: 5\n")
    wrong = json.loads(cardinal("policy", "validate", str(good), "--json").stdout)["problems"][0]
    assert wrong.startswith(".github/cardinal/workflows/docs.yml: line 1: stages: ")
    result = cardinal("policy", "validate", str(bad), "--json")
    assert result.exit_code == 1
    assert "columns" in json.loads(result.stdout)["problems"][0]
    assert cardinal("policy", "validate", str(binary)).exit_code == 1
    assert cardinal("policy", "validate", str(tmp_path / "none.yml")).exit_code == 2


def test_without_a_file_the_policy_of_a_board_by_try_is_judged(cardinal: Cardinal, tmp_path: Path) -> None:
    assert cardinal("policy", "validate").exit_code == 2
    (tmp_path / ".cardinal").mkdir()
    (tmp_path / ".cardinal/policy.yml").write_text("version: 2\n")
    assert json.loads(cardinal("policy", "validate", "--json").stdout)["file"] == ".cardinal/policy.yml"
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/cardinal.yml").write_text("version: 1\n")
    assert json.loads(cardinal("policy", "validate", "--json").stdout)["file"] == ".github/cardinal.yml"


def test_no_line_of_a_log_stands_among_a_commands_own() -> None:
    warns = "import logging; logging.getLogger('bot').warning('wake-up lost')"
    for name in ("status", "board"):
        args = (sys.executable, "-c", f"from bot.cli import load_command; load_command({name!r}); {warns}")
        done = subprocess.run(args, capture_output=True, check=True, timeout=60)
        assert (done.stdout, done.stderr) == (b"", b"")


def test_a_repositorys_own_profile_lies_beside_its_policy_file(cardinal: Cardinal, tmp_path: Path) -> None:
    file = tmp_path / ".github/cardinal.yml"
    (tmp_path / ".github/cardinal/profiles").mkdir(parents=True)
    file.write_text("version: 1\nrepository: {profile: our_shop}\n")
    refused = cardinal("policy", "validate", str(file))
    assert refused.exit_code == 1
    assert "unknown profile `our_shop`: known are docs, go_service" in refused.stdout
    (tmp_path / ".github/cardinal/profiles/our_shop.md").write_text("Prices are in cents.")
    assert cardinal("policy", "validate", str(file)).exit_code == 0


WRONG_BESIDE: dict[str, tuple[str | bytes, str]] = {
    "profiles/our_shop.md": (
        "---\nskils: [cents]\n---\nCents.\n",
        "line 2: skils: unknown key `skils`: did you",
    ),
    "profiles/open.md": (
        "---\nskills: [cents]\n",
        "the front matter does not end: put `---` on its own line",
    ),
    "profiles/vast.md": ("x" * 16_001, "it must be a plain file of at most 16000 bytes"),
    "personas/sceptic.md": ("---\nname: sceptic\n---\nDoubt.\n", "line 2: description: is missing"),
    "personas/coder.md": (b"\xff\xfe", "the file is not UTF-8"),
    "personas/vast.md": ("x" * 16_385, "it must be a plain file of at most 16384 bytes"),
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
    hint = f"{root}/skills/cents: runs will skip this skill: its SKILL.md must begin with front matter"
    assert taken.stdout.splitlines()[-1].startswith(hint)


def test_where_the_personas_of_a_policy_come_from_is_hinted(cardinal: Cardinal, tmp_path: Path) -> None:
    file, root = tmp_path / ".github/cardinal.yml", tmp_path / ".github/cardinal/personas"
    root.mkdir(parents=True)
    (root / "sceptic.md").write_text("---\nname: sceptic\ndescription: It doubts.\n---\nDoubt.\n")
    first = "{name: a, persona: tester, next: [b]}, {name: b, persona: sceptic, next: [c]}"
    stages = f"[{first}, {{name: c, persona: x}}]"
    file.write_text(
        f"version: 1\nboard:\n  workflows: {{full: {{stages: {stages}}}}}\n"
        "  columns: {Go: {archetype: execution, workflow: full}}\nrepository: {validation: none}\n"
    )
    shown = cardinal("policy", "validate", str(file))
    assert shown.exit_code == 0, shown.stdout
    hints = [line for line in shown.stdout.splitlines() if line.startswith("persona ")]
    assert hints == [
        f"persona sceptic: from {root}, unless a card's own repository has another",
        f"persona x: not in {root} or built in: add it there, or to each card's repository",
    ]
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    elsewhere = tmp_path / ".cardinal/policy.yml"  # of `cardinal try`
    elsewhere.parent.mkdir()
    file.rename(elsewhere)
    again = cardinal("policy", "validate", str(elsewhere)).stdout.splitlines()
    assert [line for line in again if line.startswith("persona ")] == hints


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
    with event_store.writing(story) as db:
        event_store.append(db, on_board.StopLifted(BOARD, "board", "acme/1", "alice"), at=AT)
    story.dispose()
    assert cardinal("restore", str(target)).exit_code == 2
    assert printed(cardinal("restore", str(target), "--overwrite-newer", "--json"))["events"] == 13


def test_quarantined_deliveries_are_listed_and_tried_again(cardinal: Cardinal, engine: Engine) -> None:
    delivery_id = DeliveryId("d-1")
    inbox.store_deliveries(engine, Delivery(delivery_id, "issues", "edited", b"{}", AT))
    claimed = inbox.claim(engine, delivery_id, lease_s=1)
    assert claimed is not None
    inbox.record_failure(engine, claimed, "KeyError: number", retry_in_s=1, max_attempts=1)
    assert "KeyError: number" in cardinal("replay").stdout
    assert inbox.due_deliveries(engine, limit=1) == ()
    assert printed(cardinal("replay", "d-1", "--json")) == {"replayed": ["d-1"]}
    assert inbox.due_deliveries(engine, limit=1) == (delivery_id,)
    assert cardinal("replay", "d-1").exit_code == 2
    assert printed(cardinal("replay", "--all", "--json")) == {"replayed": []}


def test_acts_that_were_given_up_are_listed_and_tried_again(cardinal: Cardinal, story: Engine) -> None:
    act = Say(CardId("PVTI_1"), "command:5", "It is at work.")
    with event_store.writing(story) as db:
        assert handlers.put_intent(db, act, AT)
        entry = outbox.get(db, handlers.key(act))
        drop(db, tables.outbox, key=handlers.key(act))
        assert entry is not None
        event_store.append(
            db,
            EntryGivenUp(act.card_id, entry.key, entry.act, "the conversation is locked", entry.payload),
            EntryGivenUp(act.card_id, EntryKey("say:old"), "say", "an older version's"),
            EntryGivenUp(act.card_id, EntryKey("link:r1"), "link_card", "a circle", "{}", declined=True),
            EntryGivenUp(act.card_id, EntryKey("plan-settled:r1:1"), "settle_plan", "locked", entry.payload),
            at=AT,
        )
    told = cardinal("doctor", "--json").stdout
    assert "say was given up: the conversation is locked" in told
    assert f"`cardinal replay --acts {entry.key}`" in told
    assert told.count("do it by hand: an older version") == 2
    listed = cardinal("replay", "--acts").stdout
    assert "the conversation is locked" in listed
    assert "say:old" not in listed
    assert "a circle" not in told + listed  # it can never succeed
    assert "plan-settled:r1:1" not in listed
    assert printed(cardinal("replay", "--acts", entry.key, "--json")) == {"replayed": [entry.key]}
    with event_store.reading(story) as db:
        again = outbox.get(db, entry.key)
    assert again is not None
    assert (again.payload, again.attempts) == (entry.payload, 1)  # so it looks for its own traces first
    assert cardinal("replay", "--acts", entry.key).exit_code == 2  # it is in line already
    assert printed(cardinal("replay", "--acts", "--all", "--json")) == {"replayed": []}
    assert cardinal("replay", "--acts", "say:old").exit_code == 2
    assert cardinal("replay", "--acts", "plan-settled:r1:1").exit_code == 2


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
    how = "run `cardinal init` here, or `cardinal try` in a clone, or name the home in CARDINAL_HOME"
    assert result.stderr == f"Error: Cardinal is not set up in {config.home}: {how}\n"
    assert not config.home.exists()


@pytest.mark.parametrize("words", [(), ("audit",), ("policy",)])
def test_a_group_without_a_command_shows_its_help(cardinal: Cardinal, words: tuple[str, ...]) -> None:
    result = cardinal(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: ")
    assert "..." not in result.stdout.partition("Commands:")[2]  # each command's line is whole


def test_doctor_says_once_what_several_findings_in_a_row_want() -> None:
    findings = [fail("app", "no answer", "start it"), fail("hook", "no answer", "start it")]
    assert [*_lines([*findings, ok("disk", "room"), findings[0]], ())] == [
        "fail  app            No answer.",
        "fail  hook           No answer. → Start it.",
        "ok    disk           Room.",
        "fail  app            No answer. → Start it.",
    ]
