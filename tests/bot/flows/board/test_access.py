"""Access that is lost: one sentence with the next step, nothing given up, and it goes on afterwards."""

import os
import subprocess
from dataclasses import replace
from functools import partial

import pytest

from bot.admin.doctor import DoctorContext, mend, repositories
from bot.runspec.builder import HubRemote
from bot.sync import access
from bot.system.setting_types import BoardAddress
from forge.store.board import Item
from forge.store.models import UserType
from forge.store.registration import Installation
from ledger.events.access import AccessLost, AccessRegained, RepositoryMoved
from ledger.events.board import CardArchived
from ledger.events.publication import EntryGivenUp
from ledger.events.run import RunParked, RunRequeued
from ledger.states import CardState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY

NAMED = POLICY + '  repositories: {home: named, labels: {"area:shop": acme/shop}}\n'


def installed(cardinal: Cardinal) -> Installation:
    (installation,) = cardinal.forge.store.apps.installations()
    return installation


def placed_at_work(cardinal: Cardinal) -> Item:
    """Return a card of the board's home that a label placed in the services, and whose run works there."""
    cardinal.set_policy(NAMED)
    store, carol = cardinal.forge.store, cardinal.person("carol")
    issue = store.issues.create(cardinal.home_repo, "Add them up", "Please.", actor=carol)
    store.issues.set_labels(issue, ["area:shop"], actor=carol)
    item = store.projects.add(cardinal.project, issue, actor=carol)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    cardinal.begin(cardinal.run_of(item).run_id)
    cardinal.catch_up()
    return item


def ticker(cardinal: Cardinal) -> str:
    """Return what the board's status update says."""
    return str(cardinal.project.status_updates[0].body)


