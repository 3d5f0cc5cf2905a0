"""What becomes of runs and pull requests when cards are converted, given up, deleted or reordered."""

import pytest

from ledger.events.board import (
    CardArchived,
    CardConverted,
    CardRestored,
)
from ledger.events.publication import EntryGivenUp
from ledger.events.run import RunEnded, RunStopAsked
from ledger.log import event_store
from ledger.queries import run_queue
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column


def test_a_draft_dragged_to_in_progress_becomes_an_issue_and_starts(cardinal: Cardinal) -> None:
    item = cardinal.draft("Gift cards", "In Progress")
    cardinal.catch_up()
    assert len(cardinal.events(CardConverted)) == 1
    assert cardinal.run_of(item).branch.endswith("-gift-cards")
    assert issue_of(item).title == "Gift cards"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_abandoned_card_stops_its_run_closes_its_pull_request_and_deletes_the_branch(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    cardinal.finish(cardinal.run_of(item).run_id, files={"new.txt": b"1\n"})
    cardinal.catch_up()
    pull = cardinal.pull_of(item)
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    cardinal.begin(cardinal.run_of(item).run_id)
    cardinal.forge.store.projects.set_archived(item, True, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert [event.reason for event in cardinal.events(CardArchived)] == ["archived"]
    assert [event.how for event in cardinal.events(RunStopAsked)] == ["cancel"]
    assert (pull.issue.state, pull.merged_at) == ("closed", None)
    assert not any("cardinal/" in ref for ref in cardinal.forge.store.repos.git(cardinal.repo).refs())
    assert cardinal.events(EntryGivenUp) == []
    cardinal.forge.store.projects.set_archived(item, False, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert len(cardinal.events(CardRestored)) == 1
    assert cardinal.card(item).state != "archived"


def test_an_archiving_in_words_is_its_askers_also_where_its_echo_comes_first(cardinal: Cardinal) -> None:
    item = cardinal.new("Old", column="Tasks")
    cardinal.catch_up()
    for command, archived in (("archive", True), ("unarchive", False)):
        cardinal.say(item, f"/cardinal {command}", who="bob")
        cardinal.catch_up(publish=False)  # the call is made, and its answer not yet seen
        bot = cardinal.forge.store.users.bot("cardinal[bot]")
        cardinal.forge.store.projects.set_archived(item, archived, actor=bot)
        cardinal.catch_up(publish=False)
        cardinal.catch_up()
    (away,), (back,) = cardinal.events(CardArchived), cardinal.events(CardRestored)
    assert (away.by, away.role, back.by, back.role) == ("bob", "write", "bob", "write")
    assert cardinal.card(item).state == "draft"


def test_a_deleted_card_ends_its_queued_run_at_once(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.forge.store.projects.delete_item(item, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert [event.reason for event in cardinal.events(CardArchived)] == ["deleted"]
    assert [event.ending for event in cardinal.events(RunEnded)] == ["cancelled"]
    assert cardinal.ready() == ()
    cardinal.assert_nothing_is_stuck()


def test_who_stands_higher_in_the_column_starts_first(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(concurrency="1"))
    cardinal.catch_up()
    first, second, third = (cardinal.new(f"Card {n}", column="In Progress") for n in "123")
    cardinal.catch_up()
    cardinal.drag(third, "In Progress", before=first)
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(third).run_id,)
    with event_store.reading(cardinal.services.engine) as db:
        places = [run_queue.queue_place(db, cardinal.run_of(item).run_id) for item in (third, first, second)]
    assert places == [1, 2, 3]


def test_an_issue_closed_as_not_planned_gives_the_card_up(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.forge.store.issues.set_state(
        issue_of(item), "closed", "not_planned", actor=cardinal.person("alice")
    )
    cardinal.catch_up()
    assert cardinal.run_of(item).ending == "cancelled"
    assert "not planned" in cardinal.card(item).because
