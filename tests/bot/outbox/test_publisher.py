"""The publisher keeps order, waits when it must, gives up with a sentence, and loses or doubles nothing."""

import json
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from bot.github import tokens
from bot.github.client import Hub
from bot.outbox import handlers, publisher
from bot.outbox.publisher import MAX_ATTEMPTS
from bot.render.markdown.marker import mark
from bot.state.outbox_context import OutboxContext
from bot.system import liveness
from forge.store.reviews import LineComment
from ledger.errors import StaleClaimError
from ledger.events.board import CardArchived
from ledger.events.policy import PolicyLoaded
from ledger.events.publication import EntryGivenUp, EntryHeld, EntryPublished
from ledger.events.pull import ReviewSubmitted, Thread
from ledger.events.run import BranchPushed, ThreadAnswered
from ledger.ids import BoardId, EntryKey, QuestionId, RunId
from ledger.log import event_store
from ledger.parts import UnknownPartError
from ledger.queue import outbox
from ledger.queue.outbox import Draft
from rules.intents import by_command, outbound, rule_results
from rules.intents.outbound import (
    AnswerThread,
    ClosePull,
    PostReport,
    React,
    Say,
    UpdateFace,
    WriteRunComment,
)
from rules.policy.model import Policy
from tests.bot.outbox.conftest import BRANCH, FINAL, Stage
from tests.bot.render.past import RUN
from tests.ledger.claims import claim_next
from tests.near import apart


def says(stage: Stage, *names: str) -> list[Say]:
    return [Say(stage.card_id, name, name) for name in names]


def first_lines(stage: Stage) -> list[str]:
    return [body.splitlines()[0] for body in stage.bodies]


def test_what_is_said_about_a_card_is_posted_in_its_order(stage: Stage) -> None:
    stage.do(*says(stage, "one", "two", "three"))
    assert first_lines(stage) == ["one", "two", "three"]


def test_what_is_claimed_together_and_not_begun_in_time_is_given_back_untried(stage: Stage) -> None:
    comment = stage.forge.store.issues.comment(stage.issue, "/cardinal status", actor=stage.alice)
    contents = ("eyes", "rocket", "heart")
    stage.ask(*(React(stage.card_id, "issue", comment.id, content) for content in contents))
    first = outbox.claim(stage.context.engine, "github", lease_s=1, holder="t", most=2)
    assert [entry.attempts for entry in first] == [1, 1]
    stage.clock.forward(2)
    (alone,) = outbox.claim(stage.context.engine, "github", lease_s=1, holder="t", most=2)
    assert alone.attempts == 2  # an earlier publisher may have died of it
    stage.clock.forward(2)
    counts = publisher.publish_due(stage.context, "github", within_s=60, begin_s=0.0)
    assert (counts.settled, counts.given_up) == (3, 0)
    with stage.context.reading() as db:
        assert outbox.open_of_card(db, stage.card_id) == ()


def test_a_failure_holds_back_what_comes_after_it_on_the_card(stage: Stage) -> None:
    stage.fault(method="POST", path="/comments$", status=500)
    stage.do(*says(stage, "one", "two"))
    assert stage.bodies == []
    stage.clock.forward(1.5)
    stage.publish()
    assert first_lines(stage) == ["one", "two"]


def test_a_rate_limit_is_waited_out_as_long_as_github_says_and_costs_no_attempt(stage: Stage) -> None:
    stage.fault(
        method="POST", path="/comments$", status=429, headers={"retry-after": "30"}, count=MAX_ATTEMPTS + 5
    )
    stage.ask(*says(stage, "one"))
    for _ in range(MAX_ATTEMPTS + 5):
        stage.publish()
        stage.clock.forward(31)
    stage.clock.forward(60)
    stage.publish()
    assert first_lines(stage) == ["one"]


