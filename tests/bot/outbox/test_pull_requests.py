"""Pull requests are opened once, merged only at the head that was seen, and leave nothing behind."""

from dataclasses import replace

import pytest

from bot.outbox.publisher import Published
from forge.store.models import Role
from forge.store.reviews import LineComment
from ledger.events.board import CardMoved, IssueClosed
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import BranchDeleted, PullChanged, PullOpened, ReviewSubmitted, Thread
from ledger.events.run import BranchPushed, RunEnded, ThreadAnswered, ValidationEnded
from ledger.ids import RunId
from ledger.states import Ending, PullState, RunKind, RunState
from rules.intents.outbound import (
    AnswerThread,
    ClosePull,
    DeleteBranch,
    MarkReady,
    MergePull,
    OpenPull,
    SupersedePull,
    UpdatePull,
)
from tests.bot.outbox.conftest import BRANCH, Stage
from tests.bot.render.past import RUN


def opened(stage: Stage) -> PullOpened:
    (event,) = stage.events(PullOpened)
    assert isinstance(event, PullOpened)
    return event


def because(stage: Stage) -> str:
    (event,) = stage.events(EntryGivenUp)
    assert isinstance(event, EntryGivenUp)
    return event.because


def test_the_pull_request_is_a_draft_that_closes_the_issue(stage: Stage) -> None:
    stage.push()
    assert stage.do(OpenPull(stage.card_id, RUN)).settled == 1
    (pull,) = stage.forge.store.pulls.all(stage.shop)
    assert pull.draft
    assert f"\nCloses #{stage.issue.number}\n" in (pull.issue.body or "")
    assert pull.issue.title == "Totals are wrong"
    assert (opened(stage).number, opened(stage).node_id) == (pull.issue.number, pull.node_id)
    assert (opened(stage).head, opened(stage).draft) == (pull.head_sha, True)


def test_an_answer_that_never_arrives_does_not_open_a_second_one(stage: Stage) -> None:
    stage.push()
    stage.fault(method="POST", path="/pulls$", status=502, after=True, cut=True)
    stage.do(OpenPull(stage.card_id, RUN))
    stage.clock.forward(6)
    stage.publish()
    assert len(stage.forge.store.pulls.all(stage.shop)) == 1
    assert opened(stage).number == stage.forge.store.pulls.all(stage.shop)[0].issue.number


def test_one_that_is_open_already_is_taken_over(stage: Stage) -> None:
    pull = stage.pull(known=False)
    stage.do(OpenPull(stage.card_id, RUN))
    assert opened(stage).number == pull.issue.number


def test_where_there_are_no_drafts_it_is_opened_as_it_can_be(stage: Stage) -> None:
    stage.shop.drafts_supported = False
    stage.push()
    stage.do(OpenPull(stage.card_id, RUN))
    assert not opened(stage).draft


def test_where_there_are_no_drafts_title_and_text_say_so_until_the_work_is_done(stage: Stage) -> None:
    stage.shop.drafts_supported = False
    stage.push()
    stage.do(OpenPull(stage.card_id, RUN))
    issue = stage.shop.issues[opened(stage).number]
    assert issue.title == "[not ready] Totals are wrong"
    assert "> **Not ready for review" in (issue.body or "")
    stage.do(UpdatePull(stage.card_id))
    assert "> **Not ready for review" in (issue.body or "")
    stage.happen(RunEnded(RUN, Ending.CANCELLED, "cancelled", "", "queued"))
    stage.do(UpdatePull(stage.card_id))
    assert "still works" not in (issue.body or "")
    assert issue.title.startswith("[not ready] ")
    stage.past.run(RunId("r2"), attempt=2, kind=RunKind.RETRY, card_id=stage.card_id)
    stage.past.step(RunState.PREPARING, RunState.WORKING, RunState.PUBLISHING, run_id=RunId("r2"))
    stage.happen(RunEnded(RunId("r2"), Ending.SUCCEEDED, "", "", "publishing"))
    stage.do(UpdatePull(stage.card_id))
    assert issue.title.startswith("[not ready] "), "nothing has checked its commit"
    head = opened(stage).head
    passed = ValidationEnded(RUN, 1, "full", True, head, "b" * 40, "local", clean=True)
    stage.happen(passed)
    stage.push("by a person\n")
    stage.do(UpdatePull(stage.card_id))
    assert issue.title.startswith("[not ready] "), "nor the one that a person has just pushed"
    head = stage.forge.store.pulls.get(stage.shop, issue.number).head_sha
    stage.happen(
        PullChanged(stage.card_id, issue.number, PullState.OPEN, False, head),
        replace(passed, head=head, iteration=2),
    )
    stage.do(UpdatePull(stage.card_id))
    assert issue.title == "Totals are wrong"
    assert "Not ready" not in (issue.body or "")


