"""`/cardinal restore`: the description that people wrote comes back."""

from rules.intents.rule_results import RestoreBody
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, card


def test_a_description_that_a_model_wrote_out_is_taken_back() -> None:
    assert handled("restore", card(expanded=True)) == (RestoreBody(CARD, "command:77"),)


def test_what_people_wrote_is_left_alone() -> None:
    assert "nothing to restore" in told("restore", card())