def test_an_archived_repository_blocks_its_cards_and_says_so_once(cardinal: Cardinal) -> None:
    items = [cardinal.new(column="Planning"), cardinal.at_work()]
    before = [len(cardinal.told(item)) for item in items]
    access, alice = cardinal.forge.store.access, cardinal.person("alice")
    access.archive(cardinal.repo, True, actor=alice)
    cardinal.catch_up()
    for item in items:
        assert cardinal.card(item).state is CardState.BLOCKED
        assert "acme/shop is archived" in cardinal.card(item).because
        assert "unarchive it" in cardinal.face(item)["Progress"]
    cardinal.clock.forward(20)
    cardinal.catch_up()
    assert "a repository of the board is archived" in ticker(cardinal)
    assert "acme/shop" not in ticker(cardinal)  # whoever reads the board need not read the shop
    cardinal.set_policy(f"{POLICY}  private_issues: named\n")
    cardinal.catch_up()
    cardinal.clock.forward(61)
    cardinal.sweep()
    cardinal.catch_up()
    assert "acme/shop is archived" in ticker(cardinal)
    assert [len(cardinal.told(item)) for item in items] == before  # one message, on the board
    assert cardinal.run_of(items[1]).stop_asked == "pause"
    waiting = cardinal.new(column="In Progress")
    cardinal.catch_up()
    assert cardinal.ready() == ()
    assert "is archived" in cardinal.card(waiting).because
    access.archive(cardinal.repo, False, actor=alice)
    cardinal.catch_up()
    assert cardinal.card(items[0]).state is CardState.DISCUSSING
    assert cardinal.card(waiting).state is CardState.QUEUED
    assert cardinal.run_of(waiting).run_id in cardinal.ready()
    cardinal.clock.forward(20)
    cardinal.catch_up()
    assert "archived" not in ticker(cardinal)
    assert cardinal.events(EntryGivenUp) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_what_was_to_be_said_in_an_archived_repository_is_said_afterwards(cardinal: Cardinal) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    cardinal.forge.store.access.archive(cardinal.repo, True, actor=cardinal.person("alice"))
    cardinal.catch_up()
    cardinal.ask(run_id, "Which currency?")
    cardinal.catch_up()
    cardinal.clock.forward(3600)
    cardinal.catch_up()
    assert not any("Which currency?" in one for one in cardinal.told(item))
    cardinal.forge.store.access.archive(cardinal.repo, False, actor=cardinal.person("alice"))
    cardinal.catch_up()
    cardinal.clock.forward(301)
    cardinal.catch_up()
    assert any("Which currency?" in one for one in cardinal.told(item))
    assert cardinal.events(EntryGivenUp) == []


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("how", ["suspended", "uninstalled"])
def test_an_installation_that_is_gone_stops_everything_with_one_sentence(
    cardinal: Cardinal, how: str
) -> None:
    item, idle = cardinal.at_work(), cardinal.new(column="Tasks")
    cardinal.catch_up()
    store, alice, installation = cardinal.forge.store, cardinal.person("alice"), installed(cardinal)
    if how == "suspended":
        store.access.suspend(installation, actor=alice)
    else:
        store.apps.uninstall(installation, actor=alice)
    cardinal.catch_up(publish=False)
    assert [(event.target, event.reason) for event in cardinal.events(AccessLost)] == [("acme", how)]
    assert cardinal.card(item).state is CardState.BLOCKED
    assert "acme" in cardinal.card(item).because
    assert cardinal.card(idle).state is CardState.DRAFT
    assert cardinal.run_of(item).stop_asked == "pause"
    cardinal.forge.gateway.calls.clear()
    for _ in range(30):
        cardinal.clock.forward(60)
        cardinal.sweep()
        assert cardinal.publish() == 0
    # One look a minute, and one for failed deliveries; whom no organisation is called may be a person.
    assert len(cardinal.forge.gateway.calls) == {"suspended": 60, "uninstalled": 90}[how]
    assert len(cardinal.events(AccessLost)) == 1
    assert cardinal.failures == []
    if how == "suspended":
        store.access.unsuspend(installation, actor=alice)
    else:
        store.apps.install(installation.app, installation.account, actor=alice)
    cardinal.catch_up()
    assert len(cardinal.events(AccessRegained)) == 1
    assert cardinal.card(item).state is not CardState.BLOCKED
    cardinal.catch_up()
    assert cardinal.events(EntryGivenUp) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_run_that_was_paused_for_it_goes_on_by_itself(cardinal: Cardinal) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    installation, alice = installed(cardinal), cardinal.person("alice")
    cardinal.forge.store.access.suspend(installation, actor=alice)
    cardinal.catch_up(publish=False)
    cardinal.write(run_id, RunParked(run_id, "pause"))
    cardinal.forge.store.access.unsuspend(installation, actor=alice)
    cardinal.catch_up()
    assert [event.why for event in cardinal.events(RunRequeued)] == ["resumed"]
    assert run_id in cardinal.ready()


def test_a_missed_delivery_about_access_is_found_by_the_sweep(cardinal: Cardinal) -> None:
    installation, alice = installed(cardinal), cardinal.person("alice")
    cardinal.forge.store.access.suspend(installation, actor=alice)
    cardinal.mail.clear()
    cardinal.sweep()
    assert len(cardinal.events(AccessLost)) == 1
    cardinal.forge.store.access.unsuspend(installation, actor=alice)
    cardinal.forge.store.access.archive(cardinal.repo, True, actor=alice)
    cardinal.mail.clear()
    cardinal.clock.forward(700)
    cardinal.sweep()
    assert [event.reason for event in cardinal.events(AccessLost)] == ["suspended", "archived"]


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_person_whose_board_is_served_has_an_installation_like_any_other(cardinal: Cardinal) -> None:
    cardinal.at_work()
    installation = installed(cardinal)
    installation.account.type = UserType.USER
    assert access.check_access(cardinal.services, thoroughly=False)
    assert cardinal.events(AccessLost) == []


def test_the_settings_may_write_the_owners_name_as_they_like(cardinal: Cardinal) -> None:
    cardinal.new(column="Tasks")
    cardinal.catch_up()
    config = replace(cardinal.services.config, board=BoardAddress("ACME", 1))
    services = replace(cardinal.services, config=config)
    cardinal.forge.store.access.suspend(installed(cardinal), actor=cardinal.person("alice"))
    assert not access.check_access(services, thoroughly=False)
    assert [event.target.casefold() for event in cardinal.events(AccessLost)] == ["acme"]