def test_a_branch_without_commits_is_given_up_with_githubs_reason(stage: Stage) -> None:
    repos = stage.forge.store.repos
    repos.create_ref(
        stage.shop, f"refs/heads/{BRANCH}", repos.commit_of(stage.shop, "main"), actor=stage.alice
    )
    assert stage.do(OpenPull(stage.card_id, RUN)).given_up == 1
    assert "No commits between" in because(stage)


def test_a_draft_becomes_ready_once_and_says_so_at_once(stage: Stage) -> None:
    pull = stage.pull()
    stage.do(MarkReady(stage.card_id, "r1"))
    assert not pull.draft
    assert stage.events(PullChanged) == [
        PullChanged(stage.card_id, pull.issue.number, PullState.OPEN, False, pull.head_sha)
    ]
    calls = len(stage.calls())
    stage.do(MarkReady(stage.card_id, "r1"))
    assert len(stage.calls()) == calls


def test_a_draft_stays_one_where_a_person_has_pushed_and_nobody_has_told_yet(stage: Stage) -> None:
    pull = stage.pull()
    stage.push("by a person\n")
    assert stage.do(MarkReady(stage.card_id, "r1")).given_up == 0
    assert pull.draft
    event = PullChanged(stage.card_id, pull.issue.number, PullState.OPEN, True, pull.head_sha)
    assert stage.events(PullChanged) == [event], "so that this commit is checked next"


def test_a_read_of_before_the_last_known_push_takes_nothing_back(stage: Stage) -> None:
    pull = stage.pull()
    stage.clock.forward(2)  # GitHub's times have whole seconds
    head = "c" * 40  # it is known, and GitHub's answer does not show it yet
    event = PullChanged(stage.card_id, pull.issue.number, PullState.OPEN, True, head)
    passed = ValidationEnded(RUN, 1, "full", True, head, "b" * 40, "local", clean=True)
    stage.happen(event, replace(passed, iteration=2))
    assert stage.do(MarkReady(stage.card_id, "r1")).postponed == 1
    assert stage.events(PullChanged) == [event]
    stage.clock.forward(60)  # no answer is that old
    stage.publish()
    assert [pull_changed.head for pull_changed in stage.events(PullChanged)] == [head, pull.head_sha]


def test_one_that_a_person_made_ready_first_is_no_failure(stage: Stage) -> None:
    pull = stage.pull()
    stage.forge.store.pulls.set_draft(pull, False, actor=stage.alice)
    assert stage.do(MarkReady(stage.card_id, "r1")).given_up == 0


def merge(stage: Stage, head: str) -> Published:
    """Ask for a merge, the card standing where the policy merges."""
    stage.happen(CardMoved(stage.card_id, "Review", "Done", by_cardinal=False))
    return stage.do(MergePull(stage.card_id, "squash", head))


