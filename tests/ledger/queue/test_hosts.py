"""Hosts are known by their heartbeats, by the database's clock, and can be drained."""

from datetime import timedelta

from sqlalchemy import Engine

from ledger.db.clock import database_now
from ledger.db.tables import hosts as table
from ledger.db.transactions import reading, writing
from ledger.queue import hosts


def beat(engine: Engine, name: str, *, slots: int = 2, labels: tuple[str, ...] = ()) -> None:
    with writing(engine) as db:
        hosts.beat(db, name, slots=slots, labels=labels, version="1.0")


def fall_silent(engine: Engine, name: str) -> None:
    """Let the host's last heartbeat be as old as that of a dead one."""
    with writing(engine) as db:
        then = database_now(db) - hosts.DEAD_AFTER
        db.execute(table.update().where(table.c.name == name).values(seen_at=then))


def at_work(engine: Engine) -> list[str]:
    with reading(engine) as db:
        return [row.name for row in hosts.list_hosts(db).at_work]


def test_a_host_lives_while_its_heart_beats_and_offers_what_it_said_last(ledger: Engine) -> None:
    beat(ledger, "b")
    beat(ledger, "c")
    beat(ledger, "b", slots=5, labels=("eu", "gpu"))
    with reading(ledger) as db:
        b, c = hosts.list_hosts(db).rows
    assert (b.name, b.slots, b.labels, b.version, b.drained) == ("b", 5, ("eu", "gpu"), "1.0", False)
    assert c.slots == 2
    fall_silent(ledger, "b")
    assert at_work(ledger) == ["c"]
    beat(ledger, "b")
    assert at_work(ledger) == ["b", "c"]


def test_a_drained_host_stays_drained_over_its_heartbeats(ledger: Engine) -> None:
    beat(ledger, "b")
    with writing(ledger) as db:
        assert hosts.drain(db, "b", drained=True)
        assert not hosts.drain(db, "x", drained=True)
    beat(ledger, "b")
    assert at_work(ledger) == []
    with writing(ledger) as db:
        hosts.drain(db, "b", drained=False)
    assert at_work(ledger) == ["b"]


def test_a_host_is_forgotten_until_its_heart_beats_again(ledger: Engine) -> None:
    beat(ledger, "b")
    with writing(ledger) as db:
        assert hosts.remove_host(db, "b")
        assert not hosts.remove_host(db, "b")
    assert at_work(ledger) == []
    beat(ledger, "b")
    assert at_work(ledger) == ["b"]


def test_the_clock_is_the_databases_and_moves_within_a_transaction(ledger: Engine) -> None:
    with writing(ledger) as db:
        before = database_now(db)
        assert before.utcoffset() == timedelta(0)
        while (after := database_now(db)) == before:
            pass
        assert timedelta(0) < after - before < timedelta(seconds=5)
