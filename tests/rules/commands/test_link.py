"""`/cardinal link` and `unlink`: GitHub's own dependencies, within the repository where the role is known."""

import pytest

from ledger.events.publication import EntryGivenUp
from ledger.ids import EntryKey, RunId
from rules.intents.by_command import UnlinkCard
from rules.intents.outbound import LinkCard, Say
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, only


@pytest.mark.parametrize("relation", ["blocks", "blocked_by", "Blocked-By"])
@pytest.mark.parametrize("issue", ["#7", "acme/shop#7", "ACME/shop#7"])
def test_it_adds_or_removes_the_dependency(relation: str, issue: str) -> None:
    wanted = relation.lower().replace("-", "_")
    (made,) = handled("link", card(), f"{relation} {issue}")
    assert made == LinkCard(CARD, RunId(""), "acme/shop#7", wanted, "command77")
    (removed,) = handled("unlink", card(), f"{relation} {issue}")
    assert removed == UnlinkCard(CARD, "acme/shop#7", wanted, "command77")


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "say `/cardinal link blocked_by #12`, or `blocks`"),
        ("#7", "Nothing was changed"),
        ("blocks 7", "Nothing was changed"),
        ("blocks acme/other#7", "is in another repository"),
        ("blocks #12", "cannot wait for itself"),
    ],
)
def test_what_cannot_be_done_is_said(argument: str, words: str) -> None:
    assert words in told("link", card(), argument)


def test_a_dependency_that_could_not_be_made_is_said() -> None:
    gone = EntryGivenUp(CARD, EntryKey("link:command77:blocks:acme/shop#7"), "link_card", "a circle")
    assert "Someone wanted a dependency with acme/shop#7" in only(asks(card(), gone), Say).text