def waits_until_given_up(stage: Stage, *, each_s: float) -> list[float]:
    """Publish until the one entry is given up; return the pauses between the attempts, to `each_s`."""
    waits, last = [], stage.clock()
    for _ in range(3_000):
        counts = stage.publish()
        if counts.postponed or counts.given_up:
            waits.append((stage.clock() - last).total_seconds())
            last = stage.clock()
        if counts.given_up:
            return waits
        stage.clock.forward(each_s)
    raise AssertionError("never given up")


def test_an_outage_is_tried_again_ever_later_and_given_up_after_a_day(stage: Stage) -> None:
    stage.fault(method="POST", path="/comments$", status=500, count=10_000)
    stage.ask(*says(stage, "one"))
    began = stage.clock()
    for wait_s in (1, 2, 4, 8, 16, 32, 60, 60):
        stage.publish()
        assert outbox.next_due_s(stage.context.engine, "github") == wait_s
        stage.clock.forward(wait_s)
    stage.clock.forward(23 * 3600)
    assert stage.publish().postponed == 1
    stage.clock.forward(3600)
    assert waits_until_given_up(stage, each_s=60) == [0, 60, 60, 60, 60, 60]
    assert stage.clock() - began < timedelta(hours=25)
    (given_up,) = stage.events(EntryGivenUp)
    assert isinstance(given_up, EntryGivenUp)
    assert "failed 12 times" in given_up.because


QUICK = {"message": "Validation Failed", "errors": [{"message": "was submitted too quickly"}]}
SHUT = {"message": "The `acme` organization has an IP allow list enabled, and 192.0.2.1 is not permitted"}


@pytest.mark.parametrize(
    ("status", "answer", "passes"), [(422, QUICK, True), (403, SHUT, False)], ids=["not yet", "held"]
)
def test_a_refusal_for_now_is_told_once_and_lets_others_pass_unless_all_is_refused(
    stage: Stage, status: int, answer: dict[str, Any], *, passes: bool
) -> None:
    stage.fault(method="POST", path="/comments$", status=status, answer=answer, body="one", count=30)
    stage.do(*says(stage, "one", "two"))
    for _ in range(220):  # in which an attempt was made at the latest
        if stage.events(EntryHeld):
            break
        assert first_lines(stage) == []
        stage.clock.forward(1)
        stage.publish()
    assert stage.events(EntryHeld)
    stage.clock.forward(1)
    stage.publish()
    assert first_lines(stage) == (["two"] if passes else [])
    for _ in range(30):
        stage.clock.forward(1800)
        stage.publish()
    assert sorted(first_lines(stage)) == ["one", "two"]
    assert [bool(event.because) for event in stage.events(EntryHeld)] == [True, False]


def test_the_longer_an_act_is_held_the_rarer_it_is_tried(stage: Stage) -> None:
    stage.fault(method="POST", path="/comments$", status=403, answer=SHUT, count=10_000)
    stage.ask(*says(stage, "one"))
    waits = list[float]()
    for _ in range(75):
        assert stage.publish().given_up == 0
        waits.append(outbox.next_due_s(stage.context.engine, "github") or 0.0)
        stage.clock.forward(waits[-1])
    assert [round(wait_s) for wait_s in waits[:11]] == [1, 2, 4, 8, 16, 32, 60, 60, 60, 300, 300]
    assert max(waits) == 1800
    assert sorted(waits) == waits


def test_what_github_does_not_show_yet_is_looked_for_during_two_minutes(stage: Stage) -> None:
    stage.fault(method="POST", path="/comments$", status=404, count=3)
    stage.do(*says(stage, "one"))
    for wait_s in (5, 25, 90):
        assert stage.bodies == []
        stage.clock.forward(wait_s)
        stage.publish()
    assert first_lines(stage) == ["one"]


