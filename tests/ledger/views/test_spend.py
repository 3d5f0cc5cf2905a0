"""What the views say about dollars: each run's own and what it reserved, and the sums that runs share."""

from datetime import date, timedelta

import pytest
from sqlalchemy import Connection, Engine

from ledger.db.rows import list_rows
from ledger.event import Event
from ledger.events import agent, budget, conversation, run
from ledger.ids import CardId, QuestionId, RunId
from ledger.log import event_store
from ledger.model.spend_limits import Limit
from ledger.rows import limit_answers
from ledger.rows.limit_answers import Code, Subject
from ledger.states import Ending, RunState
from ledger.views import budgets, observations, runs, spend
from tests.ledger.samples import BOARD, CARD, NOW, RUN, card_seen, later, run_queued

Q1 = QuestionId("r1-q1")


def queued(settings: str = '{"budget_usd": 2.0}') -> run.RunQueued:
    event = run_queued()
    return run.RunQueued(
        **{name: getattr(event, name) for name in event.__slots__ if name != "settings"},
        run_id=event.run_id,
        settings=settings,
    )


def told(db: Connection, *events: Event) -> None:
    event_store.append(db, *events, at=NOW)


def row(db: Connection) -> budgets.BudgetRow:
    found_budget = budgets.get(db, RUN)
    assert found_budget is not None
    return found_budget


@pytest.mark.parametrize(
    ("settings", "usd"),
    [('{"budget_usd": 2.5}', 2.5), ("{}", 0), ("", 0), ("[1]", 0), ('{"budget_usd": NaN}', 0),
     ('{"budget_usd": 1e999}', 0), ('{"budget_usd": "2"}', 0), ("[" * 100_000, 0), ('{"budget_usd": -1}', 0)],
)  # fmt: skip
def test_a_runs_budget_is_its_columns(ledger: Engine, settings: str, usd: float) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), queued(settings))
        assert (row(db).base_usd, row(db).budget_usd, row(db).board_id) == (usd, usd, BOARD)


def test_a_reservation_is_used_up_by_what_is_spent_and_never_below_nothing(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), queued(), run.RunClaimed(RUN, 1, "w"))
        told(db, budget.BudgetReserved(RUN, 1.5, "usd_total", 9.0))
        told(db, run.UsageMetered(RUN, 0.5, 1, 1, 1, 1.0))
        it = row(db)
        assert (it.granted_usd, it.open_usd, it.spent_usd, it.by_rule, it.limit_usd) == (
            1.5, 1.0, 0.5, "usd_total", 9.0,
        )  # fmt: skip
        assert [one.run_id for one in budgets.list_reserved(db, BOARD)] == [RUN]
        told(db, run.UsageMetered(RUN, 1.2, 1, 1, 1, 1.0))
        assert (row(db).open_usd, row(db).spent_usd) == (0.0, 1.7)
        assert budgets.list_reserved(db, BOARD) == ()
        assert budgets.of_runs(db, (RUN, RunId("r9"))) == {RUN: row(db)}


@pytest.mark.parametrize(
    "event",
    [
        run.RunParked(RUN, "question"),
        run.RunRequeued(RUN, "reclaimed"),
        run.RunEnded(RUN, Ending.FAILED, "agent_error", "", "working"),
        run.RunStepped(RUN, RunState.PLANNING, RunState.AWAITING_APPROVAL),
    ],
)
def test_who_leaves_the_worker_gives_its_reservation_back(ledger: Engine, event: Event) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), queued(), run.RunClaimed(RUN, 1, "w"), budget.BudgetReserved(RUN, 1.5, "", 0.0))
        told(db, run.RunStepped(RUN, RunState.CLAIMED, RunState.PREPARING))
        told(db, run.RunStepped(RUN, RunState.PREPARING, RunState.PLANNING))
        assert row(db).open_usd == 1.5
        told(db, event)
        assert row(db).open_usd == 0


@pytest.mark.parametrize(("code", "usd"), [(Code.GO_ON, 4.0), (Code.STOP, 2.0), (Code.WORDS, 2.0)])
def test_as_much_again_is_what_was_chosen_and_by_the_first_answer_alone(
    ledger: Engine, code: Code, usd: float
) -> None:
    event = limit_answers.question(RUN, Q1, Subject.BUDGET, "?", (limit_answers.GO_ON, limit_answers.STOP))
    with event_store.writing(ledger) as db:
        told(db, card_seen(), queued(), event)
        told(
            db,
            limit_answers.answer_question(
                event, by="ann", text="Continue, with the same limits again", code=code
            ),
        )
        told(db, limit_answers.answer_question(event, by="bo", text="1"))
        assert row(db).budget_usd == usd


