"""What people are told of a run's money and commits is what the log says, wherever it stopped."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bot.admin.audit import trail
from bot.reactor.apply import apply
from bot.render.board import card_fields
from bot.render.board.card_fields import FaceField
from bot.render.run import comment as run_comment
from bot.render.run import report
from bot.render.run import story as run_story
from bot.state import snapshots
from ledger.event import Event
from ledger.events.board import StopOrdered
from ledger.events.publication import EntryPublished
from ledger.events.pull import PullOpened
from ledger.events.run import (
    BranchExported,
    BranchPushed,
    CommandChecked,
    PlanApproved,
    PlanProposed,
    QuestionAsked,
    RunClaimed,
    RunEnded,
    RunParked,
    RunRequeued,
    RunStepped,
    RunStopAsked,
    SessionStarted,
    UsageMetered,
)
from ledger.events.turn import TurnStarted
from ledger.ids import EntryKey, QuestionId
from ledger.log import event_store
from ledger.states import Ending, StopKind
from ledger.views import cards, runs, spend
from rules.decide import decide
from rules.explain import card_status
from rules.policy.model import default_policy
from tests.bot.render.past import BOARD, CARD, RUN, START, Past, R

POLICY, BRANCH, HEAD = default_policy("acme/board"), "cardinal/7-totals", "b" * 40
WHY = "The disk of the builder is full: free some of it"

# A run's life; each stop of the table is somewhere in it.
CLAIMED = (RunClaimed(RUN, 1, "w1"),)
PREPARING = (*CLAIMED, RunStepped(RUN, R.CLAIMED, R.PREPARING))
PLANNING = (*PREPARING, RunStepped(RUN, R.PREPARING, R.PLANNING))
OPENED = (*PLANNING, TurnStarted(RUN, "plan", "plan", ""))
PLANNED = (
    *OPENED,
    SessionStarted(RUN, "s1", "claude", "1.0"),
    UsageMetered(RUN, 0.003, 9, 9, 1, 4.0),
    PlanProposed(RUN, 1, "Add the tax.", ("Write a test",)),
)
AWAITING = (*PLANNED, RunStepped(RUN, R.PLANNING, R.AWAITING_APPROVAL))
WORKING = (
    *AWAITING,
    PlanApproved(RUN, 1, "alice"),
    RunRequeued(RUN, "approved"),
    RunClaimed(RUN, 2, "w1"),
    RunStepped(RUN, R.CLAIMED, R.PREPARING),
    RunStepped(RUN, R.PREPARING, R.WORKING),
    UsageMetered(RUN, 0.4, 9, 9, 2, 60.0),
)
ASKING = (
    *WORKING,
    QuestionAsked(RUN, QuestionId("r1-q1"), "agent", "Which?", ()),
    RunParked(RUN, "question"),
)
BUDGET = (*WORKING, QuestionAsked(RUN, QuestionId("r1-q1"), "budget", "More?", ()), RunParked(RUN, "limit"))
VALIDATING = (*WORKING, RunStepped(RUN, R.WORKING, R.VALIDATING))
RED = (*VALIDATING, CommandChecked(RUN, 1, "full", "pytest -q", 1, 2.0, "d" * 64, "1 failed"))
PUBLISHING = (*VALIDATING, RunStepped(RUN, R.VALIDATING, R.PUBLISHING))
EXPORTED = (*PUBLISHING, BranchExported(RUN, BRANCH, "a" * 40, HEAD, 2, 14, 3))
LARGE = (
    *EXPORTED,
    QuestionAsked(RUN, QuestionId("r1-q1"), "limit", "Large?", ()),
    RunParked(RUN, "question"),
)
BACK = (*EXPORTED, RunStepped(RUN, R.PUBLISHING, R.VALIDATING))
RETAKEN = (*EXPORTED, RunRequeued(RUN, "reclaimed"))
PUSHED = (*EXPORTED, BranchPushed(RUN, BRANCH, HEAD))
OFFERED = (*PUSHED, PullOpened(CARD, "acme/shop", 13, "PR_1", BRANCH, HEAD, True))

NOTHING, UNPUSHED = "No agent was started and nothing was spent", "nothing was pushed"
KEPT, UNKNOWN = "its commits are kept in the run's workspace, nothing was pushed", "it ended during the push"
TWO, NONE = "2 commits made and kept in the run's workspace, nothing was pushed", "no commit was made, "
WAS_PUSHED = "3 commits pushed"
EARLY = (
    *WORKING,
    BranchExported(RUN, BRANCH, "a" * 40, HEAD, 2, 14, 3),
    BranchPushed(RUN, BRANCH, HEAD, "a" * 40),
)
WITHHELD = (*EARLY, BranchExported(RUN, BRANCH, "a" * 40, "c" * 40, 3, 20, 4))
LATER = f"branch `{BRANCH}`; later work is kept in the run's workspace"


def stopped(commits: int | None) -> tuple[Event, ...]:
    asked = RunStopAsked(RUN, StopKind.CANCEL, "bob", WHY)
    return (asked, RunEnded(RUN, Ending.CANCELLED, "cancelled", f"{WHY} (bob)", "", commits))


def ended(ending: Ending, reason: str) -> tuple[Event, ...]:
    return (RunEnded(RUN, ending, reason, WHY, ""),)


LOST, FAILED = ended(Ending.LOST, "gave_up"), ended(Ending.FAILED, "validation")
UNPREPARED = ended(Ending.FAILED, "repository")
# Where it was, how it ended, and what is said of its commits.
ENDS: list[tuple[tuple[Event, ...], tuple[Event, ...], str]] = [
    ((), stopped(None), NOTHING),
    (CLAIMED, stopped(None), NOTHING),
    (CLAIMED, UNPREPARED, NOTHING),
    (PREPARING, stopped(0), NOTHING),
    (PREPARING, LOST, NOTHING),
    (PLANNING, ended(Ending.FAILED, "spawn_failed"), NOTHING),
    (OPENED, LOST, UNPUSHED),
    (OPENED, stopped(0), NONE),
    (PLANNED, stopped(0), NONE),
    (AWAITING, stopped(None), UNPUSHED),
    ((*AWAITING, RunRequeued(RUN, "approved"), *CLAIMED), UNPREPARED, UNPUSHED),
    (WORKING, stopped(2), TWO),
    (WORKING, stopped(0), NONE),
    (WORKING, LOST, UNPUSHED),
    (WORKING, ended(Ending.FAILED, "provider"), UNPUSHED),
    (ASKING, stopped(None), UNPUSHED),
    (BUDGET, stopped(None), UNPUSHED),
    (BUDGET, ended(Ending.FAILED, "stopped"), UNPUSHED),
    (EARLY, stopped(3), f"3 commits pushed, branch `{BRANCH}` ·"),
    (EARLY, stopped(4), f"3 commits pushed, {LATER}"),
    (WITHHELD, FAILED, f"its first commits pushed, {LATER}"),
    (VALIDATING, stopped(2), TWO),
    (RED, FAILED, UNPUSHED),
    (RED, LOST, UNPUSHED),
    (PUBLISHING, stopped(2), TWO),
    (PUBLISHING, LOST, UNPUSHED),
    (EXPORTED, ended(Ending.FAILED, "guardrail"), KEPT),
    (EXPORTED, ended(Ending.FAILED, "internal"), UNKNOWN),
    (EXPORTED, stopped(2), UNKNOWN),
    (EXPORTED, LOST, UNKNOWN),
    (RETAKEN, stopped(None), UNKNOWN),
    (LARGE, stopped(None), KEPT),
    (BACK, stopped(2), TWO),
    (PUSHED, stopped(None), WAS_PUSHED),
    (OFFERED, LOST, WAS_PUSHED),
]
STOP_ALL = (
    StopOrdered(BOARD, "board", BOARD, "ann"),
    RunStopAsked(RUN, StopKind.PAUSE, "ann", "board stopped"),
)
# Nothing has ended, so nothing is said of commits or of nothing being spent.
GOES_ON: list[tuple[Event, ...]] = [
    (),
    CLAIMED,
    (*PREPARING, *STOP_ALL),
    (*WORKING, *STOP_ALL, RunParked(RUN, "pause")),
    AWAITING,
    ASKING,
    BUDGET,
    RETAKEN,
]


@dataclass(frozen=True, slots=True)
class Said:
    """All that is said of the run: `alone` is its comment where no report is posted."""

    comment: str
    alone: str
    final: str
    face: dict[FaceField, str | float]
    explained: str
    audit: dict[str, Any]
    account: str


def said(past: Past, *events: Event) -> Said:
    """Return what is said after these events, the rules having heard the last of them."""
    for event in events:
        past(event)
    with event_store.writing(past.engine) as db:
        card = cards.get(db, CARD)
        for event in events[-1:]:
            if card is not None:
                heard = snapshots.for_event(db, card, event, START)
                apply(db, POLICY, decide(POLICY, heard, event, START), now=START)
        snapshot, run = snapshots.of_card(db, CARD), runs.get(db, RUN)
        assert snapshot is not None
        snapshot = snapshots.with_place(db, snapshot)
        audit = trail.make_trail(db, RUN, at=START)["summary"]
        shown = card_fields.field_values(past.row(), run, card_usd=spend.of_card(db, CARD).usd)
    story = past.story()
    alone = replace(story, reported=None)
    return Said(
        run_comment.write(story),
        run_comment.write(alone),
        report.write(story),
        shown,
        card_status(POLICY, snapshot),
        audit,
        run_story.stop_account(story),
    )


def agrees(found: Said, *events: Event) -> None:
    """Assert that every amount is what the log's events sum up to."""
    usd = sum(one.usd for one in events if isinstance(one, UsageMetered))
    amount = "under $0.01" if 0 < usd < 0.005 else f"${usd:.2f}"
    for text in (found.comment, found.alone, found.final, found.explained):
        named = set(re.findall(r"(?<!of )(?:under )?\$[0-9.,]*[0-9]", text)) - {"$2.00"}
        assert named <= {amount}, text
    assert found.face.get(FaceField.COST, 0) == (round(usd, 2) if usd >= 0.005 else 0)
    assert found.audit["cost"].get("usd", 0) == pytest.approx(usd)
    assert len(found.audit["pushed"]) == sum(isinstance(one, BranchPushed) for one in events)


