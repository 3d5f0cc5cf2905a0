"""A run starts on the host with its files while that takes runs, and only where its column's labels are."""

from dataclasses import replace

from ledger.ids import RunId
from rules.policy.model import Policy
from rules.runs.queue import HostCapacity, RunSelection, Waiting, choose_runs
from tests.rules.runs.test_queue import IDLE, waits
from tests.rules.scene import POLICY


def demanding(*labels: str) -> Policy:
    """Return the policy whose column In Progress demands these labels."""
    columns = dict(POLICY.board.columns)
    columns["In Progress"] = columns["In Progress"].model_copy(update={"runs_on": labels, "concurrency": 9})
    board = POLICY.board.model_copy(update={"columns": columns})
    return POLICY.model_copy(update={"board": board})


def chosen(
    *waiting: Waiting, capacities: tuple[HostCapacity, ...], policy: Policy | None = None
) -> RunSelection:
    return choose_runs(policy or demanding(), waiting, IDLE, (), capacities=capacities)


def of(host: str, number: int = 1) -> Waiting:
    """Return a run whose card's files are on that host."""
    return replace(waits(number), host=host)


B, C = HostCapacity("b", 2), HostCapacity("c", 1, ("eu", "gpu"))


def test_a_run_goes_back_to_the_host_with_its_files_while_that_takes_runs() -> None:
    assert chosen(of("b"), capacities=(B, C)).hosts == {"r1": "b"}
    assert chosen(of("c"), capacities=(B, C)).hosts == {"r1": "c"}
    away = chosen(of("dead"), capacities=(B, C))
    assert (away.starts, away.hosts) == (("r1",), {})


def test_a_run_whose_host_is_busy_waits_for_it_and_lets_others_pass() -> None:
    run_selection = chosen(of("c"), of("c", 2), waits(3), capacities=(B, C))
    assert run_selection.starts == ("r1", "r3")
    said = "no worker is free on host c, which has its files"
    assert run_selection.reasons == {"r2": said}


def test_a_run_without_files_starts_anywhere_and_takes_one_worker() -> None:
    run_selection = chosen(*(waits(n) for n in range(1, 6)), capacities=(B, C))
    assert run_selection.starts == ("r1", "r2", "r3")
    assert run_selection.hosts == {}
    assert sum(capacity.free for capacity in run_selection.free) == 0
    assert run_selection.reasons[RunId("r4")] == "no worker is free"


def test_the_labels_of_a_column_are_demanded_all_of_them() -> None:
    run_selection = chosen(waits(1), capacities=(B, C), policy=demanding("gpu", "eu"))
    assert run_selection.hosts == {"r1": "c"}
    run_selection = chosen(of("b"), capacities=(B, C), policy=demanding("gpu"))
    assert run_selection.hosts == {"r1": "c"}, "the host with its files has not the label"


def test_labels_that_no_host_has_are_named_with_what_to_do() -> None:
    run_selection = chosen(waits(1), capacities=(B, C), policy=demanding("gpu", "us"))
    assert run_selection.starts == ()
    assert run_selection.reasons == {
        "r1": "no host that takes runs has the labels gpu, us: start one with"
        " `CARDINAL_LABELS=gpu,us`, or change `runs_on` of the column"
    }


def test_of_several_that_fit_the_host_that_asks_is_first() -> None:
    d = HostCapacity("d", 5, ("gpu",))
    run_selection = choose_runs(demanding("gpu"), (waits(1),), IDLE, (), capacities=(B, C, d), host="c")
    assert run_selection.hosts == {"r1": "c"}
    run_selection = choose_runs(demanding("gpu"), (waits(1),), IDLE, (), capacities=(B, C, d), host="b")
    assert run_selection.hosts == {"r1": "d"}


def test_one_host_is_bound_to_nothing() -> None:
    run_selection = chosen(of("b"), of("elsewhere", 2), capacities=(B,))
    assert (run_selection.starts, run_selection.hosts) == (("r1", "r2"), {})
