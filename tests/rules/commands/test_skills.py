"""`/cardinal skills <names>`: what the card's next runs get beside the policy's."""

import pytest

from ledger.events.instruction import SkillsPinned
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, card, run


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("safe-migration", ("safe-migration",)),
        ("Cache, safe-migration cache", ("cache", "safe-migration")),
        ("none", ()),
    ],
)
def test_names_are_remembered_for_the_card(text: str, names: tuple[str, ...]) -> None:
    assert handled("skills", card(), text) == (SkillsPinned(CARD, names, "bob"),)
    assert handled("skills", card(run=run()), text) == (SkillsPinned(CARD, names, "bob"),)


@pytest.mark.parametrize(
    "text", ["../x", "a/b", "cache <script>", " ".join(f"s{number}" for number in range(13))]
)
def test_what_can_be_no_skill_chooses_nothing(text: str) -> None:
    assert "Nothing was chosen" in told("skills", card(), text)


def test_without_a_name_it_says_how() -> None:
    assert "`/cardinal skills safe-migration`" in told("skills", card())
