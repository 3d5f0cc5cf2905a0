"""The audit trail of a run: complete, readable, without secrets, and proof against any change."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine

from bot.cli import main
from bot.system.config import Config
from ledger.event import Event
from ledger.events import pull
from ledger.events import run as of_run
from ledger.events.agent import PermissionRefused
from ledger.events.conversation import CommandGiven
from ledger.events.placement import RepositoryResolved
from ledger.events.policy import PolicyLoaded
from ledger.ids import QuestionId, RunId
from ledger.log import event_store
from ledger.states import Ending, PullState, RunState
from tests.bot.cli.conftest import BOARD, CARD, HOSTILE, card, queued

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
R1 = RunId("r1")
KEY = "webhook-secret-that-nobody-may-read"
TOKEN = "ghp_" + "a1B2" * 9
Audit = Callable[..., Result]
S = RunState


def told() -> tuple[Event, ...]:
    head, base = "a" * 40, "b" * 40
    return (
        PolicyLoaded(BOARD, "0" * 64, "version: 1", "c" * 40),
        PolicyLoaded(BOARD, "1" * 64, "version: 1\n", "d" * 40),
        card(1, HOSTILE),
        card(2, "Another"),
        RepositoryResolved(CARD, "acme/shop", "label", "area:shop", ""),
        CommandGiven(CARD, "retry", "", "alice", "admin", "issue", 7, "7"),
        queued("r1", 1),
        queued("r2", 2),
        of_run.RunClaimed(R1, 1, "w1"),
        of_run.RunStepped(R1, S.CLAIMED, S.PREPARING),
        of_run.BriefingMade(R1, f"# Briefing\n{KEY}", "2" * 64, ("12 comments",), "3" * 64),
        of_run.SessionStarted(R1, "s1", "scripted", "1.2.3"),
        of_run.PlanProposed(R1, 1, f"Do it. {HOSTILE}", ("Read", "Write | it")),
        of_run.PlanApproved(R1, 1, "bob", "4" * 64),
        of_run.QuestionAsked(R1, QuestionId("r1-q1"), "agent", "Which port?", ("80", "81")),
        of_run.QuestionAnswered(R1, QuestionId("r1-q1"), "carol", "81"),
        of_run.ToolUsed(R1, "edit", "a.py", True),
        of_run.ToolUsed(R1, "edit", "b.py", True),
        PermissionRefused(R1, "run", "rm -rf /", "denied by policy"),
        of_run.CommandChecked(
            R1, 1, "full", "pytest -q", 0, 2.5, "5" * 64, f"ok {TOKEN}", head, base, "sha256:6"
        ),
        of_run.ValidationEnded(R1, 1, "full", True, head, base, "sha256:6", clean=True),
        of_run.BranchExported(R1, "cardinal/1", base, head, 2, 40, 1),
        of_run.BranchPushed(R1, "cardinal/1", head),
        of_run.UsageMetered(R1, 0.25, 100, 20, 1, 3.0),
        of_run.UsageMetered(R1, 0.5, 100, 20, 1, 3.0),
        of_run.FinalReported(R1, "It adds up.\n```\n# not a heading", ("a.py",), (), ("Is it fast?",)),
        of_run.RunEnded(R1, Ending.SUCCEEDED, "", "", "publishing"),
        card(1, "Renamed since"),
        RepositoryResolved(CARD, "acme/api", "line", "Repo: acme/api", ""),
        pull.PullOpened(CARD, "acme/shop", 5, "PR_1", "cardinal/1", head, True),
        pull.ReviewSubmitted(CARD, 9, "dave", True, "approved", "", (), head),
        PolicyLoaded(BOARD, "9" * 64, "version: 1\n\n", "e" * 40),
    )


@pytest.fixture
def trail(engine: Engine) -> Engine:
    for number, event in enumerate(told()):
        with event_store.writing(engine) as db:
            event_store.append(db, event, at=AT + timedelta(seconds=number))
    return engine


@pytest.fixture
def audit(config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Audit:
    monkeypatch.chdir(tmp_path)
    env = {"CARDINAL_HOME": str(config.home), "CARDINAL_WEBHOOK_SECRET": KEY}
    return lambda *words: CliRunner().invoke(main, ["audit", *words], env=env)


@pytest.fixture
def document(audit: Audit, trail: Engine, tmp_path: Path) -> dict[str, Any]:
    """Return what was exported to `trail.json`."""
    assert audit("export", "r1", "--to", "trail.json").exit_code == 0
    found: dict[str, Any] = json.loads((tmp_path / "trail.json").read_text())
    return found


def verified(audit: Audit, tmp_path: Path, document: dict[str, Any]) -> tuple[int, list[str]]:
    (tmp_path / "altered.json").write_text(json.dumps(document))
    result = audit("verify", "--file", "altered.json", "--json")
    return result.exit_code, json.loads(result.stdout)["differs"]


def test_the_trail_answers_what_an_auditor_asks(document: dict[str, Any]) -> None:
    said = document["summary"]
    assert (said["asked"]["by"], said["asked"]["kind"]) == ("alice", "first")
    assert (said["card"]["number"], said["repository"]["name"]) == (1, "acme/shop")
    assert said["card"]["title"] != "Renamed since"
    assert (said["repository"]["decided_by"], said["repository"]["went_by"]) == ("label", "area:shop")
    assert said["asked"]["mode"] == "fix"
    assert said["policy"]["digest"] == "1" * 64  # the one in force then, neither older nor newer
    assert (said["agent"]["name"], said["agent"]["version"]) == ("scripted", "1.2.3")
    assert (said["briefings"][0]["digest"], said["briefings"][0]["omitted"]) == ("2" * 64, ["12 comments"])
    assert (said["plans"][0]["state"], said["plans"][0]["by"]) == ("approved", "bob")
    assert (said["questions"][0]["answer"], said["questions"][0]["by"]) == ("81", "carol")
    assert said["commands"][0]["what"] == "/cardinal retry"
    assert (said["tools"], said["refused"][0]["command"]) == ({"edit": 2}, "rm -rf /")
    (check,) = said["checks"]
    evidence = ("command", "exit_code", "duration_s", "log_digest", "image", "base", "head")
    assert [check[name] for name in evidence] == [
        *("pytest -q", 0, 2.5, "5" * 64, "sha256:6", "b" * 40, "a" * 40)
    ]
    assert (said["validation"][0]["passed"], said["iterations"]) == (True, 1)
    assert (said["changes"]["files_changed"], said["pushed"][0]["head"]) == (2, "a" * 40)
    assert (said["pull"]["number"], said["reviews"][0]["by"]) == (5, "dave")
    assert (said["cost"]["usd"], said["cost"]["input_tokens"]) == (0.75, 200)
    assert (said["outcome"]["ending"], said["report"]["open_questions"]) == ("succeeded", ["Is it fast?"])


def test_what_was_exported_is_what_the_log_says_also_after_more_has_happened(
    document: dict[str, Any], audit: Audit, trail: Engine, tmp_path: Path
) -> None:
    with event_store.writing(trail) as db:
        event_store.append(db, pull.PullChanged(CARD, 5, PullState.MERGED, False, "a" * 40), at=AT)
    assert verified(audit, tmp_path, document) == (0, [])
    assert "as the log has them" in audit("verify", "--file", "trail.json").stdout
    others = {one["stream"] for one in document["events"]}
    assert others == {"run:r1", f"card:{CARD}", f"board:{BOARD}"}


def test_no_secret_leaves_and_what_was_withheld_is_marked(
    document: dict[str, Any], audit: Audit, tmp_path: Path
) -> None:
    written = (tmp_path / "trail.json").read_text() + audit("export", "r1", "--format", "md").stdout
    assert KEY not in written
    assert TOKEN not in written
    withheld = {one["kind"] for one in document["events"] if one["withheld"]}
    assert withheld == {"BriefingMade", "CommandChecked"}


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("RunQueued", {"body": "by"}),
        ("RunEnded", {"at": "2020-01-01T00:00:00.000000+00:00"}),
        ("RunEnded", {"digest": "f" * 64}),
        ("RunEnded", {"before": "f" * 64}),
        ("RunEnded", {"version": 99}),
        ("BriefingMade", {"body": "text"}),
        ("BriefingMade", {"withheld": False}),
        ("ReviewSubmitted", {"body": "author"}),
    ],
)
def test_an_altered_event_is_named(
    document: dict[str, Any], audit: Audit, tmp_path: Path, kind: str, changes: dict[str, Any]
) -> None:
    one = next(one for one in document["events"] if one["kind"] == kind)
    for name, value in changes.items():
        if name == "body":
            one["body"][value] = "mallory"
        else:
            one[name] = value
    code, differs = verified(audit, tmp_path, document)
    assert code == 1
    assert any(f"event {one['seq']} ({kind}) was altered" in said for said in differs)


def test_a_missing_a_foreign_and_a_moved_event_are_named(
    document: dict[str, Any], audit: Audit, tmp_path: Path
) -> None:
    gone = document["events"].pop(5)
    assert verified(audit, tmp_path, document)[1] == [f"event {gone['seq']} ({gone['kind']}) is missing"]
    document["events"].insert(5, {**gone, "seq": 999})
    assert "event 999 is not from this run, or is listed twice" in verified(audit, tmp_path, document)[1]
    document["events"][5] = gone
    document["events"].reverse()
    assert verified(audit, tmp_path, document)[1] == ["the events are out of order"]


def test_an_altered_summary_is_named_and_another_log_too(
    document: dict[str, Any], audit: Audit, tmp_path: Path
) -> None:
    document["summary"]["outcome"]["ending"] = "failed"
    assert verified(audit, tmp_path, document) == (1, ["the summary was altered: outcome"])
    document["log"]["head"] = "0" * 64
    assert "another log" in verified(audit, tmp_path, document)[1][0]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "x"}', "\x00", '{"run": 5}' * 3])
def test_a_file_that_is_no_trail_is_one_sentence(
    audit: Audit, trail: Engine, tmp_path: Path, text: str
) -> None:
    (tmp_path / "odd.json").write_text(text)
    result = audit("verify", "--file", "odd.json")
    assert result.exit_code == 2
    assert "is not an audit trail" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_markdown_is_the_same_document_and_no_outside_text_reaches_out_of_it(
    audit: Audit, trail: Engine
) -> None:
    said = audit("export", "r1", "--format", "md").stdout
    heads = [row for row in said.splitlines() if row.startswith("#")]
    assert heads[0] == "# Audit trail of r1"
    expected = ("Request", "Policy", "Agent", "Plan 1, approved by bob", "Checks", "Cost", "Outcome")
    assert all(f"## {title}" in heads for title in expected)
    assert "\x1b" not in said
    assert "# not a heading" in said  # in a block that it cannot close
    assert said.count("````") == 2
    assert "<b>" not in said.replace("`", "").split("## Plan")[1].split("## Questions")[0]


def test_a_run_that_is_not_known_is_one_sentence(audit: Audit, trail: Engine) -> None:
    result = audit("export", "r99")
    assert result.exit_code == 2
    assert "cardinal runs" in result.stderr
