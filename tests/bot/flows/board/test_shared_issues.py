"""An issue on two boards is two cards with one branch and one pull request: what is about it reaches both."""

import json
from typing import Any

import pytest

from forge.store.board import Item
from ledger.events.conversation import CommandGiven, PersonSaid
from ledger.events.pull import ChecksSettled, GroupFormed, PullChanged, ReviewDismissed, ReviewSubmitted
from ledger.states import CardState, RunState
from tests.bot.flows.board.test_many_boards import elsewhere, second
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.pulls.test_ci import GREEN, actions, check, push
from tests.bot.ingest.samples import sample

__all__ = ["actions"]  # GitHub Actions are there for each of these tests


@pytest.fixture
def both(cardinal: Cardinal) -> tuple[Item, Item]:
    """Return one issue's cards on two boards, in execution."""
    mine = cardinal.new()
    project, carol = second(cardinal), cardinal.person("carol")
    other = cardinal.forge.store.projects.add(project, issue_of(mine), actor=carol)
    for item in (mine, other):
        cardinal.catch_up()
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    return mine, other


@pytest.fixture
def delivered(cardinal: Cardinal, both: tuple[Item, Item]) -> tuple[Item, Item]:
    """Return both cards after each has delivered: by one pull request."""
    for item in both:
        push(cardinal, item, f"Of = '{item.node_id}'\n")
    pulls = [(cardinal.card(item).pull_repository, cardinal.card(item).pull_number) for item in both]
    assert pulls[0] == pulls[1] != (None, None)
    return both


def heard(cardinal: Cardinal, kind: Any, both: tuple[Item, Item]) -> list[int]:
    """Return how many events of that kind there are of each card."""
    events = [event.card_id for event in cardinal.events(kind)]
    return [events.count(item.node_id) for item in both]


def test_what_is_said_and_done_about_a_shared_pull_request_reaches_both_cards(
    cardinal: Cardinal, delivered: tuple[Item, Item]
) -> None:
    store, bob, alice = cardinal.forge.store, cardinal.person("bob"), cardinal.person("alice")
    pull = cardinal.pull_of(delivered[0])
    store.issues.comment(pull.issue, "Is it tested?", actor=bob)
    review = store.reviews.submit(pull, "APPROVE", "Good.", [], actor=bob)
    cardinal.catch_up()
    store.reviews.dismiss(review, "Not yet.", actor=alice)
    check(cardinal, pull.head_sha, "tests", **GREEN)
    cardinal.catch_up()
    for kind in (PersonSaid, ReviewSubmitted, ReviewDismissed, ChecksSettled):
        assert heard(cardinal, kind, delivered) == [1, 1], kind
    branch = f"refs/heads/gh-readonly-queue/main/pr-{pull.number}-{pull.head_sha}"
    group = sample("merge_group", merge_group__head_ref=branch)
    cardinal.post("merge_group", json.dumps(group).encode(), "group-1", "checks_requested")
    store.issues.set_state(pull.issue, "closed", actor=alice)
    cardinal.catch_up()
    assert heard(cardinal, GroupFormed, delivered) == [1, 1]
    assert [cardinal.card(item).pull_state for item in delivered] == ["closed", "closed"]


def test_a_push_of_one_card_is_known_to_the_other(cardinal: Cardinal, both: tuple[Item, Item]) -> None:
    first, last = both
    push(cardinal, first, "One = 1\n")
    push(cardinal, last, "One = 2\n")
    assert cardinal.card(first).pull_head == cardinal.card(last).pull_head == cardinal.pull_of(first).head_sha
    head = cardinal.card(first).pull_head
    moved = [event.card_id for event in cardinal.events(PullChanged) if event.head == head]
    assert moved == [first.node_id], "the other card's own run has recorded it"


def test_a_box_belongs_to_the_card_whose_comment_it_stands_in(
    cardinal: Cardinal, both: tuple[Item, Item]
) -> None:
    for item in both:
        cardinal.begin(cardinal.run_of(item).run_id)
    cardinal.catch_up()
    mine, other = both
    comment = cardinal.comment(mine, f"run:{cardinal.run_of(mine).run_id}")
    cardinal.tick(comment, "cancel")
    cardinal.catch_up()
    assert heard(cardinal, CommandGiven, both) == [1, 0]
    assert cardinal.run_of(other).state is RunState.WORKING


def test_an_issue_on_boards_of_two_owners_speaks_to_both(cardinal: Cardinal) -> None:
    mine = cardinal.new()
    project, _ = elsewhere(cardinal)
    theirs = cardinal.forge.store.projects.add(project, issue_of(mine), actor=cardinal.person("carol"))
    cardinal.catch_up()
    cardinal.say(mine, "Anything new?")
    cardinal.catch_up()
    assert heard(cardinal, PersonSaid, (mine, theirs)) == [1, 1]
    assert cardinal.card(theirs).state is not CardState.ARCHIVED
    assert not cardinal.failures
