"""What an audit document says of the gate: stages, skills, rounds, guards, leave, findings, cards made."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from bot.admin.audit import markdown, trail
from ledger.event import Event
from ledger.events import run as of_run
from ledger.events.agent import CardToolAllowed, HostReached, ToolAllowed
from ledger.events.bounds import RoundFailed, ValidationWaived
from ledger.events.conversation import CommandGiven
from ledger.events.findings import (
    Finding,
    FindingsReported,
    FollowUp,
    FollowUpMade,
    InvestigationBegun,
    Reference,
)
from ledger.events.guard import GuardsJudged, Violation
from ledger.events.instruction import (
    AgentPinned,
    InstructionsStacked,
    LayerTold,
    SkillConsidered,
    SkillsChosen,
    SkillsPinned,
)
from ledger.events.reproduction import AFTER, FAILED, ReproductionPlayed
from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft, StageReopened, StageTidied
from ledger.ids import QuestionId, RunId
from ledger.log import event_store
from tests.bot.cli.conftest import CARD, HOSTILE, card, queued

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
R1, R2 = RunId("r1"), RunId("r2")
HEAD, BASE = "a" * 40, "b" * 40


def skill(name: str, private: bool, loaded: bool, why: str) -> SkillConsidered:
    return SkillConsidered(
        name, "operator" if private else "repository", "1.2", "5" * 64, private, True, loaded, why
    )


def told() -> tuple[Event, ...]:
    return (*before_the_work(), *in_the_work())


def before_the_work() -> tuple[Event, ...]:
    layers = (
        LayerTold("profile", "our_shop", "here", "", "6" * 64, False, "Prices are in cents."),
        LayerTold("skill", "oracle", "operator", "1", "7" * 64, True, ""),
    )
    return (
        card(1, HOSTILE),
        CommandGiven(CARD, "check", "", "carol", "write", "pull", 5, "5"),
        SkillsPinned(CARD, ("oracle",), "alice"),
        AgentPinned(CARD, "codex", "alice"),
        CardToolAllowed(CARD, "git push:*", "dave"),
        queued("r1", 1),
        queued("r2", 2),
        SkillsChosen(
            R1, (skill("oracle", True, True, "by default"), skill("tests", False, False, "nothing asks"))
        ),
        InstructionsStacked(R1, "8" * 64, layers),
        of_run.PlanProposed(R1, 1, "Do it.", ("Read",), BASE, "9" * 64),
        of_run.PlanApproved(R1, 1, "bob", "4" * 64),
    )


def in_the_work() -> tuple[Event, ...]:
    violation = Violation(
        "secrets", "secrets: deny", "a.py", 3, "", "deny", "looks like a key", "Take it out.", "m"
    )
    finding = Finding("Totals are off", "Tax twice", "Once", "high", (Reference("a.py", 3, 4, True),))
    return (
        StageEntered(R1, "build", 1, 1, "", "policy", False, "tester", "acme/shop", "d" * 64, "m", HEAD),
        ToolAllowed(R1, "make deploy", "erin"),
        HostReached(R1, "evil.test", 443, False, "network: none"),
        StageTidied(R1, "build", 1, "make clean", 2, 0.5, "no rule"),
        SnapshotTaken(R1, "build", 1, "Built it.", (), 0, (), ("Is it fast?",), (), HEAD),
        StageLeft(R1, "build", 1, "check", 0.5, 40, 2, 1, 60.0, 2, 30, 20),
        RoundFailed(
            R1,
            3,
            "full",
            HEAD,
            "t",
            "pytest -q",
            1,
            False,
            True,
            "s" * 64,
            2,
            ("test_a",),
            "long output",
            2,
            30,
        ),
        StageReopened(R1, "build", 1, "repair", HEAD),
        ReproductionPlayed(R1, AFTER, HEAD, "i", FAILED, ('expect "9"',), 1, "not seen", (), 0, (), 1.0),
        GuardsJudged(R1, HEAD, BASE, "r" * 64, (violation,), 2, "g" * 64),
        of_run.QuestionAsked(R1, QuestionId("r1-q1"), "guard", "Publish a.py?", ("Publish it", "Stop")),
        of_run.QuestionAnswered(R1, QuestionId("r1-q1"), "frank", "Publish it"),
        of_run.QuestionAsked(R1, QuestionId("r1-q2"), "workflows", "And ci.yml?", ("Publish it", "Stop")),
        of_run.QuestionAnswered(R1, QuestionId("r1-q2"), "gina", "yes."),
        of_run.QuestionAsked(R1, QuestionId("r1-q3"), "workflows", "And cd.yml?", ("Publish it", "Stop")),
        of_run.QuestionAnswered(R1, QuestionId("r1-q3"), "hugo", "Stop"),
        ValidationWaived(R1, HEAD, BASE),
        InvestigationBegun(R1, BASE),
        FindingsReported(
            R1, BASE, "Tax.", (finding,), (FollowUp("Fix tax", "Body", "Own work"),), ("left.txt",)
        ),
        FollowUpMade(CARD, R2, 1, "acme/shop", 8),
        FollowUpMade(CARD, R1, 1, "acme/shop", 9),
    )


@pytest.fixture
def document(engine: Engine) -> dict[str, Any]:
    for number, event in enumerate(told()):
        with event_store.writing(engine) as db:
            event_store.append(db, event, at=AT + timedelta(seconds=number))
    with event_store.reading(engine) as db:
        found: dict[str, Any] = json.loads(json.dumps(trail.make_trail(db, R1, at=AT)))
    return found


def test_it_says_which_instructions_and_skills_there_were_by_their_digests(document: dict[str, Any]) -> None:
    said = document["summary"]
    assert [(one["name"], one["loaded"], one["why"]) for one in said["skills"]] == [
        ("oracle", True, "by default"),
        ("tests", False, "nothing asks"),
    ]
    assert [(one["name"], one["digest"]) for one in said["instructions"]["layers"]] == [
        ("our_shop", "6" * 64),
        ("oracle", "7" * 64),
    ]


def test_it_says_who_approved_what_and_who_gave_leave(document: dict[str, Any]) -> None:
    said = document["summary"]
    (plan,) = said["plans"]
    assert [plan[name] for name in ("by", "bound", "base", "policy")] == ["bob", "4" * 64, BASE, "9" * 64]
    assert {(one["by"], one["what"]) for one in said["leave"]} == {
        ("alice", "/cardinal skills oracle"),
        ("alice", "/cardinal agent codex"),
        ("dave", "git push:*"),
        ("erin", "make deploy"),
        ("gina", "files of CI"),
    }
    assert ("carol", "/cardinal check") in {(one["by"], one["what"]) for one in said["commands"]}
    assert said["hosts"] == [{"host": "evil.test", "port": 443, "allowed": False, "why": "network: none"}]


def test_it_says_how_the_stages_went(document: dict[str, Any]) -> None:
    (stage,) = document["summary"]["stages"]
    assert (stage["stage"], stage["persona"], stage["persona_digest"]) == ("build", "tester", "d" * 64)
    assert (stage["left_for"], stage["usd"], stage["lines_changed"]) == ("check", 0.5, 30)
    assert (stage["handed_over"], stage["open_points"]) == ("Built it.", ["Is it fast?"])
    assert (stage["reopened"], stage["tidied"]) == (["repair"], ["make clean: exit code 2"])


def test_it_says_what_failed_in_which_round_and_what_the_guards_found(document: dict[str, Any]) -> None:
    said = document["summary"]
    (failed,) = said["rounds"]
    assert (failed["iteration"], failed["command"], failed["signature"]) == (3, "pytest -q", "s" * 64)
    assert said["iterations"] == 3
    (judged,) = said["guards"]
    assert (judged["digest"], judged["rules"], judged["found"]) == ("g" * 64, "r" * 64, 3)
    assert (judged["leave_by"], judged["leave"]) == ("frank, gina, hugo", "Publish it, yes., Stop")
    (violation,) = said["violations"]
    assert (violation["rule"], violation["path"], violation["line"]) == ("secrets: deny", "a.py", 3)
    assert said["waived"][0]["head"] == HEAD
    (played,) = said["reproductions"]
    assert (played["phase"], played["outcome"], played["said"]) == ("after", "failed", "not seen")


def test_it_says_what_an_investigation_found_and_which_cards_came_of_it(document: dict[str, Any]) -> None:
    found = document["summary"]["findings"]
    assert (found["base"], found["findings"][0]["references"][0]["path"]) == (BASE, "a.py")
    assert [(one["title"], one["made"]) for one in found["follow_ups"]] == [("Fix tax", "acme/shop#9")]
    assert found["discarded"] == ["left.txt"]


def test_all_of_it_can_be_read_as_markdown(document: dict[str, Any]) -> None:
    text = markdown.write(document)
    heads = (
        *("Instructions", "Skills considered", "Permissions given by people", "Stages"),
        *("Failed rounds of checks", "Judgements of the guards", "Violations"),
        *("Findings", "Proposed follow-up cards", "Unchecked commits", "Hosts requested"),
    )
    assert [head for head in heads if f"\n## {head}\n" not in text] == []
    assert "path: a.py" in text
