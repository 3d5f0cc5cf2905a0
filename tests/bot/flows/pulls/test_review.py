"""The pull request and its reviews: verdicts, batches, merges that GitHub refuses, and branches that end."""

import pytest

from bot.runspec import builder
from forge.store.board import Item
from forge.store.models import Pull, Role
from forge.store.registration import Delivery
from forge.store.reviews import LineComment
from ledger.events.pull import BranchDeleted, PullChanged, ReviewDismissed, ReviewSubmitted
from ledger.events.run import Progressed, RunStopAsked, ThreadAnswered
from ledger.log import event_store
from ledger.views import threads
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column

FILES = {"new.txt": b"one\ntwo\nthree\n"}
MERGE = r"/pulls/\d+/merge$"


def delivered(cardinal: Cardinal, column: str = "Review") -> Item:
    """Return a card whose run has delivered a pull request, dragged on to `column`."""
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files=FILES)
    cardinal.catch_up()
    cardinal.drag(item, column)
    cardinal.catch_up()
    return item


def review(cardinal: Cardinal, pull: Pull, event: str, *remarks: str, who: str = "bob") -> int:
    """Submit a review with one thread for each remark; return its id."""
    comments = [LineComment("new.txt", text, line) for line, text in enumerate(remarks, start=1)]
    body = "Please look." if event != "APPROVE" else ""
    new_review = cardinal.forge.store.reviews.submit(pull, event, body, comments, actor=cardinal.person(who))
    return int(new_review.id)


