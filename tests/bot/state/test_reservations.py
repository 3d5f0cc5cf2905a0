"""A claim reserves what its run may spend: a limit is passed by no more than a call that was under way."""

from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest
from sqlalchemy import Engine

from bot.scheduler import dispatch
from bot.state import forecasts
from ledger.events.budget import BudgetRaised, BudgetReserved
from ledger.events.conversation import CommandGiven
from ledger.events.run import QuestionAnswered, RunRequeued, RunStepped
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.model.spend_limits import Limit
from ledger.rows.limit_answers import GO_ON
from ledger.states import RunState
from ledger.views import budgets, cards, runs
from ledger.views.spend import sum_by_limit as shared_spend
from rules.runs.forecast import Outlook
from tests.bot.state import board
from tests.bot.state.board import BOARD, NOW, claim, end, furnish, grants, park, policy, row, spend, tell
from tests.warm import Warm

A, B = board.COLUMNS
R1, R2 = RunId("r1"), RunId("r2")


def state(engine: Engine, run_id: RunId) -> RunState:
    with event_store.reading(engine) as db:
        run = runs.get(db, run_id)
    assert run is not None
    return run.state


def because(engine: Engine, card_id: str) -> str:
    with event_store.reading(engine) as db:
        card = cards.get(db, CardId(card_id))
    assert card is not None
    return card.because


def command(text: str, card_id: str = "c1") -> CommandGiven:
    return CommandGiven(CardId(card_id), "budget", text, "ann", "maintain", "issue", 77, "77")


def test_a_claim_reserves_the_runs_whole_budget_where_nothing_is_scarce(ledger: Engine) -> None:
    furnish(ledger, policy(), [(A, "ann")])
    assert claim(ledger, R1)
    assert grants(ledger) == [BudgetReserved(R1, 2.0, "", 0.0)]
    spend(ledger, R1, 0.5)
    assert (row(ledger, R1).open_usd, row(ledger, R1).spent_usd) == (1.5, 0.5)


def test_a_forecast_counts_what_running_work_has_reserved(ledger: Engine) -> None:
    furnish(ledger, policy("usd_per_day: 2"), [(A, "ann")])
    assert claim(ledger, R1)
    spend(ledger, R1, 0.5)
    with event_store.reading(ledger) as db:
        day, *_ = forecasts.board_forecast(db, BOARD, NOW)
    assert (day.spent_usd, day.reserved_usd, day.outlook) == (0.5, 1.5, Outlook.RESERVED)
    assert forecasts.forecast_words(day).startswith(
        "$0.50 of $2.00 today and $1.50 reserved, the rest is reserved:"
    )


def test_what_is_left_of_a_limit_is_all_that_the_next_run_gets(ledger: Engine) -> None:
    furnish(ledger, policy("usd_total: 3"), [(A, "ann"), (A, "bob"), (B, "bob")])
    assert claim(ledger, R1)
    assert claim(ledger, R2)
    assert grants(ledger)[-1] == BudgetReserved(R2, 1.0, "usd_total", 3.0)
    assert not claim(ledger, RunId("r3"))
    dispatch.ready_runs(ledger, now=NOW, slots=50)
    assert "$0.00 spent and $3.00 reserved by r1, r2" in because(ledger, "c3")


@pytest.mark.parametrize("how", ["park", "end", "requeue", "approval"])
def test_a_run_that_no_worker_holds_reserves_nothing(ledger: Engine, how: str) -> None:
    furnish(ledger, policy("usd_total: 2"), [(A, "ann"), (A, "bob")])
    assert claim(ledger, R1)
    spend(ledger, R1, 0.5)
    assert not claim(ledger, R2)
    match how:
        case "park":
            park(ledger, R1)
        case "end":
            end(ledger, R1)
        case "requeue":
            tell(ledger, RunRequeued(R1, "reclaimed"))
        case _:
            steps = (RunState.CLAIMED, RunState.PREPARING, RunState.PLANNING, RunState.AWAITING_APPROVAL)
            tell(ledger, *(RunStepped(R1, *pair) for pair in pairwise(steps)))
    assert row(ledger, R1).open_usd == 0
    dispatch.ready_runs(ledger, now=NOW, slots=50)
    if how == "requeue":  # it stands in front of the other in the queue
        assert claim(ledger, R1)
        assert grants(ledger)[-1].usd == 1.5
    else:
        assert claim(ledger, R2)
        assert grants(ledger)[-1] == BudgetReserved(R2, 1.5, "usd_total", 2.0)


def test_a_day_is_over_at_midnight_utc(ledger: Engine) -> None:
    furnish(ledger, policy("usd_per_person: 1"), [(A, "ann"), (A, "ann"), (A, "bob")])
    assert claim(ledger, R1)
    spend(ledger, R1, 1.0)
    end(ledger, R1)
    assert not claim(ledger, R2)
    assert claim(ledger, RunId("r3")), "another person has an own budget"
    assert claim(ledger, R2, NOW + timedelta(days=1))


def test_more_dollars_answer_the_question_and_let_the_run_go_on(ledger: Engine) -> None:
    furnish(ledger, policy(), [(A, "ann")])
    assert claim(ledger, R1)
    spend(ledger, R1, 2.03)
    park(ledger, R1)
    tell(ledger, command("+2"))
    assert state(ledger, R1) is RunState.QUEUED
    assert row(ledger, R1).budget_usd == 4.0, "as much as was said, and not as much again on top"
    assert claim(ledger, R1)
    assert grants(ledger)[-1].usd == pytest.approx(1.97)