@pytest.mark.parametrize("subject", [subject for subject in Subject if subject is not Subject.BUDGET])
def test_going_on_about_anything_else_adds_no_dollars(ledger: Engine, subject: Subject) -> None:
    event = limit_answers.question(RUN, Q1, subject, "?", (limit_answers.GO_ON, limit_answers.STOP))
    with event_store.writing(ledger) as db:
        told(
            db,
            card_seen(),
            queued(),
            event,
            limit_answers.answer_question(event, by="ann", text="1"),
        )
        assert row(db).budget_usd == 2.0


@pytest.mark.parametrize(("asker", "usd"), [("agent", 2.0), ("limit", 2.0), ("budget", 4.0)])
def test_a_log_without_codes_gives_an_agent_nothing(ledger: Engine, asker: str, usd: float) -> None:
    old = ("Continue, with the same limits again", "Stop here")
    with event_store.writing(ledger) as db:
        told(db, card_seen(), queued(), run.QuestionAsked(RUN, Q1, asker, "?", old))
        told(db, run.QuestionAnswered(RUN, Q1, "ann", old[0]), budget.BudgetRaised(RUN, 1.25, "ann"))
        assert row(db).budget_usd == usd + 1.25


def test_money_is_counted_by_run_card_column_and_day(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), run_queued(), run_queued("r2", attempt=2))
        for name, usd, at in ((RUN, 0.5, NOW), (RUN, 0.25, NOW), ("r2", 1.0, NOW), (RUN, 4.0, later(86_400))):
            event_store.append(db, run.UsageMetered(RunId(name), usd, 10, 2, 1, 3.0), at=at)
        assert spend.today(db, BOARD, date(2026, 11, 21)) == spend.SpendTotal(1.75, 30, 6)
        assert spend.of_card(db, CARD) == spend.SpendTotal(5.75, 40, 8)
        by_limit = spend.sum_by_limit(db, BOARD, date(2026, 11, 22), ())
        columns = {name: usd for (limit, name), usd in by_limit.items() if limit is Limit.COLUMN}
        assert columns == {"In Progress": 4.0}
        days = list_rows(db, spend.SpendRow, spend.spend, "day", run_id=RUN)
        assert [(it.day, it.usd) for it in days] == [("2026-11-21", 0.75), ("2026-11-22", 4.0)]
        now = runs.get(db, RUN)
        assert now is not None
        assert (now.usd, now.turns, now.active_s) == (4.75, 3, 9.0)


def test_sums_are_kept_by_what_is_shared_and_by_day(ledger: Engine) -> None:
    tomorrow = NOW + timedelta(days=1)
    with event_store.writing(ledger) as db:
        told(db, card_seen(), card_seen("c2", 2), queued(), run.UsageMetered(RUN, 1.0, 1, 1, 1, 1.0))
        told(db, conversation.AssistantMetered(CardId("c2"), 0.5, 100))
        event_store.append(db, run.UsageMetered(RUN, 2.0, 1, 1, 1, 1.0), at=tomorrow)
        event_store.append(db, run.UsageMetered(RunId("r-unknown"), 9.0, 1, 1, 1, 1.0), at=tomorrow)
        assert spend.sum_by_limit(db, BOARD, NOW.date(), (CARD,)) == {
            (Limit.BOARD, ""): 3.5,
            (Limit.CARD, CARD): 3.0,
            (Limit.DAY, ""): 1.5,
            (Limit.COLUMN, "In Progress"): 1.5,
            (Limit.PERSON, "ann"): 1.0,
            (Limit.PERSON, ""): 0.5,
        }
        later = spend.sum_by_limit(db, BOARD, tomorrow.date(), ())
        assert (later[Limit.DAY, ""], later[Limit.BOARD, ""]) == (2.0, 3.5)
        assert (Limit.CARD, CARD) not in later


def test_what_is_seen_beside_the_words_is_kept_for_each_run(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, agent.TodoListed(RUN, ("a", "b"), (True, False)))
        told(db, agent.TodoListed(RUN, ("a", "b", "c"), (True, True, False)))
        for number in range(60):
            told(db, agent.HostReached(RUN, f"h{number % 55}", 443, True, "listed"))
        told(db, agent.HostReached(RUN, "evil", 80, False, "not listed"))
        told(db, agent.PermissionRefused(RUN, "run", "rm", "deny"), agent.CallRefused(RUN, "rate", "x"))
        told(
            db,
            agent.ProviderFailed(RUN, "openai", 500, "x", 1),
            agent.ProviderFailed(RUN, "openai", 0, "", 2),
        )
        observation = observations.get(db, RUN)
        assert observation is not None
        assert (observation.todos, observation.ticks) == (("a", "b", "c"), "110")
        assert (len(observation.reached), observation.unreached) == (observations.MAX_HOSTS, ("evil",))
        assert (observation.denied, observation.refused_calls, observation.failures) == (1, 1, 2)
        assert (observation.failed_status, observation.failed_in_a_row) == (0, 2)
        assert observations.get(db, RunId("r9")) is None
