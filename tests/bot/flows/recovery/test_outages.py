"""GitHub away, slow or blind for a while: what people said and what Cardinal did is told all the same."""

import pytest

from bot.runspec.builder import AGAIN_S, HubRemote
from bot.sync import card
from forge.store.models import Repo
from ledger.events.board import CardArchived, CardConverted
from ledger.events.conversation import PersonSaid
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import leases
from runner.errors import RemoteAwayError
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of


def test_a_comment_that_comes_while_its_card_is_first_looked_at_is_not_lost(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Planning")
    cardinal.say(item, "Please do it in Python")
    with event_store.writing(cardinal.services.engine) as db:  # another worker is reading the card right now
        name = f"look:{item.node_id}"
        lease = leases.take(db, name, "other-1", ttl_s=30)
    assert lease is not None
    for _ in range(12):
        while cardinal.mail:
            cardinal.receive(cardinal.mail.popleft())
        cardinal.ingest()
        cardinal.clock.forward(2)
    assert cardinal.events(PersonSaid) == []
    with event_store.writing(cardinal.services.engine) as db:
        leases.release(db, lease)
    cardinal.catch_up()
    assert [event.text for event in cardinal.events(PersonSaid)] == ["Please do it in Python"]
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_answer_outlives_an_outage_of_github(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.ask(cardinal.run_of(item).run_id, "Well?")
    cardinal.catch_up()
    cardinal.forge.store.faults.load({"api": [{"path": "/permission$", "status": 503, "count": 12}]})
    cardinal.say(item, "Yes", who="bob")
    for _ in range(40):
        while cardinal.mail:
            cardinal.receive(cardinal.mail.popleft())
        cardinal.ingest()
        cardinal.clock.forward(10)
    assert [event.text for event in cardinal.events(PersonSaid)] == ["Yes"]
    assert cardinal.forge.store.faults.api[0].count == 0


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_pull_request_outlives_an_outage_of_github(cardinal: Cardinal) -> None:
    item = cardinal.newest
    assert cardinal.services.hub.bot_id
    lost = {"path": "/pulls$", "method": "POST", "status": 503, "count": 15}
    cardinal.forge.store.faults.load({"api": [lost]})
    cardinal.finish(cardinal.run_of(item).run_id, files={"a.txt": b"1\n"})
    for _ in range(100):
        cardinal.publish()
        cardinal.clock.forward(10)
    assert cardinal.card(item).pull_number is not None, cardinal.card(item).because


def out_of_sight(cardinal: Cardinal) -> Repo:
    """Return a repository that Cardinal may not see."""
    store = cardinal.forge.store
    elsewhere = store.users.add_organization("elsewhere", [cardinal.person("carol")])
    return store.repos.create(elsewhere, "shop", private=True)


@pytest.mark.after(scene=Cardinal.at_work)
def test_access_that_is_lost_for_a_moment_cancels_nothing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    card_id = CardId(item.node_id)
    repo, elsewhere = issue_of(item).repo, out_of_sight(cardinal)
    for _ in range(2):
        issue_of(item).repo = elsewhere
        for _ in range(3):
            card.sync_card(cardinal.services, card_id)
            cardinal.clock.forward(50)
        issue_of(item).repo = repo
        card.sync_card(cardinal.services, card_id)
        cardinal.clock.forward(50)
    assert cardinal.events(CardArchived) == []
    assert (cardinal.run_of(item).state, cardinal.run_of(item).stop_asked) == ("working", "")


@pytest.mark.after(scene=Cardinal.at_work)
def test_access_that_is_gone_for_minutes_gives_the_card_up(cardinal: Cardinal) -> None:
    item = cardinal.newest
    issue_of(item).repo = out_of_sight(cardinal)
    card.sync_card(cardinal.services, CardId(item.node_id))
    cardinal.clock.forward(card.HIDDEN_S + 1)
    card.sync_card(cardinal.services, CardId(item.node_id))
    assert [event.reason for event in cardinal.events(CardArchived)] == ["Redacted"]
    with event_store.reading(cardinal.services.engine) as db:
        assert f"hidden:{item.node_id}" not in leases.holders(db)


def test_an_issue_that_was_transferred_is_followed(cardinal: Cardinal) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    issue_of(item).repo, issue_of(item).number = cardinal.home_repo, 41
    card.sync_card(cardinal.services, CardId(item.node_id))
    (moved,) = cardinal.events(CardConverted)
    assert (moved.repository, moved.number) == ("acme/board", 41)
    card.sync_card(cardinal.services, CardId(item.node_id))
    assert len(cardinal.events(CardConverted)) == 1


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_token_that_github_does_not_give_now_is_worth_another_try(cardinal: Cardinal) -> None:
    services, run_id = cardinal.services, cardinal.run_of(cardinal.at_work()).run_id
    remote = HubRemote(services.hub, services.engine, run_id, workflows=True)  # a token that nobody has yet
    for status, headers, wait_s in ((503, {}, AGAIN_S), (429, {"retry-after": "7"}, 7)):
        fault = {"path": "/access_tokens$", "status": status, "headers": headers, "count": 1}
        cardinal.forge.store.faults.load({"api": [fault]})
        with pytest.raises(RemoteAwayError) as away:
            remote.git_environment()
        assert (away.value.retry_after_s, away.value.limited) == (wait_s, status == 429)
    assert cardinal.forge.store.faults.api[0].count == 0
