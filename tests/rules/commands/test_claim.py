"""`/cardinal claim` and `unclaim`: a card is one person's, and no run starts on it."""

from dataclasses import replace

import pytest

from ledger.events.board import CardExplained, IssueClosed, StopLifted, StopOrdered
from ledger.states import CardState, Ending, Reason, RunState
from rules.card.state import conclude_decision
from rules.intents.by_command import ChangeAssignees
from rules.intents.internal import ChangeCardState
from rules.runs.kill_switch import show_block
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, CARD, POLICY, a_stop, asks, card, ended, pull, run, states

S = CardState


def held(by: str) -> Snapshot:
    return card(stops=(a_stop("card", CARD, by, because="claimed", claims=True),))


def test_it_assigns_and_blocks_and_the_same_person_gives_it_back() -> None:
    block = StopOrdered(BOARD, "card", CARD, "bob", "claimed", claims=True)
    assert handled("claim", card(run=ended())) == (
        block,
        ChangeAssignees(CARD, ("bob",), True, "command:77"),
    )
    assert handled("unclaim", held("Bob")) == (
        StopLifted(BOARD, "card", CARD, "bob"),
        ChangeAssignees(CARD, ("bob",), False, "command:77"),
    )


@pytest.mark.parametrize(
    ("command", "seen", "words"),
    [
        ("claim", card(run=run()), "r1 has not ended, so the card is not free: `/cardinal cancel` first"),
        ("claim", held("al"), "Nothing was changed: the card is claimed by al: /cardinal unblock"),
        ("unclaim", held("al"), "You have not claimed this card: the card is claimed by al"),
        ("unclaim", card(), "You have not claimed this card: no one has claimed it."),
        (
            "unclaim",
            card(
                stops=(a_stop("card", CARD, "bob", because="claimed"),)
            ),  # who only blocked it keeps the issue
            "You have not claimed this card: the card is blocked by bob (claimed): /cardinal unblock resumes",
        ),
        ("unclaim", card(stops=(a_stop("card", CARD, "bob"),)), "You have not claimed this card"),
    ],
)
def test_what_changes_nothing_is_said(command: str, seen: Snapshot, words: str) -> None:
    assert words in told(command, seen)


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (card(state=S.BLOCKED), S.WORKING),
        (card(state=S.FAILED, run=ended(Ending.FAILED)), S.WORKING),
        (card(state=S.BLOCKED, run=ended(Ending.CANCELLED)), S.WORKING),
        (card(state=S.BLOCKED, run=ended()), S.WORK_COMPLETE),
        (card(state=S.BLOCKED, run=run(RunState.QUEUED)), S.BLOCKED),
        (card(state=S.FAILED, closed="not_planned"), S.BLOCKED),
        (card("Tasks", S.BLOCKED), S.DRAFT),
        (card("Planning", S.BLOCKED), S.DISCUSSING),
        (card("Review", S.BLOCKED, run=ended(), pull=pull()), S.IN_REVIEW),
        (card("Gone", S.BLOCKED), S.BLOCKED),
    ],
)
def test_a_claimed_card_waits_for_no_agent_so_it_is_not_blocked(seen: Snapshot, state: CardState) -> None:
    taken = replace(seen, stops=held("al").stops)
    claimed = conclude_decision(POLICY, taken, show_block(taken)).intents
    assert [seen.state, *states(claimed)][-1] is state
    shown = [it for it in claimed if isinstance(it, ChangeCardState | CardExplained)]
    assert shown[-1].reason is Reason.BLOCKED, "or a queued run would start"
    stop = a_stop("card", CARD, "al", because="the contract is missing")
    stopped = replace(seen, stops=(stop,))
    only_blocked = conclude_decision(POLICY, stopped, show_block(stopped)).intents
    assert [S.BLOCKED, *states(only_blocked)][-1] is S.BLOCKED


@pytest.mark.parametrize(
    ("closed", "state"),
    [("completed", S.WORK_COMPLETE), ("not_planned", S.BLOCKED), ("duplicate", S.BLOCKED)],
)
def test_a_card_whose_issue_is_completed_is_not_blocked(closed: str, state: CardState) -> None:
    for last in (None, ended(Ending.FAILED), ended(Ending.CANCELLED)):
        snapshot = card(state=S.FAILED, run=last, closed=closed)
        assert states(asks(snapshot, IssueClosed(CARD, closed, "bob", True)))[-1:] == [state]