def test_a_write_without_an_answer_may_still_land_so_the_next_attempt_waits(stage: Stage) -> None:
    stage.context = replace(stage.context, app=Hub(stage.config, stage.clock, read_s=0.5))
    stage.fault(method="POST", path="/comments$", hold_s=1.0)
    with apart(stage.forge):
        stage.do(*says(stage, "one"))
    stage.forge.store.faults.clear()
    assert outbox.next_due_s(stage.context.engine, "github") == 5


def test_a_write_in_flight_when_its_publisher_dies_is_found_by_its_marker(stage: Stage) -> None:
    """The dead publisher's comment reaches GitHub after its claim was let go."""
    stage.ask(*says(stage, "one"))
    dead, engine = liveness.name(2**22 + 5), stage.context.engine
    entry = claim_next(engine, "github", lease_s=45, holder=dead)
    assert entry is not None
    liveness.expire_dead_holders(engine)
    stage.clock.forward(1)
    liveness.expire_dead_holders(engine)
    stage.publish()
    bot = stage.forge.store.users.get("cardinal[bot]")
    stage.forge.store.issues.comment(stage.issue, mark("one", entry.key), actor=bot)
    stage.clock.forward(4.1)
    assert stage.publish().settled == 1
    assert first_lines(stage) == ["one"]


def test_a_rate_limit_after_the_reply_does_not_double_the_reply(stage: Stage) -> None:
    pull = stage.pull(draft=False)
    line = LineComment("new.txt", "why 2?", 2)
    review = stage.forge.store.reviews.submit(pull, "REQUEST_CHANGES", "No.", [line], actor=stage.alice)
    (thread,) = pull.threads
    thread_id = str(thread.comments[0].id)
    known_thread = Thread(thread_id, "new.txt", 2, "why 2?")
    stage.happen(
        ReviewSubmitted(stage.card_id, review.id, "alice", True, "changes_requested", "No.", (known_thread,)),
        ThreadAnswered(RUN, thread_id, "Because."),
        BranchPushed(RUN, BRANCH, "a" * 40),
    )
    limit = {"method": "POST", "path": "/graphql$", "status": 429, "headers": {"retry-after": "30"}}
    stage.fault(**limit, count=2)
    stage.ask(AnswerThread(stage.card_id, RUN, thread_id))
    for _ in range(6):
        stage.publish()
        stage.clock.forward(100)
    assert len(thread.comments) == 2


def test_a_rate_limit_after_the_farewell_does_not_double_it(stage: Stage) -> None:
    assert stage.hub.bot_id  # asked for now: the forge's own clock stands still while ours goes on
    pull = stage.pull()
    stage.happen(CardArchived(stage.card_id, "archived"))
    limit = {"method": "PATCH", "path": r"/pulls/\d+$", "status": 429, "headers": {"retry-after": "30"}}
    stage.fault(**limit, count=2)
    stage.ask(ClosePull(stage.card_id, "not planned."))
    for _ in range(6):
        stage.publish()
        stage.clock.forward(100)
    assert len(pull.issue.comments) == 1
    assert pull.issue.state == "closed"


def test_what_was_carried_out_or_given_up_leaves_no_entry_and_is_not_done_again(stage: Stage) -> None:
    stage.fault(method="POST", path="/comments$", **FINAL)
    refused, say = says(stage, "one", "two")
    counts = stage.do(refused, say)
    assert (counts.given_up, counts.settled) == (1, 1)
    with stage.context.reading() as db:
        assert outbox.get(db, handlers.key(refused)) is outbox.get(db, handlers.key(say)) is None
    again = stage.do(refused, say)
    assert (again.given_up, again.settled, again.unchanged) == (0, 0, 0)
    assert first_lines(stage) == ["two"]


def test_a_given_up_entry_lets_the_card_go_on(stage: Stage) -> None:
    stage.fault(method="POST", path="/comments$", **FINAL)
    stage.do(*says(stage, "one", "two"))
    assert first_lines(stage) == ["two"]
    assert len(stage.events(EntryGivenUp)) == 1


