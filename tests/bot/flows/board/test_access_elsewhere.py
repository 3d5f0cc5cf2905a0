"""Cards whose work is placed in another repository, when that is lost, moved or regained."""

import pytest

from ledger.events.access import AccessLost
from ledger.events.placement import RepositoryResolved
from ledger.events.run import RunEnded, RunParked, RunRequeued
from ledger.states import CardState, Ending
from tests.bot.flows.board.test_access import installed, placed_at_work
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY

NAMED = POLICY + '  repositories: {home: named, labels: {"area:shop": acme/shop}}\n'


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_a_card_that_is_placed_elsewhere_stops_with_that_repository_and_goes_on_with_it(
    cardinal: Cardinal, how: str
) -> None:
    item = placed_at_work(cardinal)
    run_id, store, alice = cardinal.run_of(item).run_id, cardinal.forge.store, cardinal.person("alice")
    installation, both = installed(cardinal), [cardinal.home_repo, cardinal.repo]
    cardinal.repo.private = True

    def take(away: bool) -> None:
        if how == "archived":
            store.access.archive(cardinal.repo, away, actor=alice)
        else:
            store.access.choose(installation, both[: 1 if away else 2], actor=alice)
        cardinal.catch_up()

    take(True)
    card, said = cardinal.card(item), {"archived": "is archived", "removed": "the App cannot see acme/shop"}
    assert card.state is CardState.BLOCKED
    assert said[how] in card.because
    assert cardinal.run_of(item).stop_asked == "pause"
    cardinal.write(run_id, RunParked(run_id, "pause"))
    store.issues.edit(issue_of(item), body="Please, soon.", actor=alice)  # whoever looks now keeps the place
    cardinal.catch_up()
    assert said[how] in cardinal.card(item).because
    take(False)
    assert [event.why for event in cardinal.events(RunRequeued)] == ["resumed"]
    assert run_id in cardinal.ready()
    assert cardinal.card(item).state is CardState.QUEUED


def test_a_repository_that_cards_are_placed_in_is_followed_when_it_is_renamed(cardinal: Cardinal) -> None:
    item = placed_at_work(cardinal)
    store, alice = cardinal.forge.store, cardinal.person("alice")
    store.access.rename(cardinal.repo, "store", actor=alice)
    cardinal.catch_up()
    assert cardinal.run_of(item).repository == "acme/store"
    before = len(cardinal.events(RepositoryResolved))
    store.issues.edit(issue_of(item), body="Please, soon.", actor=alice)
    cardinal.catch_up()  # the label still means it by its old name
    assert len(cardinal.events(RepositoryResolved)) == before
    assert cardinal.card(item).state is CardState.WORKING
    assert cardinal.events(AccessLost) == []


def test_a_placed_repository_that_was_given_away_stops_its_cards_until_it_is_back(cardinal: Cardinal) -> None:
    item, queued = placed_at_work(cardinal), placed_at_work(cardinal)
    run_id, store, alice = cardinal.run_of(item).run_id, cardinal.forge.store, cardinal.person("alice")
    beta, acme = store.users.add_organization("beta", [alice]), cardinal.repo.owner
    repo = cardinal.repo
    store.access.transfer(repo, beta, actor=alice)
    cardinal.catch_up()
    for one in (item, queued):
        assert cardinal.card(one).state is CardState.BLOCKED
        assert "beta/shop is outside acme" in cardinal.card(one).because
    assert cardinal.run_of(item).stop_asked == "pause"
    cardinal.write(run_id, RunParked(run_id, "pause"))
    second = cardinal.run_of(queued).run_id
    cardinal.write(second, RunEnded(second, Ending.CANCELLED, "cancelled", "enough (alice)", "working"))
    cardinal.say(queued, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.comment(queued, "No run was started: which repository? beta/shop is outside acme")
    store.access.transfer(repo, acme, actor=alice)
    cardinal.clock.forward(700)
    cardinal.sweep()
    assert run_id in cardinal.ready()


@pytest.mark.parametrize("told", [True, False])
def test_a_card_that_asks_for_a_repository_goes_on_when_the_app_is_given_it(
    cardinal: Cardinal, told: bool
) -> None:
    installation, alice, store = installed(cardinal), cardinal.person("alice"), cardinal.forge.store
    cardinal.repo.private = True
    store.access.choose(installation, [cardinal.home_repo], actor=alice)
    cardinal.set_policy(NAMED)
    issue = store.issues.create(cardinal.home_repo, "Add them up", "Please.", actor=alice)
    store.issues.set_labels(issue, ["area:shop"], actor=alice)
    item = store.projects.add(cardinal.project, issue, actor=alice)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert "where Cardinal is not installed" in cardinal.card(item).because
    store.access.choose(installation, [cardinal.home_repo, cardinal.repo], actor=alice)
    if not told:  # as with --poll
        cardinal.mail.clear()
        cardinal.clock.forward(700)
        cardinal.sweep()
    cardinal.catch_up()
    assert cardinal.run_of(item).repository == "acme/shop"
    assert cardinal.card(item).state is CardState.QUEUED
