"""`/cardinal block` and `unblock`: a card that somebody holds, with the reason on the board."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ledger.events.board import StopLifted, StopOrdered
from ledger.ids import RunId
from ledger.states import CardState, Ending, Reason, RunState
from rules.card.state import conclude_decision, derive
from rules.explain import why
from rules.intents.by_command import UnlinkCard
from rules.intents.outbound import LinkCard
from rules.runs.kill_switch import show_block
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, CARD, POLICY, QUESTION, a_stop, asks, card, ended, given, kinds, run

HELD = (a_stop("card", CARD, "al", because="no contract"),)
SAID = "the card is blocked by al (no contract): /cardinal unblock resumes it"


def test_a_reason_stops_the_card_and_unblock_lifts_it() -> None:
    assert handled("block", card(), "no contract") == (
        StopOrdered(BOARD, "card", CARD, "bob", "no contract"),
    )
    paused = card(stops=(a_stop("card", CARD, "al"),))  # by somebody who said no reason
    assert kinds(handled("block", paused, "no contract")) == ["StopOrdered"]
    assert handled("unblock", card(stops=HELD)) == (StopLifted(BOARD, "card", CARD, "bob"),)


def test_an_issue_is_a_dependency_at_github() -> None:
    link = LinkCard(CARD, RunId(""), "acme/shop#7", "blocked_by", "command77")
    assert handled("block", card(), "by #7") == (link,)
    assert handled("unblock", card(), "by #7") == (
        UnlinkCard(CARD, "acme/shop#7", "blocked_by", "command77"),
    )
    assert kinds(handled("block", card(), "by the lawyers")) == ["StopOrdered"]


@pytest.mark.parametrize(
    ("command", "seen", "argument", "words"),
    [
        ("block", card(), " ", "Say why"),
        ("block", card(stops=HELD), "later", "Nothing was changed: the card is blocked by al (no contract)"),
        ("unblock", card(), "", "No one has blocked this card"),
        ("unblock", card(stops=HELD), "now", "say `/cardinal unblock`, or `by #12`"),
        ("unblock", card(stops=(a_stop("board", BOARD, "al"),)), "", "No one has blocked this card"),
    ],
)
def test_what_changes_nothing_is_said(command: str, seen: Snapshot, argument: str, words: str) -> None:
    assert words in told(command, seen, argument)


def test_a_form_lifts_only_the_block_that_it_showed() -> None:
    stop = replace(HELD[0], at=datetime.fromtimestamp(2e-6, UTC))
    for mark, acts in (("1", ["Say"]), ("2", ["StopLifted", "Say"])):
        form = given("unblock", source=f"page:unblock:stop-{mark}", place="page", comment_id=-9)
        assert kinds(asks(card(stops=(stop,)), form)) == acts


def test_a_long_reason_is_cut() -> None:
    (order,) = handled("block", card(), "x" * 900)
    assert isinstance(order, StopOrdered)
    assert len(order.because) == 200


@pytest.mark.parametrize("column", ["Tasks", "Planning", "In Progress", "Review"])
@pytest.mark.parametrize("newest", [None, ended(Ending.FAILED), run(RunState.QUEUED)])
def test_a_blocked_card_says_so_wherever_it_stands(column: str, newest: object) -> None:
    snapshot = card(column, run=newest, stops=HELD)
    derived = derive(POLICY, snapshot)
    assert derived is not None
    assert (derived.state, derived.because, derived.reason) == (CardState.BLOCKED, SAID, Reason.BLOCKED)
    shown: dict[str, Any] = {
        "run": newest,
        "place": 0,
        "stops": HELD,
        "because": SAID,
        "reason": Reason.BLOCKED,
    }
    blocked = card(column, CardState.BLOCKED, **shown)
    assert why(POLICY, blocked) == SAID


@pytest.mark.parametrize(
    "seen",
    [
        card("Done", CardState.DONE, stops=HELD),
        card(run=run(), stops=HELD),
        card(run=run(RunState.PARKED), questions=(QUESTION,), stops=HELD),
        card(stops=(a_stop("card", CARD, "al"),)),
    ],
)
def test_what_is_at_work_asks_or_is_done_is_shown_as_it_is(seen: Snapshot) -> None:
    derived = derive(POLICY, seen)
    assert derived is None or derived.reason is not Reason.BLOCKED


def test_the_card_is_shown_blocked_and_as_before_once_it_is_not() -> None:
    snapshot = card("Tasks", CardState.DRAFT, stops=HELD)
    assert kinds(conclude_decision(POLICY, snapshot, show_block(snapshot)).intents) == [
        "ChangeCardState",
        "UpdateFace",
    ]
    free = card("Tasks", CardState.BLOCKED, reason=Reason.BLOCKED, because=SAID)
    assert kinds(conclude_decision(POLICY, free, show_block(free)).intents) == [
        "ChangeCardState",
        "UpdateFace",
    ]
    assert show_block(card("Tasks", CardState.DRAFT)).intents == ()
