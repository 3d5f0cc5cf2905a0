"""`/cardinal subscribe [run]` and `unsubscribe`: who reads the repository follows a card, or its live run."""

import pytest

from ledger.events.subscription import CardSubscribed, CardUnsubscribed
from ledger.ids import RunId
from rules.chatops.parser import Parsed, Permitted, permit
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, POLICY, R1, card, ended, run


@pytest.mark.parametrize(("argument", "run_id"), [("", RunId("")), ("run", R1), ("RUN ", R1)])
def test_somebody_follows_the_card_or_its_live_run(argument: str, run_id: RunId) -> None:
    wanted = handled("subscribe", card(run=run()), argument, by="Bob")
    assert wanted == (CardSubscribed(CARD, "Bob", run_id),)
    assert handled("unsubscribe", card(run=run()), by="Bob") == (CardUnsubscribed(CARD, "Bob", ""),)


@pytest.mark.parametrize("past", [None, ended()])
def test_without_a_live_run_it_says_what_there_is_to_follow(past: object) -> None:
    assert "`/cardinal subscribe` follows the card" in told("subscribe", card(run=past), "run")
    assert "Say `/cardinal subscribe`, or" in told("subscribe", card(run=past), "everything")


@pytest.mark.parametrize("command", ["subscribe", "unsubscribe"])
def test_it_takes_who_may_read(command: str) -> None:
    may = [
        permit(POLICY, Parsed(command, ""), role=role, login="eve") for role in ("read", "none", "unheard of")
    ]
    assert [isinstance(it, Permitted) for it in may] == [True, False, False]
