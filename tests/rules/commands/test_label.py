"""`/cardinal label`: labels of the issue, by name."""

import pytest

from rules.intents.rule_results import AddLabels
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, card


@pytest.mark.parametrize(
    ("argument", "labels"),
    [
        ("bug", ("bug",)),
        ("bug, good first issue,area:api ,bug", ("bug", "good first issue", "area:api")),
        ("x" * 50, ("x" * 50,)),
        (",".join(f"l{n}" for n in range(20)), tuple(f"l{n}" for n in range(20))),
    ],
)
def test_it_adds_each_once(argument: str, labels: tuple[str, ...]) -> None:
    assert handled("label", card(), argument) == (AddLabels(CARD, labels, "command:77"),)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "Say which: `/cardinal label bug"),
        (" , ,", "Say which"),
        ("x" * 51, "is not a label's name"),
        ("bug,a\x1b[31mb", "is not a label's name"),
        ("bug,a\u202eb", "is not a label's name"),
        (",".join(f"l{n}" for n in range(21)), "more than 20"),
    ],
)
def test_what_cannot_be_added_is_said(argument: str, words: str) -> None:
    assert words in told("label", card(), argument)
