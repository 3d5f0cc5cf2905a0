"""An issue on two boards is two cards with one branch and one pull request: what is about it reaches both."""

import json
from typing import Any

import pytest

from forge.store.board import Item
from forge.store.models import CheckRun
from forge.store.reviews import LineComment
from ledger.events.conversation import CommandGiven, PersonSaid
from ledger.events.pull import ChecksSettled, GroupFormed, ReviewDismissed, ReviewSubmitted
from ledger.events.run import QuestionAnswered, RunClaimed, RunEnded, ThreadAnswered
from ledger.ids import CardId
from ledger.log import event_store
from ledger.states import CardState, Ending, Gate, RunState
from ledger.views import checks, threads
from tests.bot.flows.board.test_many_boards import elsewhere, second
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.pulls.test_ci import GREEN, actions, check, push
from tests.bot.ingest.samples import sample

__all__ = ["actions"]  # GitHub Actions are there for each of these tests


def put_on_two_boards(cardinal: Cardinal) -> None:
    """Let one issue have cards on two boards, in execution."""
    own_item = cardinal.new()
    other = cardinal.forge.store.projects.add(
        second(cardinal), issue_of(own_item), actor=cardinal.person("carol")
    )
    for item in (own_item, other):
        cardinal.catch_up()
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()


pytestmark = pytest.mark.after(scene=put_on_two_boards)


@pytest.fixture
def both(cardinal: Cardinal) -> tuple[Item, Item]:
    """Return the issue's cards on both boards."""
    _, project = cardinal.forge.store.projects.all()
    return cardinal.newest, project.items[-1]


@pytest.fixture
def delivered(cardinal: Cardinal, both: tuple[Item, Item]) -> tuple[Item, Item]:
    """Return both cards after the first one's run has delivered, by one pull request."""
    push(cardinal, both[0], "Of = 1\n")
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


def pull_checks(cardinal: Cardinal, sha: str) -> list[CheckRun]:
    """Return the gate's check runs of the commit."""
    return [
        it for it in cardinal.forge.store.checks.on_commit(cardinal.repo, sha) if it.name == "cardinal/gate"
    ]


def waits(cardinal: Cardinal, item: Item, board: str = "Shop board (acme/1)") -> bool:
    """Return whether the card's run waits, and says on its face for which board's."""
    cardinal.ready()
    cardinal.catch_up()
    said = f"waiting for the run on board {board}"
    told = said in cardinal.card(item).because and said in cardinal.face(item)["Progress"]
    return told and cardinal.run_of(item).state is RunState.QUEUED


def test_a_box_belongs_to_the_card_whose_comment_it_stands_in(
    cardinal: Cardinal, both: tuple[Item, Item]
) -> None:
    item, other = both
    cardinal.begin(cardinal.run_of(item).run_id)
    cardinal.catch_up()
    cardinal.tick(cardinal.comment(item, f"run:{cardinal.run_of(item).run_id}"), "cancel")
    cardinal.catch_up()
    assert heard(cardinal, CommandGiven, both) == [1, 0]
    assert cardinal.run_of(item).stop_asked == "cancel"
    assert waits(cardinal, other)


def test_two_drags_at_once_start_one_run_and_the_other_card_says_for_which_it_waits(
    cardinal: Cardinal, both: tuple[Item, Item]
) -> None:
    item, other = both
    starts = cardinal.ready()
    assert [cardinal.claim(run_id) for run_id in starts] == [True, False]
    assert waits(cardinal, other)
    assert cardinal.run_of(item).branch == cardinal.run_of(other).branch


def test_whichever_board_has_room_first_starts_and_the_other_one_waits(
    cardinal: Cardinal, both: tuple[Item, Item]
) -> None:
    item, other = both
    cardinal.begin(cardinal.run_of(other).run_id)
    assert waits(cardinal, item, "Second (acme/")
    cardinal.ask(cardinal.run_of(other).run_id, "Which colour?")
    assert waits(cardinal, item, "Second (acme/"), "an answer may take days"


def test_work_that_is_done_on_one_board_is_not_paid_again_on_the_other(
    cardinal: Cardinal, delivered: tuple[Item, Item]
) -> None:
    other = delivered[1]
    assert [cardinal.card(item).state for item in delivered] == [CardState.WORK_COMPLETE] * 2
    assert "r1 on board Shop board (acme/1) is ready for review" in cardinal.card(other).because
    assert (cardinal.run_of(other).ending, cardinal.run_of(other).reason) == (Ending.CANCELLED, "superseded")
    assert [event.run_id for event in cardinal.events(RunClaimed)] == ["r1"]
    cardinal.drag(other, "Tasks")
    cardinal.catch_up()
    cardinal.drag(other, "In Progress")
    cardinal.catch_up()
    assert "nothing new to do" in cardinal.card(other).because
    assert cardinal.ready() == ()


def test_the_gate_has_seen_on_both_cards_what_one_run_delivered(
    cardinal: Cardinal, delivered: tuple[Item, Item]
) -> None:
    pull = cardinal.pull_of(delivered[0])
    said = [str(check_run.output) for check_run in pull_checks(cardinal, pull.head_sha)]
    assert said
    assert not any("Someone" in it or "Not checked" in it for it in said), said
    with event_store.reading(cardinal.services.engine) as db:
        cards_of = [CardId(item.node_id) for item in delivered]
        assert [checks.standing(db, card_id, pull.head_sha) for card_id in cards_of] == [Gate.PASSED] * 2


