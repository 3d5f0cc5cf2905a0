"""`/cardinal archive` and `unarchive`: off the board and back, for whoever may drag, and never mid-work."""

import pytest

from ledger.events.publication import EntryGivenUp
from ledger.ids import EntryKey
from rules.intents.by_command import ArchiveCard
from rules.intents.outbound import Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, ended, only, pull, run


def test_it_goes_and_comes_back() -> None:
    assert handled("archive", card(run=ended())) == (ArchiveCard(CARD, True, "bob", "write", "command:77"),)
    away = card(run=ended(), archived=True)
    assert handled("unarchive", away) == (ArchiveCard(CARD, False, "bob", "write", "command:77"),)


@pytest.mark.parametrize(
    ("command", "seen", "words"),
    [
        ("archive", card(run=run()), "r1 has not ended, so the card stays: `/cardinal cancel` first"),
        ("archive", card(run=ended(), pull=pull()), "Pull request #5 is open, so the card stays"),
        ("archive", card(archived=True), "already archived"),
        ("unarchive", card(), "The card is on the board."),
    ],
)
def test_what_changes_nothing_is_said(command: str, seen: Snapshot, words: str) -> None:
    assert words in told(command, seen)


@pytest.mark.parametrize("archived", [False, True])
def test_one_that_github_refuses_is_said(archived: bool) -> None:
    gone = EntryGivenUp(CARD, EntryKey("archive:c1:command:77"), "archive_card", "GitHub refuses it")
    say = only(asks(card(run=ended(), archived=archived), gone), Say)
    assert "card was not archived or brought back: GitHub refuses it" in say.text