def test_a_merge_is_squashed_under_our_own_words(stage: Stage) -> None:
    pull = stage.pull(draft=False)
    merge(stage, pull.head_sha)
    assert pull.merged_at is not None
    commit = stage.forge.store.repos.git(stage.shop).commit(
        stage.forge.store.repos.commit_of(stage.shop, "main")
    )
    assert commit.message.startswith(f"Totals are wrong (#{pull.issue.number})")
    assert stage.events(PullChanged) == [
        PullChanged(stage.card_id, pull.issue.number, PullState.MERGED, False, pull.head_sha)
    ]
    assert stage.issue.state == "closed"


@pytest.mark.parametrize("announced", [False, True])
def test_a_merge_whose_answer_never_arrives_is_found_merged(stage: Stage, announced: bool) -> None:
    pull = stage.pull(draft=False)
    stage.fault(method="PUT", path="/merge$", status=502, after=True, cut=True)
    merge(stage, pull.head_sha)
    if announced:  # by GitHub's webhook, before the next attempt
        stage.happen(PullChanged(stage.card_id, pull.issue.number, PullState.MERGED, False, pull.head_sha))
    stage.clock.forward(6)
    assert stage.publish().settled == 1
    assert stage.events(EntryGivenUp) == []


def test_a_head_that_moved_is_not_merged_and_a_person_is_told(stage: Stage) -> None:
    pull = stage.pull(draft=False)
    seen = pull.head_sha
    stage.push("other\n")
    assert merge(stage, seen).given_up == 1
    assert pull.merged_at is None
    assert "look at it again" in because(stage)


def test_a_protected_base_is_not_merged_into_and_githubs_reason_is_told(stage: Stage) -> None:
    pull = stage.pull(draft=False)
    stage.forge.store.repos.protect(stage.shop, "main", reviews=1)
    merge(stage, pull.head_sha)
    assert pull.merged_at is None
    assert f"GitHub does not merge #{pull.issue.number}" in because(stage)


def test_a_refused_merge_can_be_asked_for_again(stage: Stage) -> None:
    pull = stage.pull(draft=True)
    merge(stage, pull.head_sha)
    assert pull.merged_at is None
    stage.forge.store.pulls.set_draft(pull, False, actor=stage.alice)
    stage.happen(PullChanged(stage.card_id, pull.issue.number, PullState.OPEN, False, pull.head_sha))
    merge(stage, pull.head_sha)
    assert pull.merged_at is not None


@pytest.mark.parametrize(
    ("by", "role", "merged"), [("bob", "write", False), ("", "", False), ("mallory", "none", True)]
)
def test_a_card_that_somebody_who_may_took_back_is_not_merged(
    stage: Stage, by: str, role: str, *, merged: bool
) -> None:
    pull = stage.pull(draft=False)
    stage.ask(MergePull(stage.card_id, "squash", pull.head_sha))
    stage.happen(CardMoved(stage.card_id, "Done", "Review", by_cardinal=False, by=by, role=role))
    assert stage.publish().given_up == 0
    assert (pull.merged_at is not None) is merged


@pytest.mark.parametrize(
    ("verdict", "head"), [("changes_requested", ""), ("approved", "0" * 40), ("commented", "")]
)
def test_what_is_not_approved_any_more_is_not_merged(stage: Stage, verdict: str, head: str) -> None:
    pull = stage.pull(draft=False)
    stage.happen(
        CardMoved(stage.card_id, "Review", "Done", by_cardinal=False),
        ReviewSubmitted(stage.card_id, 3, "bob", True, verdict, "", (), head),
    )
    stage.do(MergePull(stage.card_id, "squash", pull.head_sha, requires="approved"))
    assert pull.merged_at is None
    assert "could not be merged" in because(stage)


def test_nothing_is_taken_from_a_card_that_was_taken_up_again(stage: Stage) -> None:
    pull = stage.pull()
    stage.do(ClosePull(stage.card_id, "archived"), DeleteBranch(stage.card_id, BRANCH))
    assert pull.issue.state == "open"
    assert pull.issue.comments == []
    assert f"refs/heads/{BRANCH}" in stage.forge.store.repos.git(stage.shop).refs()


