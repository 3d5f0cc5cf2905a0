"""Which runs start: by the card's place, within every limit; each one that waits is told why."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.ids import BoardId, CardId, RunId
from ledger.model.spend_limits import Limit
from ledger.rows.halts import HaltRow
from ledger.rows.stops import StopRow
from ledger.states import Reason
from rules.runs.queue import Demand, HostCapacity, Load, RunSelection, Waiting, choose_runs, shares
from tests.rules.scene import BOARD, NOW, POLICY, a_stop

IDLE = Load(0, {}, {})


def waits(number: int, *, rank: int = 0, repository: str = "", column: str = "In Progress") -> Waiting:
    card, repository = CardId(f"c{number}"), repository or f"acme/s{number}"
    at = NOW + timedelta(seconds=number)
    return Waiting(RunId(f"r{number}"), card, column, column, repository, rank, at, by="alice", wish_usd=2.0)


def chosen(
    *waiting: Waiting, load: Load = IDLE, stops: tuple[StopRow, ...] = (), slots: int = 10
) -> RunSelection:
    return choose_runs(POLICY, waiting, load, stops, capacities=(HostCapacity("", slots),))


def test_the_card_higher_in_its_column_starts_first_then_the_older() -> None:
    assert chosen(waits(1, rank=2), waits(3, rank=1), waits(2, rank=1)).starts == ("r2", "r3", "r1")


def test_what_was_given_to_another_owner_waits_until_it_is_back() -> None:
    away, waiting = waits(1, repository="beta/shop"), waits(2, repository="Acme/shop")
    run_selection = choose_runs(
        POLICY, (away, waiting), IDLE, (), capacities=(HostCapacity("", 10),), owner="acme"
    )
    assert run_selection.starts == ("r2",)
    said = "beta/shop is outside acme: name another repository, or transfer it back"
    assert run_selection.reasons == {"r1": said}


def test_a_column_runs_no_more_than_its_limit() -> None:
    load = replace(IDLE, total=1, by_column={"In Progress": 1})
    run_selection = chosen(*(waits(n) for n in range(1, 7)), load=load)
    assert run_selection.starts == ("r1", "r2")
    assert run_selection.reasons[RunId("r3")] == "In Progress is full with 3 runs"
    assert run_selection.reasons[RunId("r5")] == "In Progress is full with 3 runs"
    assert not run_selection.codes


def test_a_repository_runs_no_more_than_its_limit_and_others_pass_by() -> None:
    shop = [waits(n, rank=n, repository="acme/shop") for n in (1, 2)]
    run_selection = chosen(*shop, waits(3, rank=3), load=replace(IDLE, by_repository={"acme/shop": 1}))
    assert run_selection.starts == ("r1", "r3")
    assert run_selection.reasons == {"r2": "acme/shop is full with 2 runs"}


@pytest.mark.parametrize(
    ("load", "slots", "said", "code"),
    [
        (replace(IDLE, total=6), 10, "the board is full with 6 runs", Reason.OTHER),
        (
            replace(IDLE, spent={(Limit.DAY, ""): 50.126}),
            10,
            "the board's budget for today of $50.00 is used up: $50.13 spent: raise"
            " `limits: {usd_per_day: …}`, or it continues after midnight UTC",
            Reason.BUDGET,
        ),
        (replace(IDLE, by_repository={"acme/s1": 2}), 10, "acme/s1 is full with 2 runs", Reason.OTHER),
        (IDLE, 0, "no worker is free", Reason.OTHER),
        (
            replace(IDLE, github_at=NOW),
            0,
            "GitHub takes no more calls before 12:00 UTC (its limit): it starts on its own then",
            Reason.GITHUB_LIMIT,
        ),
        (
            replace(IDLE, halt=HaltRow(BOARD, "key", "no key", until=NOW, tries=1, at=NOW)),
            0,
            "the board is halted: no key (one run tries at 12:00 UTC; /cardinal resume board)",
            Reason.HALTED,
        ),
    ],
)
def test_each_limit_holds_and_says_so(load: Load, slots: int, said: str, code: Reason) -> None:
    run_selection = chosen(waits(1), load=load, slots=slots)
    codes = {RunId("r1"): code} if code else {}
    assert run_selection == RunSelection((), {RunId("r1"): said}, codes=codes)


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        (
            a_stop("board", BOARD, "alice"),
            "the board is stopped by alice: /cardinal resume board resumes it",
        ),
        (
            a_stop("column", "In Progress", "al"),
            "the column is stopped by al: /cardinal resume column resumes it",
        ),
        (a_stop("card", "c1", "alice"), "the card is stopped by alice: /cardinal resume resumes"),
    ],
)
def test_a_stop_holds_what_it_covers(stop: StopRow, said: str) -> None:
    run_selection = chosen(waits(1), stops=(stop,))
    assert said in run_selection.reasons[RunId("r1")]
    assert run_selection.codes == {"r1": Reason.STOPPED}


def test_a_stop_holds_nothing_else() -> None:
    stops = (a_stop("column", "Other", "alice"), a_stop("card", "c2", "alice"))
    assert chosen(waits(1), stops=stops).starts == ("r1",)


def test_a_run_of_a_column_that_is_none_any_more_waits_and_says_so() -> None:
    assert "not an execution column" in chosen(waits(1, column="Gone")).reasons[RunId("r1")]


@pytest.mark.parametrize("stands", [None, "Tasks", "Doing"])
def test_a_run_whose_card_stands_where_no_agent_works_waits(stands: str | None) -> None:
    run_selection = chosen(replace(waits(1), stands=stands))
    assert run_selection.starts == ()
    said = f"its card is in `{stands}`" if stands else "its card is not in a column"
    assert said in run_selection.reasons[RunId("r1")]


def test_a_run_whose_card_was_dragged_away_waits_for_the_answer() -> None:
    assert "answer the question" in chosen(replace(waits(1), leaving=True)).reasons[RunId("r1")]


def test_ten_thousand_waiting_runs_are_ordered_and_none_is_forgotten() -> None:
    waiting = [waits(n, rank=-n) for n in range(10_000)]
    run_selection = chosen(*waiting)
    assert run_selection.starts == ("r9999", "r9998", "r9997")
    assert len(run_selection.reasons) == 9_997


def checks(number: int, **differs: str) -> Waiting:
    return replace(waits(number, **differs), models=False)  # type: ignore[arg-type]


def test_a_check_needs_no_column_no_dollars_and_no_agents_place() -> None:
    full = Load(6, {"acme/s1": 2}, {"In Progress": 3}, {(Limit.DAY, ""): 50.126})
    assert chosen(checks(1), load=full).starts == ("r1",)
    assert chosen(checks(1, column="Renamed")).starts == ("r1",)
    both = chosen(checks(1), *(waits(n) for n in range(2, 6)))
    assert both.starts == ("r1", "r2", "r3", "r4")  # three agents fit into the column all the same
    assert both.grants[RunId("r1")].usd == 0


def test_no_more_checks_run_at_once_than_a_few() -> None:
    run_selection = chosen(*(checks(n) for n in range(1, 4)), load=replace(IDLE, checks=1))
    assert run_selection.starts == ("r1",)
    assert run_selection.reasons[RunId("r3")] == "2 checks run already"
    assert chosen(checks(1), slots=0).reasons == {"r1": "no worker is free"}


def demand(name: str, ready: int, held: int = 0, weight: int = 1) -> Demand:
    return Demand(BoardId(name), ready, held, weight)


@pytest.mark.parametrize(
    ("demands", "free", "taken"),
    [
        ((demand("a", 50), demand("b", 50)), 4, {"a": 2, "b": 2}),
        ((demand("a", 50, weight=3), demand("b", 50)), 8, {"a": 6, "b": 2}),
        ((demand("a", 50, held=4), demand("b", 50)), 4, {"a": 0, "b": 4}),
        ((demand("a", 1), demand("b", 50)), 8, {"a": 1, "b": 7}),
        ((demand("a", 50), demand("b", 1)), 1, {"a": 1, "b": 0}),
        ((demand("a", 0), demand("b", 2)), 8, {"a": 0, "b": 2}),
    ],
)
def test_boards_share_the_workers_by_their_weights(
    demands: tuple[Demand, ...], free: int, taken: dict[str, int]
) -> None:
    assert shares(demands, free) == taken


def test_a_board_that_has_its_share_says_so() -> None:
    selection = choose_runs(
        POLICY, (waits(1), waits(2)), IDLE, (), capacities=(HostCapacity("", 10),), most=1
    )
    assert selection.starts == ("r1",)
    assert selection.reasons == {"r2": "the free workers go to other boards first"}


def test_one_run_at_a_time_works_in_a_folder_and_the_others_are_told_which() -> None:
    both = [replace(waits(number), folder="b/journal") for number in (1, 2)]
    other, none = replace(waits(3), folder="b/notes"), waits(4)
    selection = chosen(*both, other, none)
    assert selection.starts == ("r1", "r3", "r4")
    assert selection.reasons[RunId("r2")].startswith("r1 works in the same folder")
    busy = chosen(*both, load=replace(IDLE, folders={"b/journal": RunId("r9")}))
    assert (busy.starts, busy.reasons[RunId("r1")].split()[0]) == ((), "r9")
