"""Hosts as people see them: a state, and the runs at work there."""

from datetime import timedelta

from sqlalchemy import Engine

from ledger.events.run import RunClaimed
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries.hosts import HostState, statuses
from ledger.queue import hosts
from tests.ledger.queue.test_hosts import beat, fall_silent
from tests.ledger.samples import NOW, board_seen, card_seen, run_queued


def test_each_host_has_a_state_and_the_runs_that_its_workers_hold(ledger: Engine) -> None:
    for name in ("b", "c", "d"):
        beat(ledger, name)
    with event_store.writing(ledger) as db:
        hosts.drain(db, "c", drained=True)
        hosts.drain(db, "d", drained=True)
        event_store.append(db, board_seen(), at=NOW)
        for number, host in enumerate(("c", "b", "c")):
            card_id, run_id = f"c{number}", f"r{number}"
            event_store.append(db, card_seen(card_id, number), run_queued(run_id, card_id), at=NOW)
            event_store.append(db, RunClaimed(RunId(run_id), 1, f"{host}-1", host), at=NOW)
        event_store.append(db, card_seen("c9", 9), run_queued("r9", "c9"), at=NOW)
    fall_silent(ledger, "d")
    with event_store.reading(ledger) as db:
        b, c, d = statuses(db)
    assert [host.state for host in (b, c, d)] == [HostState.ALIVE, HostState.DRAINED, HostState.DEAD]
    assert (b.runs, c.runs, d.runs) == (("r1",), ("r0", "r2"), ())
    assert d.silence >= hosts.DEAD_AFTER > timedelta(seconds=15) > b.silence
