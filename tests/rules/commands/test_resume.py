"""`/cardinal resume`: what was paused goes on."""

import pytest

from ledger.events.board import StopLifted
from ledger.events.run import RunRequeued
from ledger.states import RunState, StopKind
from rules.chatops.offers import list_permitted
from rules.intents.outbound import React, Say
from rules.policy.model import DEFAULT_TEXT, parse
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, CARD, QUESTION, R1, a_stop, asks, card, given, kinds, only, run

PAUSED = run(RunState.PARKED, stop_asked=StopKind.PAUSE)


def test_a_paused_run_goes_on() -> None:
    assert handled("resume", card(run=PAUSED)) == (RunRequeued(R1, "resumed", by="bob"),)


def test_a_stopped_card_goes_on_with_its_run() -> None:
    snapshot = card(run=PAUSED, stops=(a_stop("card", CARD, "al"),))
    assert handled("resume", snapshot) == (
        StopLifted(BOARD, "card", CARD, "bob"),
        RunRequeued(R1, "resumed", by="bob"),
    )


@pytest.mark.parametrize(("scope", "target"), [("column", "In Progress"), ("board", BOARD)])
def test_a_stopped_column_or_board_goes_on(scope: str, target: str) -> None:
    snapshot = card(stops=(a_stop(scope, target, "al"),))
    assert handled("resume", snapshot, scope) == (StopLifted(BOARD, scope, target, "bob"),)


@pytest.mark.parametrize(
    ("snapshot", "scope", "said"),
    [
        (card(), "", "Nothing is paused"),
        (card(), "board", "The board is not stopped"),
        (card(), "all", "say `/cardinal resume [column|board]`"),
        (card(run=run(RunState.PARKED), questions=(QUESTION,)), "", "it is waiting for an answer"),
        (card(run=run(stop_asked=StopKind.PAUSE)), "", "r1 is still stopping"),
        (
            card(stops=(a_stop("board", BOARD, "al"),)),
            "",
            "but the board is stopped by al: ",
        ),
    ],
)
def test_where_nothing_is_paused_it_says_so(snapshot: Snapshot, scope: str, said: str) -> None:
    assert said in told("resume", snapshot, scope)


def test_a_form_lifts_the_stop_that_it_showed_and_no_later_one() -> None:
    form = {"source": "page:resume:stop-7", "place": "page", "comment_id": -9}
    first, second = (card(stops=(a_stop("board", BOARD, "al", mark),)) for mark in (7, 8))
    lifted = only(asks(first, given("resume", "board", **form)), StopLifted)
    assert (lifted.scope, lifted.by) == ("board", "bob")
    for snapshot in (second, card()):
        assert kinds(asks(snapshot, given("resume", "board", **form))) == ["Say"]


def test_a_block_is_lifted_by_whom_the_policy_lets_unblock_it() -> None:
    policy = parse(f"{DEFAULT_TEXT}  commands: {{unblock: admin}}\n", home="acme/board")
    snapshot = card(stops=(a_stop("card", CARD, "al", 7, "no contract"),))
    mark, answer = asks(snapshot, given("resume"), by=policy)
    assert mark == React(CARD, "issue", 77, "eyes")
    assert isinstance(answer, Say)
    assert answer.text.startswith("The card is blocked by al (no contract): ")
    assert "needs the role `admin`" in answer.text
    assert kinds(asks(snapshot, given("resume", role="admin"), by=policy)) == ["React", "StopLifted"]
    offered = {role: list_permitted(policy, snapshot, role=role, login="bob") for role in ("write", "admin")}
    assert {role: any(offer.command == "unblock" for offer in its) for role, its in offered.items()} == {
        "write": False,
        "admin": True,
    }