@pytest.mark.parametrize("ending", ["failed", "cancelled", "lost"])
def test_the_wait_ends_with_the_run_however_that_ends(
    cardinal: Cardinal, both: tuple[Item, Item], ending: str
) -> None:
    item, other = both
    first, second_run = cardinal.run_of(item).run_id, cardinal.run_of(other).run_id
    cardinal.begin(first)
    assert waits(cardinal, other)
    cardinal.write(first, RunEnded(first, Ending(ending), "agent_error", "it stopped", "working"))
    cardinal.catch_up()
    assert cardinal.ready() == (second_run,)
    cardinal.begin(second_run)
    cardinal.catch_up()
    assert cardinal.card(other).state is CardState.WORKING


def test_a_run_that_waits_for_people_on_a_card_nobody_sees_holds_up_no_other(
    cardinal: Cardinal, both: tuple[Item, Item]
) -> None:
    item, other = both
    first = cardinal.run_of(item).run_id
    cardinal.begin(first)
    cardinal.ask(first, "Which colour?")
    assert waits(cardinal, other)
    cardinal.forge.store.projects.set_archived(item, True, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(other).run_id,)


def added(cardinal: Cardinal, item: Item) -> Item:
    """Put the issue on a second board, there in execution, and return that card."""
    other = cardinal.forge.store.projects.add(
        second(cardinal), issue_of(item), actor=cardinal.person("carol")
    )
    cardinal.catch_up()
    cardinal.drag(other, "In Progress")
    cardinal.catch_up()
    return other


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_issue_that_comes_to_a_second_board_meanwhile_waits_for_the_same_branch(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    issues, alice = cardinal.forge.store.issues, cardinal.person("alice")
    issues.edit(issue_of(item), title="Another title", actor=alice)
    other = added(cardinal, item)
    assert waits(cardinal, other)
    assert cardinal.run_of(other).branch == cardinal.run_of(item).branch


@pytest.mark.after(scene=None)
def test_an_issue_that_comes_to_a_second_board_later_has_its_pull_request_there(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    push(cardinal, item, "One = 1\n")
    other = added(cardinal, item)
    assert cardinal.card(other).pull_number == cardinal.card(item).pull_number
    assert (cardinal.card(other).state, cardinal.card(other).run_id) == (CardState.WORK_COMPLETE, None)
    assert "nothing new to do" in cardinal.card(other).because


def test_one_answer_is_enough_for_an_issue_with_two_cards(
    cardinal: Cardinal, both: tuple[Item, Item]
) -> None:
    own_item, other = both
    cardinal.begin(cardinal.run_of(own_item).run_id)
    cardinal.ask(cardinal.run_of(own_item).run_id, "Which colour?")
    cardinal.catch_up()
    told = len(cardinal.told(own_item))
    cardinal.say(own_item, "/cardinal answer Red")
    cardinal.catch_up()
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["Red"]
    assert len(cardinal.told(own_item)) == told, "the card that waits has nothing to say"
    assert waits(cardinal, other)
    cardinal.say(own_item, "/cardinal cancel")
    cardinal.catch_up()
    assert [cardinal.run_of(item).ending for item in both] == [Ending.CANCELLED] * 2


def test_one_retry_of_an_issue_with_two_cards_is_one_piece_of_work(
    cardinal: Cardinal, delivered: tuple[Item, Item]
) -> None:
    cardinal.say(delivered[0], "/cardinal retry")
    cardinal.catch_up()
    push(cardinal, delivered[0], "Of = 2\n")
    assert [event.run_id for event in cardinal.events(RunClaimed)] == ["r1", "r3"]
    heads = {cardinal.card(item).pull_head for item in delivered}
    assert heads == {cardinal.pull_of(delivered[0]).head_sha}
    assert [cardinal.card(item).state for item in delivered] == [CardState.WORK_COMPLETE] * 2


def test_a_review_is_served_once_for_both_cards(cardinal: Cardinal, delivered: tuple[Item, Item]) -> None:
    store, bob = cardinal.forge.store, cardinal.person("bob")
    thread = LineComment("shop/total.py", "Why one?", 1)
    store.reviews.submit(cardinal.pull_of(delivered[0]), "REQUEST_CHANGES", "No.", [thread], actor=bob)
    cardinal.catch_up()
    for item in delivered:
        assert cardinal.card(item).state is CardState.CHANGES_REQUESTED
    cardinal.say(delivered[0], "/cardinal retry")
    cardinal.catch_up()
    run_id = cardinal.run_of(delivered[0]).run_id
    cardinal.begin(run_id)
    with event_store.reading(cardinal.services.engine) as db:
        thread_id = threads.pending(db, CardId(delivered[0].node_id))[0].thread_id
        assert threads.pending_count(db, CardId(delivered[1].node_id)) == 1
    cardinal.write(run_id, ThreadAnswered(run_id, thread_id, "Two now."))
    cardinal.finish(run_id, files={"shop/total.py": b"Of = 2\n"})
    cardinal.catch_up()
    assert cardinal.ready() == ()
    assert [cardinal.card(item).state for item in delivered] == [CardState.WORK_COMPLETE] * 2


@pytest.mark.after(scene=None)
def test_an_issue_on_boards_of_two_owners_speaks_to_both(cardinal: Cardinal) -> None:
    item = cardinal.new()
    project, _ = elsewhere(cardinal)
    theirs = cardinal.forge.store.projects.add(project, issue_of(item), actor=cardinal.person("carol"))
    cardinal.catch_up()
    cardinal.say(item, "Anything new?")
    cardinal.catch_up()
    assert heard(cardinal, PersonSaid, (item, theirs)) == [1, 1]
    assert cardinal.card(theirs).state is not CardState.ARCHIVED
    assert not cardinal.failures
