"""A run's story in spans: where its time went, whom it waited for, what each piece of work cost."""

from datetime import timedelta

from ledger.event import Event
from ledger.events.run import (
    PlanApproved,
    PlanProposed,
    QuestionAnswered,
    RunClaimed,
    RunEnded,
    RunParked,
    RunRequeued,
    RunStepped,
    UsageMetered,
    ValidationEnded,
)
from ledger.events.stage import StageEntered
from ledger.ids import QuestionId, RunId
from ledger.queries.run_spans import RunSpan, RunStory, SpanKind, chapter_of, list_shown_spans
from ledger.states import Ending, RunState
from tests.ledger.samples import NOW, run_queued

R1 = RunId("r1")


def story(*events: tuple[int, Event]) -> tuple[RunSpan, ...]:
    """Return the spans of a run whose events came so many seconds after it was queued."""
    run_story = RunStory()
    for seq, (after_s, event) in enumerate(((0, run_queued("r1", "c1")), *events), start=1):
        run_story.add(seq, NOW + timedelta(seconds=after_s), event)
    return run_story.spans


def step(before: RunState, after: RunState) -> Event:
    return RunStepped(R1, before, after)


def test_a_run_tells_what_it_did_for_how_long_and_who_ended_each_wait() -> None:
    spans = story(
        (3, RunClaimed(R1, 1, "w")),
        (4, step(RunState.CLAIMED, RunState.PREPARING)),
        (5, step(RunState.PREPARING, RunState.PLANNING)),
        (15, PlanProposed(R1, 1, "so", ())),
        (16, UsageMetered(R1, 0.02, 100, 10, 1, 10.0)),
        (17, step(RunState.PLANNING, RunState.AWAITING_APPROVAL)),
        (137, PlanApproved(R1, 1, "alice")),
        (137, RunRequeued(R1, "approved")),
        (138, RunClaimed(R1, 2, "w")),
        (139, step(RunState.CLAIMED, RunState.WORKING)),
        (150, RunParked(R1, "question")),
        (151, UsageMetered(R1, 0.10, 200, 20, 1, 11.0)),
        (210, QuestionAnswered(R1, QuestionId("q"), "bob", "up")),
        (210, RunRequeued(R1, "answered")),
        (211, RunClaimed(R1, 3, "w")),
        (212, step(RunState.CLAIMED, RunState.WORKING)),
        (220, step(RunState.WORKING, RunState.VALIDATING)),
        (224, ValidationEnded(R1, 1, "fast", False, "a" * 40)),
        (225, step(RunState.VALIDATING, RunState.WORKING)),
        (230, step(RunState.WORKING, RunState.VALIDATING)),
        (234, ValidationEnded(R1, 2, "full", True, "a" * 40)),
        (235, RunEnded(R1, Ending.SUCCEEDED, "", "", "publishing")),
    )
    shown = list_shown_spans(spans, NOW, timedelta(seconds=5))
    assert [(span.kind.value, span.seconds(NOW), span.person, span.passed) for span in shown] == [
        ("plan", 12, "", None),
        ("wait", 120, "alice", None),
        ("work", 11, "", None),
        ("wait", 60, "bob", None),
        ("work", 8, "", None),
        ("check", 5, "", False),
        ("work", 5, "", None),
        ("check", 5, "", True),
    ]
    assert [(span.usd, span.input_tokens) for span in shown[:4]] == [(0.02, 100), (0, 0), (0.1, 200), (0, 0)]
    assert sum(span.seconds(NOW) for span in spans) == 235  # no second is lost between two of them


def test_a_span_that_lasts_grows_and_a_stage_has_its_own() -> None:
    entered = ("policy", False, "", "", "", "small", "a" * 40)
    spans = story(
        (30, RunClaimed(R1, 1, "w")),
        (31, StageEntered(R1, "build", 1, 1, "", *entered)),
        (31, step(RunState.CLAIMED, RunState.WORKING)),
        (41, StageEntered(R1, "check", 2, 1, "build", *entered)),
    )
    assert [(run_span.kind, run_span.stage) for run_span in spans] == [
        (SpanKind.QUEUE, ""),
        (SpanKind.SETUP, ""),
        (SpanKind.WORK, "build"),
        (SpanKind.WORK, "check"),
    ]
    assert spans[-1].seconds(NOW + timedelta(seconds=101)) == 60
    assert [run_span.kind.value for run_span in list_shown_spans(spans, NOW, timedelta(seconds=5))] == [
        "queue",
        "work",
        "work",
    ]


def test_a_line_is_in_the_chapter_of_what_the_run_did_and_its_way_through_the_queue_is_none() -> None:
    spans = story(
        (1, RunClaimed(R1, 1, "w")),
        (2, step(RunState.CLAIMED, RunState.WORKING)),
        (3, RunParked(R1, "pause")),
        (4, RunRequeued(R1, "resumed", by="carol")),
        (5, RunClaimed(R1, 2, "w")),
        (6, step(RunState.CLAIMED, RunState.WORKING)),
    )
    chapters = [chapter_of(spans, seq) for seq in range(1, 9)]
    assert [run_span.seq if run_span else 0 for run_span in chapters] == [1, 1, 3, 4, 4, 4, 7, 7]
    assert chapters[3] is not None
    assert chapters[3].person == "carol"
    assert chapter_of((), 5) is None