def test_a_missing_permission_names_what_to_do(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "NEW", timedelta(0))  # else a new token would be waited for
    stage.fault(method="POST", path="/comments$", status=403, count=10)
    stage.ask(*says(stage, "one"))
    waits_until_given_up(stage, each_s=5)
    (given_up,) = stage.events(EntryGivenUp)
    assert isinstance(given_up, EntryGivenUp)
    assert "permission" in given_up.because


def test_progress_is_dropped_before_faces_and_those_before_questions(stage: Stage) -> None:
    stage.do(WriteRunComment(stage.card_id, RUN), UpdateFace(stage.card_id))
    for _ in range(60):  # three quarters of the contents that GitHub allows in a minute
        stage.hub.budget.take(points=0, creates=True)
    stage.past.planned()
    stage.clock.forward(5)
    stage.ask(WriteRunComment(stage.card_id, RUN), UpdateFace(stage.card_id), PostReport(stage.card_id, RUN))
    counts = stage.publish()
    assert counts.acts == {"post_report": 1}
    assert counts.postponed == 2
    stage.clock.forward(60)
    assert stage.publish().acts == {"update_face": 1, "write_run_comment": 1}


def test_reports_are_put_off_before_questions_and_nothing_is_lost(stage: Stage) -> None:
    for _ in range(72):  # nine tenths of the contents that GitHub allows in a minute
        stage.hub.budget.take(points=0, creates=True)
    stage.past.planned()
    stage.ask(outbound.PostPlan(stage.card_id, RUN, 1), Say(stage.card_id, "a-word", "A word."))
    counts = stage.publish()
    assert (counts.acts, counts.postponed) == ({"post_plan": 1}, 1)
    for _ in range(8):
        stage.hub.budget.take(points=0, creates=True)
    stage.ask(React(stage.card_id, "issue", 1, "eyes"))
    assert stage.publish().acts == {}, "not even an answer goes beyond what GitHub allows"
    stage.clock.forward(61)
    assert "say" in stage.publish().acts


def test_a_publisher_that_lost_its_claim_records_nothing(stage: Stage) -> None:
    stage.ask(*says(stage, "one"))
    entry = claim_next(stage.context.engine, "github", lease_s=1, holder="dead")
    assert entry is not None
    stage.clock.forward(2)
    assert stage.publish().settled == 1
    with pytest.raises(StaleClaimError), event_store.writing(stage.context.engine) as db:
        outbox.drop_entry(db, entry)
    assert len(stage.events(EntryPublished)) == 1


def test_an_entry_that_takes_its_publisher_down_each_time_is_given_up(stage: Stage) -> None:
    stage.ask(*says(stage, "one"))
    for _ in range(MAX_ATTEMPTS):
        claim_next(stage.context.engine, "github", lease_s=1, holder="dead")
        stage.clock.forward(2)
    assert stage.publish().given_up == 1


def test_a_bug_in_one_entry_is_raised_and_blocks_no_other(stage: Stage) -> None:
    bad = Draft(EntryKey("x"), "github", "say", stage.card_id, "{}", 0, False, False, stage.clock())
    with event_store.writing(stage.context.engine) as db:
        outbox.put(db, bad, stage.clock())
    stage.ask(*says(stage, "one"))
    with pytest.raises(ValueError, match="about"):
        stage.publish()
    stage.publish()
    assert first_lines(stage) == ["one"]


def test_an_act_of_a_newer_version_is_not_imported(stage: Stage) -> None:
    for name in ("os", "../publisher", "no_such_act", "__init__"):
        with pytest.raises(UnknownPartError):
            handlers.ACTS.load(name)
    assert "say" in handlers.ACTS.names()


def outward() -> list[type[outbound.Intent]]:
    """Return the intents that no floor below carries out: those in three modules of `rules.intents`."""
    named = {**vars(outbound), **vars(rule_results), **vars(by_command)}
    classes = [one for one in named.values() if isinstance(one, type) and issubclass(one, outbound.Intent)]
    return classes[classes.index(outbound.WriteRunComment) :]


