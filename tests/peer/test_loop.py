"""The whole way round: a person's comment, the webhook, Cardinal's door, rules and outbox, its answer."""

import requests

from bot.github.app_manifest import WEBHOOK_PATH
from ledger.events.conversation import CommandGiven, CommandRefused, PersonSaid
from ledger.events.pull import PullOpened, ReviewSubmitted
from ledger.events.run import PlanApproved
from ledger.states import RunState
from rules.intents.outbound import OpenPull, PostPlan, WriteRunComment
from tests.peer.beside import BRANCH, CARD, RUN, Cardinal
from tests.peer.side import ADMIN, STRANGER, WRITER


def plan(cardinal: Cardinal) -> None:
    """Let a plan wait for approval, posted on the issue; Cardinal's own echoes come and go."""
    cardinal.know_run()
    cardinal.past.planned("Write a test", "Fix the sum")
    cardinal.do(PostPlan(CARD, RUN, 1), WriteRunComment(CARD, RUN))
    cardinal.ingest(2)
    assert cardinal.events(PersonSaid) == []


def test_approve_starts_the_work_and_is_answered(cardinal: Cardinal) -> None:
    plan(cardinal)
    comment = cardinal.side.say(cardinal.repository, cardinal.number, "/cardinal approve", WRITER)
    cardinal.ingest()
    (event,) = cardinal.events(CommandGiven)
    assert (event.command, event.by, event.role, event.comment_id) == ("approve", WRITER, "write", comment)
    assert [plan_approved.by for plan_approved in cardinal.events(PlanApproved)] == [WRITER]
    assert (cardinal.run().state, cardinal.run().plan_approved) == (RunState.QUEUED, True)
    cardinal.answer()
    posted = [body for body in cardinal.comments() if "Fix the sum" in body]
    assert any(f"approved by {WRITER}" in body.lower().replace("@", "") for body in posted), posted
    assert not any("cardinal:approve" in body for body in posted)


def test_a_command_is_answered_with_a_comment(cardinal: Cardinal) -> None:
    cardinal.side.say(cardinal.repository, cardinal.number, "/cardinal approve", WRITER)
    cardinal.ingest()
    cardinal.answer()
    assert any("no plan to approve yet" in body for body in cardinal.comments())


def test_somebody_who_may_not_is_told_what_it_takes(cardinal: Cardinal) -> None:
    plan(cardinal)
    cardinal.side.say(cardinal.repository, cardinal.number, "/cardinal approve", STRANGER)
    cardinal.ingest()
    (refused,) = cardinal.events(CommandRefused)
    assert refused.by == STRANGER
    assert cardinal.run().state is RunState.AWAITING_APPROVAL
    cardinal.answer()
    assert any("write" in body and "approve" in body for body in cardinal.comments()[2:])


def test_plain_words_are_kept_with_whether_they_can_be_trusted(cardinal: Cardinal) -> None:
    for who in (WRITER, STRANGER):
        cardinal.side.say(cardinal.repository, cardinal.number, f"I am {who}.", who)
    cardinal.ingest(2)
    assert {(event.author, event.trusted) for event in cardinal.events(PersonSaid)} == {
        (WRITER, True),
        (STRANGER, False),
    }


def test_comments_in_quick_succession_all_arrive(cardinal: Cardinal) -> None:
    texts = {f"comment {number}" for number in range(20)}
    for text in texts:
        cardinal.side.say(cardinal.repository, cardinal.number, text)
    cardinal.ingest(20)
    assert {event.text for event in cardinal.events(PersonSaid)} == texts


def test_a_delivery_that_was_changed_on_its_way_is_refused(cardinal: Cardinal) -> None:
    cardinal.side.say(cardinal.repository, cardinal.number, "hello")
    delivery = cardinal.side.relay.wait(cardinal.repository, "issue_comment")[0]
    assert delivery.answered == 202
    cardinal.ingest()
    assert cardinal.waiting() == 0
    url = cardinal.side.relay.target
    assert url.endswith(WEBHOOK_PATH)
    headers = {
        name: value for name, value in delivery.headers.items() if name.startswith(("x-", "content-type"))
    }
    changed = requests.post(url, data=delivery.raw.replace(b"hello", b"jello"), headers=headers, timeout=60)
    assert changed.status_code == 401
    assert cardinal.waiting() == 0


def test_a_delivery_that_comes_again_changes_nothing(cardinal: Cardinal) -> None:
    plan(cardinal)
    cardinal.side.say(cardinal.repository, cardinal.number, "/cardinal approve", WRITER)
    cardinal.ingest()
    delivery = cardinal.side.relay.wait(cardinal.repository, "issue_comment", "created", 3)[-1]
    answered = cardinal.side.relay.take(
        delivery.headers, delivery.raw
    )  # under another name: GitHub would not
    assert answered == 202
    cardinal.ingest()
    assert len(cardinal.events(PlanApproved)) == 1
    assert len(cardinal.events(CommandGiven)) == 1


def test_a_review_comes_back_as_one_batch_of_threads(cardinal: Cardinal) -> None:
    cardinal.know_run()
    head = cardinal.side.write(cardinal.repository, BRANCH)
    cardinal.do(OpenPull(CARD, RUN))
    number = cardinal.events(PullOpened)[0].number
    said = [{"path": "new.txt", "position": line, "body": f"Why {line}?"} for line in (1, 3)]
    asked = {"event": "REQUEST_CHANGES", "body": "Please add a test.", "comments": said, "commit_id": head}
    path = f"/repos/{cardinal.repository}/pulls/{number}/reviews"
    review = cardinal.side.person(ADMIN, "POST", path, asked)
    cardinal.ingest_until(ReviewSubmitted)
    (submitted,) = cardinal.events(ReviewSubmitted)
    assert (submitted.review_id, submitted.author, submitted.trusted) == (review["id"], ADMIN, True)
    assert (submitted.verdict, submitted.head) == ("changes_requested", head)
    assert [thread.text for thread in submitted.threads] == ["Why 1?", "Why 3?"]
    assert cardinal.card().verdict == "changes_requested"