def test_new_permissions_that_wait_are_named_and_their_acts_wait(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    installation, alice = installed(cardinal), cardinal.person("alice")
    installation.permissions = {**installation.permissions, "checks": "read"}
    cardinal.sweep()
    (lost,) = cardinal.events(AccessLost)
    assert (lost.reason, lost.detail) == ("permissions", "checks: write")
    cardinal.set_policy("version: 1\nboard: [")
    for _ in range(10):
        cardinal.catch_up()
        cardinal.clock.forward(60)
    assert cardinal.events(EntryGivenUp) == []
    assert cardinal.card(item).state is CardState.DRAFT  # the rest goes on
    assert "has not accepted the permissions of the App (checks: write)" in ticker(cardinal)
    cardinal.forge.store.access.accept(installation, actor=alice)
    cardinal.catch_up()
    cardinal.clock.forward(301)
    cardinal.catch_up()
    commit = cardinal.forge.store.repos.commit_of(cardinal.home_repo)
    assert [check_run.name for check_run in cardinal.forge.store.checks.on_commit(cardinal.home_repo, commit)]


@pytest.mark.after(scene=Cardinal.at_work)
def test_permissions_without_which_nothing_can_be_done_block_the_cards(cardinal: Cardinal) -> None:
    item = cardinal.newest
    installation = installed(cardinal)
    installation.permissions = {**installation.permissions, "contents": "read"}
    cardinal.sweep()
    cardinal.catch_up()
    assert cardinal.card(item).state is CardState.BLOCKED
    assert "has not accepted the permissions of the App (contents: write)" in cardinal.card(item).because
    assert cardinal.events(AccessLost)[-1].reason == "core_permissions"


def test_a_repository_taken_out_of_the_installation_keeps_its_cards(cardinal: Cardinal) -> None:
    cardinal.repo.private = True
    item = cardinal.at_work()
    installation, alice = installed(cardinal), cardinal.person("alice")
    cardinal.forge.store.access.choose(installation, [cardinal.home_repo], actor=alice)
    for _ in range(6):
        cardinal.catch_up()
        cardinal.clock.forward(100)
    assert cardinal.card(item).state is CardState.BLOCKED
    assert "the App cannot see acme/shop" in cardinal.card(item).because
    assert cardinal.events(CardArchived) == []
    cardinal.forge.store.access.choose(installation, [cardinal.home_repo, cardinal.repo], actor=alice)
    cardinal.catch_up()
    assert cardinal.card(item).state is not CardState.BLOCKED


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_repository_that_is_turned_private_within_reach_changes_nothing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.forge.store.access.set_private(cardinal.repo, True, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert cardinal.events(AccessLost) == []
    assert cardinal.card(item).state is CardState.WORKING


def test_a_renamed_repository_is_followed(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.forge.store.access.rename(cardinal.repo, "store", actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert [(event.before, event.after) for event in cardinal.events(RepositoryMoved)] == [
        ("acme/shop", "acme/store")
    ]
    assert cardinal.card(item).repository == "acme/store"
    assert cardinal.run_of(item).repository == "acme/store"
    assert cardinal.events(AccessLost) == []
    said = len(cardinal.told(item))
    cardinal.say(item, "/cardinal status")
    cardinal.catch_up()
    assert len(cardinal.told(item)) == said + 1


def test_a_repository_renamed_unnoticed_is_found_by_a_look(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    cardinal.forge.store.access.rename(cardinal.repo, "store", actor=cardinal.person("alice"))
    cardinal.mail.clear()
    cardinal.clock.forward(700)
    cardinal.sweep()
    cardinal.clock.forward(700)
    cardinal.sweep()
    cardinal.catch_up()
    assert cardinal.card(item).repository == "acme/store"
    assert cardinal.card(item).state is CardState.DRAFT


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("lost", ["the way back", "both"])
def test_a_repository_that_was_given_away_and_is_back_is_healed_by_a_sweep(
    cardinal: Cardinal, lost: str
) -> None:
    item = cardinal.newest
    run_id, store, alice = cardinal.run_of(item).run_id, cardinal.forge.store, cardinal.person("alice")
    repo, beta = cardinal.repo, store.users.add_organization("beta", [alice])
    acme = repo.owner
    store.access.transfer(repo, beta, actor=alice)
    if lost == "both":
        cardinal.mail.clear()
        cardinal.clock.forward(700)
        cardinal.sweep()
    cardinal.catch_up()
    assert cardinal.card(item).state is CardState.BLOCKED
    assert cardinal.run(run_id).repository == "beta/shop"
    cardinal.write(run_id, RunParked(run_id, "pause"))
    store.access.transfer(repo, acme, actor=alice)
    cardinal.mail.clear()
    cardinal.sweep()
    cardinal.catch_up()
    assert (cardinal.card(item).repository, cardinal.run(run_id).repository) == ("acme/shop", "acme/shop")
    assert run_id in cardinal.ready(), (cardinal.card(item).because, cardinal.run(run_id))


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("how", ["renamed", "given away and back"])
def test_a_repository_that_has_another_name_is_seen_by_the_doctor_and_healed(
    cardinal: Cardinal, how: str
) -> None:
    item = cardinal.newest
    run_id, store, alice = cardinal.run_of(item).run_id, cardinal.forge.store, cardinal.person("alice")
    services, repo, acme = cardinal.services, cardinal.repo, cardinal.repo.owner
    if how == "renamed":
        store.access.rename(repo, "store", actor=alice)
    else:
        store.access.transfer(repo, store.users.add_organization("beta", [alice]), actor=alice)
        cardinal.catch_up()
        cardinal.write(run_id, RunParked(run_id, "pause"))
        store.access.transfer(repo, acme, actor=alice)
    cardinal.mail.clear()
    context = DoctorContext(services.config, services.engine, services.hub, cardinal.clock())
    before, after = cardinal.run(run_id).repository, repo.full_name
    findings = tuple(repositories.names(context))
    assert [result.message.partition(",")[0] for result in findings] == [f"{before} is now {after}"]
    assert list(mend(context, findings)) == [f"renamed: {before} to {after}"]
    assert (cardinal.card(item).repository, cardinal.run(run_id).repository) == (after, after)
    assert how == "renamed" or run_id in cardinal.ready(), cardinal.card(item).because
    assert list(repositories.names(context)) == []


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("told", [True, False])
def test_a_run_whose_repository_is_renamed_pushes_to_where_that_is_now(
    cardinal: Cardinal, told: bool
) -> None:
    item = cardinal.newest
    run, repo = cardinal.run_of(item), cardinal.repo
    remote = HubRemote(cardinal.services.hub, cardinal.services.engine, run.run_id)
    cardinal.forge.store.access.rename(repo, "store", actor=cardinal.person("alice"))
    if not told:
        cardinal.mail.clear()
    cardinal.catch_up()
    assert remote.repository == ("acme/store" if told else "acme/shop")
    environment = {**os.environ, **remote.git_environment()}
    clone = cardinal.services.config.home / "clone"
    git = partial(subprocess.run, env=environment, check=True, capture_output=True)
    git(["git", "clone", "-q", remote.url, str(clone)])
    git(["git", "-C", str(clone), "push", "-q", "origin", f"HEAD:refs/heads/{run.branch}"])
    assert f"refs/heads/{run.branch}" in cardinal.forge.store.repos.git(repo).refs()
    comment = cardinal.say(item, "/cardinal status")
    cardinal.catch_up()
    assert cardinal.reactions(comment)
    cardinal.assert_no_leftovers()


def test_a_repository_given_to_somebody_else_blocks_its_cards(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Planning")
    cardinal.catch_up()
    store = cardinal.forge.store
    beta = store.users.add_organization("beta", [cardinal.person("carol")])
    cardinal.repo.private = True
    store.access.transfer(cardinal.repo, beta, actor=cardinal.person("alice"))
    for _ in range(6):
        cardinal.catch_up()
        cardinal.clock.forward(100)
    assert cardinal.card(item).repository == "beta/shop"
    assert cardinal.card(item).state is CardState.BLOCKED
    assert "outside acme" in cardinal.card(item).because
    assert issue_of(item).repo.full_name == "beta/shop"
    assert cardinal.events(CardArchived) == []
