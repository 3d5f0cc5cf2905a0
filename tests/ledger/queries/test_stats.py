"""Money and flow are folded from the log: of everything, or of what somebody may see alone."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from sqlalchemy import Engine

from ledger.db.rows import count
from ledger.event import Event
from ledger.events.board import CardArchived, CardStateChanged
from ledger.events.conversation import AssistantMetered
from ledger.events.pull import PullChanged, PullOpened
from ledger.events.run import (
    PlanProposed,
    QuestionAnswered,
    QuestionAsked,
    RunClaimed,
    RunEnded,
    UsageMetered,
)
from ledger.events.stage import StageEntered
from ledger.ids import CardId, QuestionId, RunId
from ledger.log import event_store
from ledger.queries import stats
from ledger.queries.card_filter import CardScope
from ledger.queries.stats import ASSISTANT, CardWait, DayShare, DayWaits, MergeShare, SpendShare
from ledger.states import ATTENTION, CardState, Ending, PullState, Reason, RunStatus
from ledger.views import runs, tallies
from ledger.views.tallies import Tally
from ledger.views.waits import waits
from tests.ledger.samples import BOARD, CARD, NOW, RUN, board_seen, card_seen, later, run_queued

SINCE = NOW - timedelta(hours=1)
UNTIL = NOW + timedelta(days=2)
OTHER = CardId("PVTI_2")


def write(engine: Engine, *events: Event, after_s: float = 0) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, *events, at=later(after_s))


@pytest.fixture
def worked(ledger: Engine) -> Engine:
    """Return a ledger with a merged run that asked something, one that failed, and words of the assistant."""
    question = QuestionId("r1-q1")
    write(ledger, board_seen(), card_seen(), card_seen(OTHER, 2), run_queued(), run_queued("r2", OTHER))
    write(ledger, RunClaimed(RUN, 1, "w-1", "b"), after_s=10)
    write(ledger, QuestionAsked(RUN, question, "agent", "Which colour?", ()), after_s=20)
    write(ledger, QuestionAnswered(RUN, question, "red", "alice"), after_s=140)
    write(ledger, UsageMetered(RUN, 1.5, 100, 10, 3, 1800.0), after_s=200)
    write(ledger, UsageMetered(RunId("r2"), 0.5, 100, 10, 3, 60.0), after_s=200)
    write(ledger, RunEnded(RunId("r2"), Ending.FAILED, "validation", "", ""), after_s=210)
    write(ledger, AssistantMetered(OTHER, 0.25, 10), after_s=220)
    write(ledger, PullOpened(CARD, "acme/app", 7, "PR_7", "cardinal/r1", "a" * 40, False), after_s=230)
    write(ledger, PullChanged(CARD, 7, PullState.MERGED, False, "a" * 40), after_s=240)
    write(ledger, CardStateChanged(CARD, CardState.QUEUED, CardState.DONE, "it is merged"), after_s=240)
    return ledger


def test_a_person_s_answer_to_stop_is_no_failure_though_older_logs_call_it_one(ledger: Engine) -> None:
    write(ledger, board_seen(), card_seen(), run_queued())
    write(ledger, RunEnded(RUN, Ending.FAILED, "stopped", "ann stopped it", ""))
    with event_store.reading(ledger) as db:
        figures, tallied = stats.of_boards(db, SINCE, UNTIL), tallies.all_tallies(db)
        row = runs.get(db, RUN)
    assert (figures.endings, figures.reasons) == ({"cancelled": 1}, {})
    assert tallied[Tally.RUNS_ENDED, "cancelled"] == 1
    assert row is not None
    assert row.status is RunStatus.CANCELLED


def test_dollars_endings_and_waits_are_counted_once(worked: Engine) -> None:
    with event_store.reading(worked) as db:
        figures = stats.of_boards(db, SINCE, UNTIL)
    assert (figures.runs, figures.usd, figures.needed_person) == (2, 2.25, 1)
    assert (figures.endings, figures.reasons) == ({"": 1, "failed": 1}, {"validation": 1})
    assert (figures.merged, figures.usd_per_merge, figures.hours_per_merge) == (1, 1.5, 0.5)
    assert figures.median_merge_s == 240.0
    assert figures.merged_by["repository"] == (MergeShare("acme/app", 1, 1.5, 1800.0, 240.0),)
    for group, name in (("agent", "scripted"), ("model", "scripted default")):
        assert [(share.name, share.merged) for share in figures.merged_by[group]] == [(name, 1)]
    assert figures.usd_by["day"] == (SpendShare("2026-11-21", 2.25),)
    assert figures.agents_by_day == (
        DayShare("2026-11-21", ASSISTANT, 0.25),
        DayShare("2026-11-21", "scripted", 2.0),
    )
    assert figures.usd_by["agent"] == (SpendShare("scripted", 2.0), SpendShare(ASSISTANT, 0.25))
    assert figures.usd_by["model"] == (SpendShare("scripted default", 2.0), SpendShare(ASSISTANT, 0.25))


def test_no_program_is_a_person_in_money(ledger: Engine) -> None:
    write(ledger, board_seen(), card_seen())
    asked: tuple[tuple[str, str], ...]
    asked = (("alice", "board"), ("CI", "checks"), ("Cardinal", "policy"), ("push", ""), ("x[bot]", "board"))
    asked += (("the board", "board"), ("bob", "checks"), ("Cardinal", "api"))
    for number, (by, door) in enumerate(asked, start=1):
        run = RunId(f"r{number}")
        write(ledger, replace(run_queued(run), by=by, door=door), UsageMetered(run, 1.0, 1, 1, 1, 1.0))
    for by in ("alice", "", "bob", "helper[bot]"):
        write(ledger, AssistantMetered(CARD, 0.25, 10, by))
    with event_store.reading(ledger) as db:
        shares = {share.name: share.usd for share in stats.of_boards(db, SINCE, UNTIL).usd_by["person"]}
    assert shares == {"alice": 1.25, "bob": 1.25, "Cardinal": 1.0, stats.NO_PERSON: 5.5}


@pytest.mark.parametrize(("reason", "waited_s"), [(Reason.OTHER, 100.0), (Reason.BLOCKED, 0.0)])
def test_a_card_that_somebody_claimed_waits_for_no_agent(
    ledger: Engine, reason: Reason, waited_s: float
) -> None:
    write(ledger, board_seen(), card_seen())
    write(ledger, CardStateChanged(CARD, CardState.BLOCKED, CardState.WORKING, "", reason), after_s=0)
    write(ledger, CardStateChanged(CARD, CardState.WORKING, CardState.BLOCKED, ""), after_s=100)
    with event_store.reading(ledger) as db:
        assert stats.of_boards(db, SINCE, UNTIL).agents_s == waited_s


def test_a_run_whose_plan_waits_for_a_person_needs_one_and_one_that_the_policy_approves_does_not(
    ledger: Engine,
) -> None:
    needed = []
    for number, required in enumerate((True, False), start=1):
        card, run = CardId(f"C{number}"), RunId(f"r{number}")
        queued = replace(run_queued(run, card), plan_required=required)
        write(ledger, board_seen(), card_seen(card, number), queued, PlanProposed(run, 1, "Plan", ("Step",)))
        with event_store.reading(ledger) as db:
            needed.append(stats.of_boards(db, SINCE, UNTIL).needed_person)
    assert needed == [1, 1]


def test_what_is_older_does_not_count(worked: Engine) -> None:
    with event_store.reading(worked) as db:
        figures = stats.of_boards(db, NOW + timedelta(days=1), UNTIL)
    assert (figures.runs, figures.usd, figures.merged, figures.people_s) == (0, 0, 0, 0)
    assert figures.usd_by["repository"] == ()


def test_a_sum_never_has_what_its_reader_may_not_see(worked: Engine) -> None:
    write(worked, card_seen("PVTI_3", 3), after_s=300)
    with event_store.reading(worked) as db:
        nothing = stats.of_boards(db, SINCE, UNTIL, [CardScope(BOARD, frozenset(("acme/other",)))])
        all_of_it = stats.of_boards(db, SINCE, UNTIL, [CardScope(BOARD, frozenset(("acme/app",)))])
        elsewhere = stats.of_boards(db, SINCE, UNTIL, [])
    assert (nothing.runs, nothing.usd, nothing.merged, nothing.people_s) == (0, 0, 0, 0)
    assert (elsewhere.runs, elsewhere.usd, elsewhere.usd_by["person"]) == (0, 0, ())
    assert (all_of_it.runs, all_of_it.usd) == (2, 2.25)


def test_no_merge_is_counted_for_whoever_may_not_read_where_a_run_of_its_card_worked(worked: Engine) -> None:
    secret = replace(run_queued("r3", CARD, 2), repository="acme/secret")
    write(worked, secret, AssistantMetered(CARD, 0.125, 10), after_s=300)
    with event_store.reading(worked) as db:
        some = stats.of_boards(db, SINCE, UNTIL, [CardScope(BOARD, frozenset(("acme/app",)))])
        whole = stats.of_boards(db, SINCE, UNTIL, [CardScope(BOARD, frozenset(("acme/app", "acme/secret")))])
    assert (some.merged, some.usd_per_merge, some.hours_per_merge) == (0, None, None)
    assert (whole.merged, whole.usd_per_merge, whole.hours_per_merge) == (1, 1.625, 0.5)


def test_no_merge_is_counted_for_whoever_may_not_read_where_it_was_merged(worked: Engine) -> None:
    write(worked, PullOpened(OTHER, "acme/secret", 8, "PR_8", "cardinal/r2", "b" * 40, False), after_s=300)
    write(worked, PullChanged(OTHER, 8, PullState.MERGED, False, "b" * 40), after_s=310)
    with event_store.reading(worked) as db:
        assert stats.of_boards(db, SINCE, UNTIL, [CardScope(BOARD, frozenset(("acme/app",)))]).merged == 1
        assert stats.of_boards(db, SINCE, UNTIL).merged == 2


@pytest.mark.parametrize(
    "settings", ['{"model": "large"}', "[1]", "not JSON", '{"model": null}', "[" * 100_000]
)
def test_dollars_count_for_the_model_of_the_stage_that_spent_them(ledger: Engine, settings: str) -> None:
    column = "large" if "large" in settings else "default"
    stage = StageEntered(RUN, "review", 1, 1, "", "policy", False, "", "", "", "small", "a" * 40)
    write(ledger, board_seen(), card_seen(), replace(run_queued(), settings=settings))
    write(ledger, UsageMetered(RUN, 1.0, 1, 1, 1, 1.0), stage, UsageMetered(RUN, 0.25, 1, 1, 1, 1.0))
    write(ledger, UsageMetered(RUN, 0.25, 1, 1, 1, 1.0))
    with event_store.reading(ledger) as db:
        figures = stats.of_boards(db, SINCE, UNTIL)
    assert figures.usd_by["model"] == (
        SpendShare(f"scripted {column}", 1.0),
        SpendShare("scripted small", 0.5),
    )
    assert figures.usd == 1.5


def moves(engine: Engine, *states: tuple[CardState, float]) -> None:
    for (before, _), (after, at) in pairwise(((CardState.QUEUED, 0), *states)):
        write(engine, CardStateChanged(CARD, before, after, ""), after_s=at)


def test_a_card_waits_for_a_worker_anew_each_time_that_it_is_queued(ledger: Engine) -> None:
    write(ledger, board_seen(), card_seen())
    moves(
        ledger,
        (CardState.WORKING, 10),
        (CardState.NEEDS_INPUT, 20),
        (CardState.QUEUED, 36_000),
        (CardState.WORKING, 36_005),
    )
    with event_store.reading(ledger) as db:
        figures = stats.of_boards(db, SINCE, later(36_015))
    assert (figures.workers_s, figures.people_s, figures.agents_s) == (15, 35_980, 20)
    assert figures.waits == (CardWait("acme/app", 1, "Issue 1", 35_980, 15, 20),)


def test_a_wait_over_midnight_is_shared_among_its_days_and_no_second_is_lost(ledger: Engine) -> None:
    write(ledger, board_seen(), card_seen())
    midnight = NOW.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    to_midnight_s = (midnight - NOW).total_seconds()
    day_s = stats.DAY_S
    moves(
        ledger,
        (CardState.WORKING, 100),
        (CardState.NEEDS_INPUT, to_midnight_s),
        (CardState.WORKING, to_midnight_s + 2 * day_s + 50),
    )
    now = midnight + timedelta(days=2, seconds=60)
    with event_store.reading(ledger) as db:
        figures = stats.of_boards(db, SINCE, now)
        later_ones = stats.of_boards(db, midnight + timedelta(hours=1), now)
    first, second, third, fourth = ((midnight + timedelta(days=n)).date().isoformat() for n in range(-1, 3))
    assert figures.waits_by_day == (
        DayWaits(first, 0, 100, to_midnight_s - 100),
        DayWaits(second, day_s, 0, 0),
        DayWaits(third, day_s, 0, 0),
        DayWaits(fourth, 50, 0, 10),
    )
    assert later_ones.waits_by_day[0] == DayWaits(second, day_s - 3600, 0, 0)


def test_two_changes_in_one_instant_are_two_waits_and_sums_count_more_cards_than_are_listed(
    ledger: Engine,
) -> None:
    cards = [CardId(f"C{number}") for number in range(stats.MAX_WAITS + 2)]
    events = (replace(card_seen(card, number), arrived=False) for number, card in enumerate(cards, start=1))
    write(ledger, board_seen(), *events)
    for number, card in enumerate(cards):
        for before, after in pairwise((CardState.DRAFT, CardState.NEEDS_INPUT, CardState.QUEUED)):
            write(ledger, CardStateChanged(card, before, after, ""), after_s=100 - number)
    with event_store.reading(ledger) as db:
        assert count(db, waits, card_id="C0") == 2
        figures = stats.of_boards(db, SINCE, later(100))
    assert [wait.number for wait in figures.waits] == list(range(len(cards), 2, -1))
    assert figures.workers_s == sum(range(len(cards)))


@pytest.mark.parametrize("state", ATTENTION)
def test_a_card_waits_for_people_in_every_state_that_needs_them_until_now(
    ledger: Engine, state: CardState
) -> None:
    write(ledger, board_seen(), card_seen())
    moves(ledger, (state, 100))
    with event_store.reading(ledger) as db:
        figures, rest = stats.of_boards(db, SINCE, later(400)), stats.of_boards(db, later(300), later(400))
    assert (figures.people_s, rest.people_s) == (300, 100)
    write(ledger, CardArchived(CARD, "archived"), after_s=500)
    with event_store.reading(ledger) as db:
        assert stats.of_boards(db, SINCE, later(9000)).people_s == 400


def test_no_wait_tells_of_a_card_that_worked_where_its_reader_may_not_read(ledger: Engine) -> None:
    secret = replace(run_queued(), repository="acme/secret")
    write(ledger, board_seen(), card_seen(), secret)
    moves(ledger, (CardState.NEEDS_INPUT, 100))
    with event_store.reading(ledger) as db:
        some = stats.of_boards(db, SINCE, later(400), [CardScope(BOARD, frozenset(("acme/app",)))])
        whole = stats.of_boards(
            db, SINCE, later(400), [CardScope(BOARD, frozenset(("acme/app", "acme/secret")))]
        )
    assert (some.waits, some.people_s, some.workers_s) == ((), 0, 0)
    assert (whole.people_s, whole.workers_s) == (300, 100)