def test_every_outward_intent_has_its_file_and_every_file_its_intent() -> None:
    assert {handlers.act_name(one) for one in outward()} == set(handlers.ACTS.names())


@pytest.mark.parametrize("intent_class", outward())
def test_an_intent_survives_the_outbox_unchanged(stage: Stage, intent_class: type[outbound.Intent]) -> None:
    shapes: dict[str, Any] = {
        "int": 7,
        "bool": True,
        "RunId": RunId("r1"),
        "str": 'x "y" \u202e\n',
        "QuestionId": "r1-q1",
        "CardId": "c",
        "datetime": stage.clock(),
        "tuple": ("a", "b"),
        "after": (1, 2),
        "lines": (outbound.NoticeLine(outbound.NoticeKind.SPEND, text="x"),),
    }
    kinds = {field.name: str(getattr(field.type, "__name__", field.type)) for field in fields(intent_class)}
    intent = intent_class(**{name: shapes.get(name, shapes[kind]) for name, kind in kinds.items()})
    draft = handlers.draft(intent, stage.clock(), None)
    assert json.loads(draft.payload)
    assert draft.due_at == stage.clock()
    with event_store.writing(stage.context.engine) as db:
        outbox.put(db, draft, stage.clock())
    entry = claim_next(stage.context.engine, draft.lane, lease_s=1, holder="t")
    assert entry is not None
    assert handlers.intent_of(entry) == intent


def test_questions_and_acknowledgements_go_before_reports_and_those_before_faces(stage: Stage) -> None:
    order = [
        outbound.PostQuestion(stage.card_id, RUN, QuestionId("r1-q1")),
        PostReport(stage.card_id, RUN),
        React(stage.card_id, "issue", 1, "eyes"),
        Say(stage.card_id, "a", "b"),
    ]
    assert [handlers.draft(intent, stage.clock(), None).priority for intent in order] == [0, 1, 0, 1]


def test_an_edit_waits_its_turn_after_the_last_one_and_the_first_does_not(stage: Stage) -> None:
    stage.do(UpdateFace(stage.card_id))
    stage.clock.forward(0.5)
    stage.ask(UpdateFace(stage.card_id))
    due_s = outbox.next_due_s(stage.context.engine, "github")
    assert due_s is not None
    assert 1 < due_s < 2


class CountingContext(OutboxContext):
    """Counts how often a policy is read."""

    counted: ClassVar[list[BoardId]] = []

    def policy(self, board_id: BoardId) -> Policy:
        self.counted.append(board_id)
        return OutboxContext.policy(self, board_id)


def test_a_turn_reads_each_policy_once_for_all_its_entries(stage: Stage) -> None:
    outbox_context = stage.context
    context = CountingContext(
        outbox_context.engine,
        outbox_context.config,
        outbox_context.clock,
        outbox_context.app,
        outbox_context.chosen,
    )
    stage.ask(*says(stage, "one", "two", "three"))
    assert publisher.publish_due(context, "github", within_s=60).settled == 3
    assert CountingContext.counted == [stage.board_id]


def test_the_lowest_cap_of_an_owners_policies_counts(stage: Stage) -> None:
    reset = str(int(stage.clock().timestamp()) + 6000)  # later than the forge's own
    hour = {"x-ratelimit-limit": "15000", "x-ratelimit-remaining": "14800", "x-ratelimit-reset": reset}
    stage.hub.at("acme").budget.learn(hour)
    stage.do(*says(stage, "one"))
    capped = "version: 1\nboard: {home: acme/board, columns: {Tasks: {archetype: inbox}}, "
    capped += "limits: {points_per_hour: 100}}\n"
    stage.happen(PolicyLoaded(stage.board_id, "e", capped, "c" * 40))
    stage.do(*says(stage, "two"))
    assert first_lines(stage) == ["one"]
