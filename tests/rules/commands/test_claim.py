"""`/cardinal claim` and `unclaim`: a card is one person's, and no run starts on it."""

import pytest

from ledger.events.board import StopLifted, StopOrdered
from rules.intents.by_command import ChangeAssignees
from rules.snapshot import Snapshot, Stop
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, CARD, card, ended, run


def held(by: str) -> Snapshot:
    return card(stops=(Stop("card", CARD, by, because="claimed", claims=True),))


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
        ("claim", held("al"), "Nothing was changed: the card is blocked by al (claimed): /cardinal unblock"),
        ("unclaim", held("al"), "You have not claimed this card: the card is blocked by al"),
        ("unclaim", card(), "You have not claimed this card: no one has claimed it."),
        (
            "unclaim",
            card(
                stops=(Stop("card", CARD, "bob", because="claimed"),)
            ),  # who only blocked it keeps the issue
            "You have not claimed this card: the card is blocked by bob (claimed): /cardinal unblock resumes",
        ),
        ("unclaim", card(stops=(Stop("card", CARD, "bob"),)), "You have not claimed this card"),
    ],
)
def test_what_changes_nothing_is_said(command: str, seen: Snapshot, words: str) -> None:
    assert words in told(command, seen)
