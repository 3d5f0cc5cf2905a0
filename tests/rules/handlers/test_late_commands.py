"""Who asks for what somebody else did just before is told so and who that was, through every door."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.events.conversation import CommandGiven
from ledger.ids import RunId
from ledger.rows.findings import FollowUpRow
from ledger.states import Ending, RunState, StopKind
from rules.chatops.parser import BOXES
from rules.handlers.card_moved import UNKNOWN
from rules.intents.outbound import Say
from rules.registry import COMMANDS
from rules.snapshot import Snapshot
from tests.rules.scene import (
    BOARD,
    CARD,
    LEAVING,
    NOW,
    QUESTION,
    R1,
    a_check,
    a_lift,
    a_message,
    a_plan,
    a_stop,
    asks,
    card,
    ended,
    findings,
    given,
    kinds,
    only,
    pull,
    run,
)

# Alice was first, a second before NOW, when Bob's command comes.
AGO, R5 = NOW - timedelta(seconds=1), RunId("r5")
FIRST = replace(
    QUESTION, answered_by="alice", answer="8080", asked_at=NOW - timedelta(minutes=5), answered_at=AGO
)
STOPPING = run(stop_asked=StopKind.CANCEL, stop_by="alice")
CANCELLED = ended(Ending.CANCELLED, stop_asked=StopKind.CANCEL, stop_by="alice")
CHECKING = a_check(alive=True, by="carol")
PAUSING = run(stop_asked=StopKind.PAUSE, stop_by="alice")
PAUSED = run(RunState.PARKED, stop_asked=StopKind.PAUSE, stop_by="alice")
STARTED = run(by="alice", door="comment")
FINISHED = replace(LEAVING, answered_by="alice", answered_at=NOW, code="finish")
ANSWERED = card(run=run(), questions=(FIRST,))
HELD = a_message(70, "issue", "eve", "Use 8080.", vouched_by="alice")


def pressed(command: str, run_id: str) -> CommandGiven:
    return given(command, source=f"button:{command}:{run_id}", place="check")


def stops(scope: str, target: str) -> Snapshot:
    return card(stops=(a_stop(scope, target, "alice"),))


BLOCKED = card(stops=(a_stop("card", CARD, "alice", because="no contract"),))
TABLE: list[tuple[Snapshot, CommandGiven, str]] = [
    (card(run=STOPPING), given("cancel"), "cancelled r1 first. r1 is already being cancelled"),
    (card(run=STOPPING), given("cancel", source="box:cancel"), "cancelled r1 first"),
    (card(run=CANCELLED, pull=pull()), pressed("cancel", "r1"), "cancelled r1"),
    (card(run=CANCELLED), given("cancel"), "cancelled r1 first. No run is active"),
    (card(run=STOPPING), given("pause"), "cancelled r1 first"),
    (card(run=STOPPING), given("retry"), "cancelled r1 first. No run was started: r1 is already active"),
    (card(run=STOPPING, held_back="Review"), given("finish"), "cancelled r1 first"),
    (card(run=CANCELLED), given("finish"), "cancelled r1 first"),
    (card(run=CANCELLED), given("resume"), "cancelled r1 first. Nothing is paused"),
    (card(run=CANCELLED), given("approve", source="box:approve:r1:1"), "cancelled r1 first"),
    (card(run=CANCELLED), given("redirect", "smaller"), "cancelled r1 first"),
    (card(run=CANCELLED), given("answer", "2"), "cancelled r1 first"),
    (card(run=CANCELLED), given("budget", "+2", role="maintain"), "cancelled r1 first"),
    (card(run=PAUSING), given("pause"), "paused r1 first. r1 is already being stopped"),
    (card(run=PAUSED), given("pause", source="box:pause"), "paused r1 first"),
    (stops("card", CARD), given("pause"), "stopped the card first"),
    (stops("column", "In Progress"), given("pause", "column"), "stopped the column first"),
    (stops("board", BOARD), given("pause", "board"), "stopped the board first"),
    (BLOCKED, given("block", "later"), "stopped the card first. Nothing was changed: the card is blocked by"),
    (BLOCKED, given("claim"), "stopped the card first. Nothing was changed: the card is blocked by"),
    (card(run=run(), lifted=a_lift(AGO)), given("unblock"), "resumed it first. No one has blocked"),
    (stops("board", BOARD), given("stop-all"), "stopped the board first"),
    (card(run=run(), lifted=a_lift(AGO)), given("resume"), "resumed it first. Nothing is paused"),
    (card(run=run(), lifted=a_lift(AGO)), given("resume", source="box:resume"), "resumed it first"),
    (card(lifted=a_lift(AGO)), given("resume", "board"), "resumed it first. The board is not stopped"),
    (card(run=STARTED), given("retry"), "started r1 first. No run was started: r1 is already active"),
    (card(run=STARTED, pull=pull()), pressed("retry", "r0"), "started r1 first"),
    (card(run=STARTED), given("fix"), "started r1 first"),
    (card(run=STARTED), given("investigate"), "started r1 first"),
    (card(run=run(), questions=(FINISHED,), held_back="Review"), given("finish"), "let r1 finish first"),
    (card(run=run(), plan=a_plan(by="alice")), given("approve"), "is approved already by `alice`"),
    (card(run=run(), plan=a_plan(by="alice")), given("redirect", "smaller"), "`alice` settled plan 1"),
    (ANSWERED, given("approve", said_at=NOW), "answered that question first"),
    (ANSWERED, given("answer", "2", said_at=NOW), "answered that question first"),
    (ANSWERED, given("answer", "2", source="box:choice:r1-q1:2", said_at=NOW), "question first"),
    (ANSWERED, given("budget", "+2", role="maintain", said_at=NOW), "answered that question first"),
    (
        card(run=ended(), pull=pull(), checks=(a_check(alive=True, by="alice"),)),
        given("check"),
        "started r5 first",
    ),
    (
        card(
            run=ended(),
            pull=pull(),
            checks=(replace(CHECKING, stop_asked=StopKind.CANCEL, stop_by="alice"),),
        ),
        given("cancel"),
        "cancelled r5 first. r5 is already being cancelled",
    ),
    (card(run=run(), released=(HELD,)), given("ok"), "let that comment through first"),
    (card(run=run(), released=(HELD,)), given("ok", "eve"), "let that comment through first"),
]  # fmt: skip
# Whoever comes second there gets what they asked for, or changes nothing that anybody did.
HARMLESS = {
    "allow": "it is allowed, whoever said so",
    "agent": "the last word counts",
    "skills": "the last word counts",
    "workflow": "the last word counts",
    "priority": "the last word counts",
    "choose": "the last word counts",
    "compare": "it only tells",
    "limit": "the last word counts",
    "move": "the card stands there, whoever moved it",
    "rerun": "each is a run of its own",
    "fork": "each is a run of its own",
    "clean": "its host removes the workspace, whoever said so",
    "archive": "it is off the board, whoever took it",
    "unarchive": "it is on the board, whoever brought it back",
    "complete": "the card stands there, whoever moved it",
    "unclaim": "nobody gives back what somebody else claimed",
    "link": "it is there, whoever made it",
    "unlink": "it is gone, whoever removed it",
    "label": "they are there, whoever added them",
    "assign": "they are assigned, whoever said so",
    "subscribe": "each follows for themselves",
    "unsubscribe": "each follows for themselves",
    "unassign": "they are not assigned, whoever said so",
    "restore": "the description is back, whoever said so",
    "follow-up": "the answer names the issue that it became",
    "comment": "it says of itself who was faster, as a plain comment does",
    "folder": "the last word counts, and the folder's history has both",
    "status": "it only tells",
    "explain": "it only tells",
    "help": "it only tells",
}


@pytest.mark.parametrize(("snapshot", "late", "words"), TABLE)
def test_the_second_is_told_who_was_first_and_changes_nothing(
    snapshot: Snapshot, late: CommandGiven, words: str
) -> None:
    found = asks(snapshot, late)
    text = only(found, Say).text
    assert "`alice`" in text
    assert words in text
    acts = set(kinds(found)) - {"Say", "React", "WriteRunComment", "WriteCheck", "RunSteered"}
    assert acts == set()
    assert "first" not in "".join(
        ask.text for ask in asks(snapshot, replace(late, by="alice")) if isinstance(ask, Say)
    )


def test_every_command_has_its_second_in_the_table() -> None:
    missing = set(COMMANDS.names()) - {late.command for _, late, _ in TABLE} - HARMLESS.keys()
    assert not missing, f"add a row to TABLE for {missing}, or a reason to HARMLESS"


@pytest.mark.parametrize(
    ("snapshot", "late"),
    [
        (BLOCKED, given("block", "by x/y#7")),
        (card(run=run(by=UNKNOWN)), given("retry")),
        (card(run=run(by="alice", door="checks")), given("retry")),
        (card(run=ended(Ending.CANCELLED, stop_asked=StopKind.CANCEL, stop_by="policy")), given("cancel")),
        (card(run=ended(stop_asked=StopKind.CANCEL, stop_by="alice")), given("cancel")),  # it was done before
        (card(run=run(), lifted=a_lift(NOW - timedelta(minutes=5))), given("resume")),
    ],
)
def test_where_nobody_was_just_first_nobody_is_named(snapshot: Snapshot, late: CommandGiven) -> None:
    assert "first" not in only(asks(snapshot, late), Say).text


def test_a_follow_up_that_is_made_is_named() -> None:
    investigated = card(findings=findings("t"), made=(FollowUpRow(R1, 1, "acme/shop", 9),))
    assert "acme/shop#9 already" in only(asks(investigated, given("follow-up", "1")), Say).text


@pytest.mark.parametrize("box", BOXES)
def test_a_box_that_was_ticked_before_the_newest_run_is_not_about_it(box: str) -> None:
    snapshot = card(run=run(), begun=(NOW,))
    late = given(box, source=f"box:{box}", said_at=NOW - timedelta(minutes=1))
    assert kinds(asks(snapshot, late)) == ["Say", "WriteRunComment"]
    assert "before the newest run" in only(asks(snapshot, late), Say).text