def test_as_much_again_is_the_columns_budget_once_more(ledger: Engine) -> None:
    furnish(ledger, policy(), [(A, "ann")])
    assert claim(ledger, R1)
    for answer, budget_usd in ((GO_ON.label, 4.0), ("1", 6.0), ("yes", 8.0), ("no", 8.0)):
        question_id = park(ledger, R1)
        tell(ledger, QuestionAnswered(R1, question_id, "ann", answer), RunRequeued(R1, "answered"))
        assert row(ledger, R1).budget_usd == budget_usd
        assert claim(ledger, R1)


def test_a_raise_while_the_run_works_reserves_more_at_once_as_far_as_limits_allow(ledger: Engine) -> None:
    furnish(ledger, policy("usd_per_card: 5"), [(A, "ann")])
    assert claim(ledger, R1)
    spend(ledger, R1, 0.5)
    tell(ledger, command("+2"))
    assert grants(ledger)[-1] == BudgetReserved(R1, 3.5, "", 0.0)
    tell(ledger, command("+9", "c1"))
    assert grants(ledger)[-1] == BudgetReserved(R1, 4.5, "usd_per_card", 5.0)
    tell(ledger, command("+9"))
    assert len(grants(ledger)) == 3, "there is no more to reserve"
    assert row(ledger, R1).budget_usd == 22.0


def test_a_raise_of_a_run_that_ended_meanwhile_is_dropped(ledger: Engine) -> None:
    furnish(ledger, policy(), [(A, "ann")])
    assert claim(ledger, R1)
    end(ledger, R1)
    tell(ledger, command("+2"))
    with event_store.reading(ledger) as db:
        assert not [one for one in event_store.read(db, limit=1000) if isinstance(one.event, BudgetRaised)]


def test_processes_that_claim_at_once_promise_no_dollar_twice(ledger: Engine, ledger_url: str) -> None:
    wanted = [(A if n % 2 else B, "ann" if n % 3 else "bob") for n in range(12)]
    names = furnish(ledger, policy("usd_total: 11, usd_per_person: 7"), wanted)
    orders = [names[n:] + names[:n] for n in (0, 4, 8)]
    workers = [Warm(board.claim_all, ledger_url, *order) for order in orders]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:  # all of them go on before one is waited for
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.finish()
    told = grants(ledger)
    assert len({event.run_id for event in told}) == len(told)
    by = {event.run_id: row(ledger, event.run_id).by for event in told}
    for person in ("ann", "bob"):
        assert sum(event.usd for event in told if by[event.run_id] == person) <= 7
    assert sum(event.usd for event in told) == pytest.approx(11), "and nothing is kept back, either"


LIMITS = {Limit.BOARD: 12.0, Limit.CARD: 3.0, Limit.PERSON: 5.0, Limit.COLUMN: 6.0, Limit.DAY: 9.0}
SCARCE = policy("usd_total: 12, usd_per_card: 3, usd_per_person: 5, usd_per_day: 9", ", usd_per_day: 6.0")
DEAREST_USD = 0.4  # of one call


@pytest.mark.parametrize(
    ("ledger_url", "seed"),
    [("sqlite", 0), ("postgresql", 1)],
    indirect=["ledger_url"],
)
def test_whatever_happens_no_limit_is_passed_by_more_than_the_call_under_way(
    ledger: Engine, seed: int
) -> None:
    chance = Random(seed)
    names = furnish(ledger, SCARCE, [(chance.choice(board.COLUMNS), chance.choice("ab")) for _ in range(8)])
    over_usd = 0.0  # what calls cost beyond what their runs had reserved
    for _ in range(70):
        over_usd += _happen(ledger, chance, chance.choice(names))
        with event_store.reading(ledger) as db:
            held_budgets = [budget for run_id in names if (budget := budgets.get(db, run_id))]
            paid = shared_spend(db, BOARD, NOW.date(), [budget.card_id for budget in held_budgets])
        for shared, name in paid:
            reserved = sum(budget.open_usd for budget in held_budgets if _counts(budget, shared, name))
            assert paid[shared, name] + reserved <= LIMITS[shared] + over_usd + 1e-9
    assert paid[Limit.BOARD, ""] == pytest.approx(sum(budget.spent_usd for budget in held_budgets))
    assert paid[Limit.BOARD, ""] > 3, "nothing much happened"


def _counts(budget: budgets.BudgetRow, shared: Limit, name: str) -> bool:
    named = {Limit.CARD: budget.card_id, Limit.COLUMN: budget.column, Limit.PERSON: budget.by}
    return named.get(shared, "") == name


def _happen(engine: Engine, chance: Random, run_id: RunId) -> float:
    """Let something happen to the run; return the dollars that it spent without having reserved them."""
    run_state, open_usd, raise_to = state(engine, run_id), row(engine, run_id).open_usd, f"c{run_id[1:]}"
    if run_state is RunState.QUEUED:
        claim(engine, run_id)
    elif run_state is RunState.PARKED:
        tell(engine, command("+1.50", raise_to))
    elif run_state is RunState.ENDED:
        return 0.0
    elif open_usd <= 0 or chance.random() < 0.1:  # its supervisor stops it when the reservation is used up
        chance.choice((park, park, park, end))(engine, run_id)
    elif chance.random() < 0.1:
        tell(engine, command("+1", raise_to))
    else:
        usd = round(chance.uniform(0.01, DEAREST_USD), 4)
        spend(engine, run_id, usd)
        return max(0.0, usd - open_usd)
    return 0.0
