"""A pull request on the board: nothing runs for it, and its face and one comment say why and what to do."""

import pytest

from forge.store.board import Item
from forge.store.models import Pull
from ledger.events.pull import ReviewSubmitted
from ledger.events.run import RunQueued
from ledger.states import CardState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_forks import delivered, offered

FORK = "This pull request comes from a fork: Cardinal does not work on it. Add its issue to the board"


def on_board(cardinal: Cardinal, pull: Pull, column: str) -> Item:
    item = cardinal.forge.store.projects.add(cardinal.project, pull, actor=cardinal.person("alice"))
    cardinal.drag(item, column)
    cardinal.catch_up()
    return item


def written(cardinal: Cardinal) -> Pull:
    """Return a pull request that a person opened from a branch of the repository itself."""
    store, alice = cardinal.forge.store, cardinal.person("alice")
    git = store.repos.git(cardinal.repo)
    git.run("branch", "mine", "main")
    store.repos.write_files(cardinal.repo, "mine", {"a.txt": b"a\n"}, "Mine", actor=alice)
    return store.pulls.create(cardinal.repo, "Mine", "", "mine", "main", actor=alice)


def comments(pull: Pull) -> list[str]:
    return [comment.body for comment in pull.issue.comments if comment.author.login == "cardinal[bot]"]


@pytest.mark.parametrize("column", ["Tasks", "Planning", "In Progress", "Review", "QA", "Done"])
def test_the_face_of_a_forks_pull_request_says_why_nothing_runs_and_what_to_do(
    cardinal: Cardinal, column: str
) -> None:
    _, pull = offered(cardinal, "evil")
    item = on_board(cardinal, pull, column)
    assert FORK in cardinal.face(item)["Progress"]
    assert "blocked" in cardinal.face(item)["Agent"]
    works = column in ("Planning", "In Progress")
    assert len(comments(pull)) == works
    assert all(FORK in body for body in comments(pull))
    assert not cardinal.events(RunQueued)
    cardinal.assert_nothing_is_stuck()


def test_it_says_so_once_however_often_the_card_is_dragged(cardinal: Cardinal) -> None:
    _, pull = offered(cardinal, "evil")
    item = on_board(cardinal, pull, "In Progress")
    for column in ("Planning", "In Progress", "Done", "Tasks", "In Progress"):
        cardinal.drag(item, column)
        cardinal.catch_up()
    assert len(comments(pull)) == 1
    assert not cardinal.events(RunQueued)


@pytest.mark.parametrize("gone", ["fork", "merged", "closed"])
def test_a_pull_request_whose_fork_is_gone_or_that_is_over_is_explained_as_well(
    cardinal: Cardinal, gone: str
) -> None:
    store = cardinal.forge.store
    fork, pull = offered(cardinal, "evil")
    if gone == "fork":
        store.repos.delete(fork, actor=cardinal.person("mallory"))
    elif gone == "closed":
        store.issues.set_state(pull.issue, "closed", actor=cardinal.person("alice"))
    else:
        store.pulls.merge(pull, actor=cardinal.person("alice"))
    item = on_board(cardinal, pull, "In Progress")
    assert FORK in cardinal.face(item)["Progress"]
    assert not cardinal.events(RunQueued)
    cardinal.assert_nothing_is_stuck()


def test_commands_on_it_are_answered_and_start_nothing(cardinal: Cardinal) -> None:
    store, alice = cardinal.forge.store, cardinal.person("alice")
    _, pull = offered(cardinal, "evil")
    item = on_board(cardinal, pull, "Tasks")
    for said in ("/cardinal fix", "/cardinal status", "/cardinal fxi", "/cardinal stop-all"):
        comment = store.issues.comment(pull.issue, said, actor=alice)
        before = len(comments(pull))
        cardinal.catch_up()
        assert len(comments(pull)) > before or cardinal.reactions(comment) == ["+1"], said
    assert FORK in comments(pull)[0]
    store.reviews.submit(pull, "REQUEST_CHANGES", "Do it differently.", [], actor=alice)
    cardinal.catch_up()
    assert not cardinal.events(RunQueued)
    assert not cardinal.events(ReviewSubmitted)
    assert cardinal.card(item).state is CardState.BLOCKED
    cardinal.assert_nothing_is_stuck()


def test_a_persons_own_pull_request_is_not_called_a_fork(cardinal: Cardinal) -> None:
    item = on_board(cardinal, written(cardinal), "In Progress")
    assert "Cardinal did not open this pull request" in cardinal.face(item)["Progress"]


def test_cardinals_own_pull_request_points_to_the_card_that_it_is_for(cardinal: Cardinal) -> None:
    item = delivered(cardinal)
    pull = cardinal.pull_of(item)
    card = on_board(cardinal, pull, "In Progress")
    assert "opened this pull request for another card" in cardinal.face(card)["Progress"]
    cardinal.forge.store.issues.comment(pull.issue, "/cardinal status", actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert cardinal.card(item).pull_number == pull.number
    assert len(cardinal.events(RunQueued)) == 1