@pytest.mark.parametrize("gone", [False, True])
def test_the_branch_is_deleted_whether_it_is_still_there_or_not(stage: Stage, gone: bool) -> None:
    pull = stage.pull(draft=False)
    merge(stage, pull.head_sha)
    if gone:
        stage.forge.store.repos.delete_ref(stage.shop, f"refs/heads/{BRANCH}", actor=stage.alice)
    assert stage.do(DeleteBranch(stage.card_id, BRANCH)).given_up == 0
    assert f"refs/heads/{BRANCH}" not in stage.forge.store.repos.git(stage.shop).refs()
    assert stage.events(BranchDeleted) == [BranchDeleted(stage.card_id, BRANCH)]


def test_an_abandoned_pull_request_is_closed_with_a_reason(stage: Stage) -> None:
    pull = stage.pull()
    stage.happen(IssueClosed(stage.card_id, "not_planned", "alice", trusted=True))
    stage.do(ClosePull(stage.card_id, "The issue was closed as not planned."))
    assert pull.issue.state == "closed"
    assert pull.merged_at is None
    assert "not planned" in pull.issue.comments[0].body
    assert isinstance(stage.events(PullChanged)[0], PullChanged)
    stage.do(ClosePull(stage.card_id, "again"))
    assert len(pull.issue.comments) == 1


@pytest.mark.parametrize("crash", [False, True])
def test_a_pull_request_that_another_one_replaces_is_closed_once(stage: Stage, crash: bool) -> None:
    pull = stage.pull()
    if crash:
        stage.fault(method="PATCH", path=r"/pulls/\d+$", status=502, after=True, cut=True)
    for _ in range(2):
        stage.do(SupersedePull(stage.card_id, "acme/shop", pull.number, "alice chose r13"))
    assert (pull.issue.state, pull.merged_at) == ("closed", None)
    assert ["alice chose r13" in comment.body for comment in pull.issue.comments] == [True]


def test_of_a_pull_request_that_was_merged_meanwhile_nobody_says_that_it_was_not(stage: Stage) -> None:
    pull = stage.pull(draft=False)
    stage.happen(IssueClosed(stage.card_id, "not_planned", "alice", trusted=True))
    stage.forge.store.pulls.merge(pull, actor=stage.alice)
    stage.do(ClosePull(stage.card_id, "The issue was closed as not planned."))
    stage.do(SupersedePull(stage.card_id, "acme/shop", pull.number, "alice chose r13"))
    assert pull.issue.comments == []
    assert stage.events(PullChanged) == []


@pytest.mark.parametrize("crash", [False, True])
def test_a_thread_gets_one_reply_and_is_resolved(stage: Stage, crash: bool) -> None:
    pull = stage.pull(draft=False)
    assert stage.forge.store.repos.role_of(stage.shop, stage.alice) is Role.ADMIN
    review = stage.forge.store.reviews.submit(
        pull, "REQUEST_CHANGES", "No.", [LineComment("new.txt", "why 2?", 2)], actor=stage.alice
    )
    (thread,) = pull.threads
    thread_id = str(thread.comments[0].id)
    stage.happen(
        ReviewSubmitted(
            stage.card_id,
            review.id,
            "alice",
            True,
            "changes_requested",
            "No.",
            (Thread(thread_id, "new.txt", 2, "why 2?"),),
        ),
        ThreadAnswered(RUN, thread_id, "Because of @bob."),
        BranchPushed(RUN, BRANCH, "a" * 40),
    )
    if crash:
        stage.fault(method="POST", path=r"/pulls/\d+/comments$", status=502, after=True, cut=True)
    stage.do(AnswerThread(stage.card_id, RUN, thread_id))
    stage.clock.forward(6)
    stage.publish()
    assert len(thread.comments) == 2
    assert "> Because of @\u200bbob." in thread.comments[1].body
    assert "in aaaaaaaaaaaa" in thread.comments[1].body
    assert thread.resolved_by is stage.forge.store.users.get("cardinal[bot]")