@pytest.mark.parametrize(("before", "end", "words"), ENDS)
def test_wherever_a_run_ended_all_tell_the_same_of_its_money_and_commits_and_the_reason_once(
    past: Past, before: tuple[Event, ...], end: tuple[Event, ...], words: str
) -> None:
    found = said(past, *before, *end)
    agrees(found, *before, *end)
    last = end[-1]
    assert isinstance(last, RunEnded)
    assert found.audit["outcome"]["commits"] == last.commits
    assert words in found.account
    assert found.account in found.final
    assert found.account in found.alone
    claims = (NOTHING, UNPUSHED, "commit was made", "commits are", WAS_PUSHED)
    assert not any(one in text for one in claims for text in (found.comment, found.explained))
    spoken = [one for one in (NOTHING, UNPUSHED, UNKNOWN, "commits pushed") if one in found.final]
    assert len(spoken) == 1
    if last.ending is Ending.LOST and NOTHING not in found.account:
        assert "at least" in found.account
    the_reason_is_told_once(past, found)


def the_reason_is_told_once(past: Past, found: Said) -> None:
    """Assert that the run's comment leads to the report, and keeps the reason where there is none."""
    assert (found.comment.count(WHY), found.final.count(WHY), found.alone.count(WHY)) == (0, 1, 1)
    assert "and the next step: the report." in found.comment
    past(EntryPublished(CARD, EntryKey("report:r1"), "post_report", "99", "d"))
    assert "and the next step: [the report](#issuecomment-99)." in run_comment.write(past.story())
    assert found.explained.count(WHY) <= 1
    assert sum(str(shown).count(WHY) for shown in found.face.values()) <= 1


@pytest.mark.parametrize("events", GOES_ON)
def test_of_a_run_that_goes_on_nothing_is_said_to_be_spent_or_pushed_that_was_not(
    past: Past, events: tuple[Event, ...]
) -> None:
    found = said(past, *events)
    agrees(found, *events)
    assert not any(one in found.comment + found.explained for one in (NOTHING, UNPUSHED, WAS_PUSHED))


def test_a_run_that_was_let_go_before_it_began_is_told_in_a_line(past: Past) -> None:
    found = said(past, RunEnded(RUN, Ending.CANCELLED, "superseded", WHY, "queued"))
    assert found.final == f"r1 was not started: {WHY}."
    assert NOTHING in found.alone