@pytest.mark.after(scene=delivered)
def test_delivered_work_is_a_pull_request_that_left_draft_and_waits_for_a_review(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    assert (pull.draft, pull.issue.state) == (False, "open")
    assert cardinal.card(item).state == "in_review"
    assert f"#{pull.issue.number}" in cardinal.face(item)["PR"]
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
def test_a_review_that_asks_for_changes_sends_the_card_where_the_policy_says_and_a_revision_starts(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    cardinal.set_policy(with_column(on_changes_requested="{move: In Progress}"))
    cardinal.catch_up()
    review(cardinal, cardinal.pull_of(item), "REQUEST_CHANGES", "Name it")
    cardinal.catch_up()
    assert (cardinal.column(item), cardinal.run_of(item).kind) == ("In Progress", "revision")
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
def test_the_threads_of_one_review_are_one_batch_for_the_next_run_and_each_gets_one_reply(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    review(cardinal, pull, "REQUEST_CHANGES", "Name it", "Test it")
    cardinal.catch_up()
    assert cardinal.card(item).state == "changes_requested"
    assert len(cardinal.events(ReviewSubmitted)) == 1
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.kind, run.attempt, run.branch) == ("revision", 2, cardinal.card(item).branch)
    cardinal.begin(run.run_id)
    with event_store.reading(cardinal.services.engine) as db:
        pending = threads.pending(db, cardinal.card(item).card_id)
    assert [(one.path, one.line, one.text) for one in pending] == [
        ("new.txt", 1, "Name it"),
        ("new.txt", 2, "Test it"),
    ]
    cardinal.write(
        run.run_id, *(ThreadAnswered(run.run_id, one.thread_id, f"Did: {one.text}") for one in pending)
    )
    cardinal.finish(run.run_id, files={"new.txt": b"1\n2\n3\n"})
    cardinal.catch_up()
    for thread in pull.threads:
        assert [review_comment.author.login for review_comment in thread.comments] == ["bob", "cardinal[bot]"]
        assert thread.resolved_by is cardinal.bot
    assert cardinal.card(item).state == "work_complete"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
def test_a_thread_that_the_agent_did_not_address_stays_open_and_goes_to_the_next_run(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    review(cardinal, pull, "REQUEST_CHANGES", "Name it", "Test it")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run = cardinal.run_of(item)
    cardinal.begin(run.run_id)
    named, tested = (str(thread.comments[0].id) for thread in pull.threads)
    replies = (
        ThreadAnswered(run.run_id, named, "It has a name."),
        ThreadAnswered(run.run_id, tested, "I cannot.", addressed=False),
    )
    cardinal.write(run.run_id, *replies)
    cardinal.finish(run.run_id, files={"new.txt": b"1\n2\n3\n"})
    cardinal.catch_up()
    assert [thread.resolved_by for thread in pull.threads] == [cardinal.bot, None]
    assert [len(thread.comments) for thread in pull.threads] == [2, 2]
    assert "> I cannot." in pull.threads[1].comments[-1].body
    assert " in " not in pull.threads[1].comments[-1].body.partition("> I cannot.")[2]
    assert cardinal.card(item).state == "changes_requested"
    assert "1 open review comment" in cardinal.face(item)["Progress"]
    report = next(comment.body for comment in pull.issue.comments if "Run r2 is done: " in comment.body)
    assert "is not addressed: Test it (the agent replied: I cannot.)" in report
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    again = cardinal.run_of(item)
    assert (again.kind, again.run_id != run.run_id) == ("revision", True)
    with event_store.reading(cardinal.services.engine) as db:
        assert [thread.text for thread in threads.pending(db, cardinal.card(item).card_id)] == ["Test it"]


@pytest.mark.after(scene=delivered)
def test_the_words_of_a_review_without_threads_and_of_comments_since_reach_the_next_run(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    pull, alice = cardinal.pull_of(item), cardinal.person("alice")
    review(cardinal, pull, "REQUEST_CHANGES")
    cardinal.forge.store.issues.comment(pull.issue, "And <!-- EVIL -->round up.", actor=alice)
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.kind, run.attempt) == ("revision", 2)
    assert cardinal.claim(run.run_id)
    told = builder.build_spec(cardinal.services, run.run_id, cardinal.leases[run.run_id])[0].briefing.text
    assert "(since r1 began) requested changes:\nPlease look.\n" in told
    assert "(since r1 began):\nAnd round up.\n" in told


def test_what_a_person_drops_of_the_branch_by_force_does_not_come_back_with_the_revision(
    cardinal: Cardinal,
) -> None:
    def step(name: str) -> list[object]:
        return [{"edit": {"path": name, "content": "one\n"}}, {"commit": f"Write {name}"}]

    finish = {"finish": {"done": "It is there."}}
    cardinal.scenario(work=[*step("new.txt"), *step("more.txt"), finish], revise=[*step("last.txt"), finish])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    repos, alice, branch = cardinal.forge.store.repos, cardinal.person("alice"), cardinal.card(item).branch
    left = repos.commit_of(cardinal.repo, f"{branch}~1")
    repos.move_ref(cardinal.repo, f"refs/heads/{branch}", left, force=True, actor=alice)
    review(cardinal, cardinal.pull_of(item), "REQUEST_CHANGES", "Only this one")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    assert (cardinal.run_of(item).kind, cardinal.run_of(item).ending) == ("revision", "succeeded")
    assert repos.commit_of(cardinal.repo, f"{branch}~1") == left
    assert repos.commit_of(cardinal.repo, branch) == cardinal.run_of(item).pushed_head
    assert [event.run_id for event in cardinal.events(Progressed) if "was rewritten" in event.text] == [
        cardinal.run_of(item).run_id
    ]
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
def test_what_a_revision_has_served_is_not_asked_for_again_by_a_later_reading(cardinal: Cardinal) -> None:
    item = cardinal.newest
    review(cardinal, cardinal.pull_of(item), "REQUEST_CHANGES")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    revision = cardinal.run_of(item)
    assert revision.kind == "revision"
    cardinal.begin(revision.run_id)
    cardinal.finish(revision.run_id, files={"new.txt": b"1\n"})
    cardinal.catch_up()
    cardinal.scenario(investigate=[{"findings": {"summary": "Seen."}}])
    cardinal.say(item, "/cardinal investigate")
    cardinal.catch_up(work=True)
    assert cardinal.run_of(item).mode == "investigate"
    assert cardinal.card(item).state == "work_complete"
    cardinal.say(item, "/cardinal fix")
    cardinal.catch_up()
    assert cardinal.run_of(item).kind == "retry"
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    review(cardinal, cardinal.pull_of(item), "REQUEST_CHANGES")
    cardinal.catch_up()
    for column in ("Planning", "In Progress"):  # the card's state says nothing of it any more
        cardinal.drag(item, column)
        cardinal.catch_up()
    assert cardinal.run_of(item).kind == "revision"  # that review came after it


@pytest.mark.after(scene=delivered)
def test_a_review_that_is_told_twice_is_one(cardinal: Cardinal) -> None:
    item = cardinal.newest
    review(cardinal, cardinal.pull_of(item), "REQUEST_CHANGES", "Name it")
    mails = list(cardinal.mail)
    cardinal.catch_up()
    for number, delivery in enumerate(mails):
        cardinal.post(delivery.event, delivery.body, f"again-{number}", delivery.action or "")
    cardinal.catch_up()
    assert len(cardinal.events(ReviewSubmitted)) == 1


@pytest.mark.after(scene=delivered)
def test_a_dismissed_review_no_longer_counts(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    review(cardinal, pull, "REQUEST_CHANGES")
    cardinal.catch_up()
    assert cardinal.card(item).verdict == "changes_requested"
    cardinal.forge.store.reviews.dismiss(pull.reviews[-1], "Never mind", actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert len(cardinal.events(ReviewDismissed)) == 1
    assert (cardinal.card(item).verdict, cardinal.card(item).state) == ("none", "in_review")


@pytest.mark.after(scene=delivered)
def test_a_review_by_somebody_without_write_access_decides_nothing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    review(cardinal, cardinal.pull_of(item), "APPROVE", who="mallory")
    cardinal.catch_up()
    assert [event.trusted for event in cardinal.events(ReviewSubmitted)] == [False]
    assert cardinal.card(item).state == "in_review"


@pytest.mark.after(scene=delivered)
def test_an_approved_card_dragged_to_done_is_merged_and_its_branch_deleted(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    review(cardinal, pull, "APPROVE")
    cardinal.catch_up()
    assert cardinal.card(item).state == "approved"
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.merged_at is not None
    assert [event.branch for event in cardinal.events(BranchDeleted)] == [cardinal.card(item).branch]
    assert cardinal.card(item).state == "done"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
@pytest.mark.parametrize("before_the_drag", [True, False])
def test_an_approval_that_is_told_late_counts_for_the_drag_that_came_after_it(
    cardinal: Cardinal, before_the_drag: bool
) -> None:
    item = cardinal.newest
    pull, late = cardinal.pull_of(item), list[Delivery]()
    if before_the_drag:
        review(cardinal, pull, "APPROVE")
        late = list(cardinal.mail)
        cardinal.mail.clear()
    cardinal.clock.forward(60)
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert cardinal.card(item).state == "blocked"
    cardinal.clock.forward(60)
    if not before_the_drag:
        review(cardinal, pull, "APPROVE")
    cardinal.mail.extend(late)
    cardinal.catch_up()
    assert (pull.merged_at is not None) is before_the_drag
    assert cardinal.card(item).state == ("done" if before_the_drag else "blocked")
    cardinal.assert_nothing_is_stuck()


def test_a_merge_that_github_refuses_blocks_the_card_with_its_reason_and_can_be_tried_again(
    cardinal: Cardinal,
) -> None:
    cardinal.forge.store.repos.protect(cardinal.repo, "main", reviews=1)
    item = delivered(cardinal, "Done")
    card = cardinal.card(item)
    assert card.state == "blocked"
    assert "could not be merged" in card.because
    assert "Have it approved" in card.because
    assert cardinal.face(item)["Agent"].endswith("blocked")
    assert cardinal.pull_of(item).issue.state == "open"
    assert any(card.branch in ref for ref in cardinal.forge.store.repos.git(cardinal.repo).refs())
    review(cardinal, cardinal.pull_of(item), "APPROVE")
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.card(item).state == "done"
    assert cardinal.pull_of(item).merged_at is not None


@pytest.mark.after(scene=delivered)
def test_a_conflict_with_the_base_is_a_reason_not_a_merge(cardinal: Cardinal) -> None:
    item = cardinal.newest
    review(cardinal, cardinal.pull_of(item), "APPROVE")
    files: dict[str, bytes | None] = {"new.txt": b"other\n"}
    cardinal.forge.store.repos.write_files(
        cardinal.repo, "main", files, "Meanwhile", actor=cardinal.person("alice")
    )
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert cardinal.card(item).state == "blocked"
    assert "not merge" in cardinal.card(item).because
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
@pytest.mark.parametrize("merged", [True, False])
def test_a_person_who_merges_or_closes_is_followed(cardinal: Cardinal, merged: bool) -> None:
    item = cardinal.newest
    pull, alice = cardinal.pull_of(item), cardinal.person("alice")
    read = f"GET /repos/acme/shop/pulls/{pull.issue.number}"
    calls = len(cardinal.calls(read))
    if merged:
        cardinal.forge.store.pulls.merge(pull, actor=alice)
    else:
        cardinal.forge.store.issues.set_state(pull.issue, "closed", actor=alice)
    cardinal.catch_up()
    assert len(cardinal.calls(read)) - calls == (0 if merged else 1), "a merge is not taken back"
    assert cardinal.events(PullChanged)[-1].state == ("merged" if merged else "closed")
    assert cardinal.card(item).state == ("done" if merged else "blocked")  # its issue closes, its card moves
    assert cardinal.card(item).because


@pytest.mark.after(scene=delivered)
def test_pull_request_deliveries_in_reverse_end_where_github_is(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull, alice = cardinal.pull_of(item), cardinal.person("alice")
    cardinal.forge.store.issues.set_state(pull.issue, "closed", actor=alice)
    cardinal.forge.store.issues.set_state(pull.issue, "open", actor=alice)
    late = list(cardinal.mail)
    cardinal.mail.clear()
    for delivery in reversed(late):
        cardinal.receive(delivery)
    cardinal.catch_up()
    assert cardinal.card(item).pull_state == "open"
    assert cardinal.card(item).state == "in_review"


@pytest.mark.after(scene=delivered)
def test_closing_the_pull_request_mid_run_stops_the_run(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.say(item, "Once more, please.", who="carol")
    cardinal.drag(item, "In Progress")
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    pull = cardinal.pull_of(item)
    cardinal.forge.store.issues.set_state(pull.issue, "closed", actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert [(event.run_id, event.how) for event in cardinal.events(RunStopAsked)] == [(run_id, "cancel")]


@pytest.mark.after(scene=delivered)
def test_a_comment_on_the_pull_request_is_the_cards(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    cardinal.forge.store.repos.set_role(cardinal.repo, cardinal.person("bob"), Role.READ)
    comment = cardinal.forge.store.issues.comment(pull.issue, "/cardinal retry", actor=cardinal.person("bob"))
    cardinal.catch_up()
    assert cardinal.reactions(comment) == ["confused"]
    assert any("needs the role" in one.body for one in pull.issue.comments)
