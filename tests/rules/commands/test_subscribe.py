"""`/cardinal subscribe [run]` and `unsubscribe`: who reads the repository follows a card, or its live run."""

import pytest

from ledger.events.subscription import CardSubscribed, CardUnsubscribed
from ledger.ids import RunId
from rules.chatops.parser import Parsed, Permitted, permit
from rules.intents.outbound import Say
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, POLICY, R1, asks, card, ended, given, run


@pytest.mark.parametrize(("argument", "run_id"), [("", RunId("")), ("run", R1), ("RUN ", R1)])
def test_somebody_follows_the_card_or_its_live_run(argument: str, run_id: RunId) -> None:
    wanted = handled("subscribe", card(run=run()), argument, by="Bob")
    assert wanted == (CardSubscribed(CARD, "Bob", run_id),)
    assert handled("unsubscribe", card(run=run()), by="Bob") == (CardUnsubscribed(CARD, "Bob", ""),)


@pytest.mark.parametrize(("argument", "subject"), [("", "the card"), ("run", "r1")])
def test_without_an_address_it_says_so_and_what_to_do_and_the_card_is_followed_all_the_same(
    argument: str, subject: str
) -> None:
    followed, said = handled("subscribe", card(run=run()), argument, by="B`ob", no_address=True)
    assert isinstance(followed, CardSubscribed)
    assert isinstance(said, Say)
    assert said.text.startswith(f"`B´ob` follows {subject}, but no notice can be sent yet")
    assert "Ask Cardinal's operator to run `cardinal notify add B´ob`" in said.text


def test_with_addresses_that_nobody_can_read_it_says_that_and_not_that_there_is_none() -> None:
    followed, said = handled("subscribe", card(run=run()), "", by="bob", addresses_unread=True)
    assert isinstance(followed, CardSubscribed)
    assert isinstance(said, Say)
    assert "cannot read its file of addresses" in said.text
    assert "notify add" not in said.text


def test_the_operator_who_has_no_account_follows_nothing() -> None:
    (said,) = asks(card(), given("subscribe", place="cli", source="cli:subscribe", by="the operator"))
    assert isinstance(said, Say)
    assert "Only a GitHub account can follow a card" in said.text


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
