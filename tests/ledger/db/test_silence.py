"""A server that falls silent is an error in time, and no worker waits for one that vanished."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread, Timer

import pytest
from sqlalchemy import Connection, Engine, select, text
from sqlalchemy.exc import OperationalError

from bot.system.config import Config
from ledger.db.clock import database_now
from ledger.db.silence import ANSWER_S, CONNECT_S, SILENCE_S
from ledger.db.statements import drive
from ledger.db.transactions import HOLD_S, WAIT_S, reading, undoable, writing
from ledger.lifecycle.open import open_ledger
from runner.exec.deadline import KILL_S
from tests.waiting import until
from tests.wire import Wire, wired


@contextmanager
def by_wire(server: str, answer_s: float = ANSWER_S) -> Iterator[tuple[Engine, Wire]]:
    with wired(server) as (url, wire):
        engine = open_ledger(url, answer_s=answer_s)
        yield engine, wire
        engine.dispose()


def took_s(act: Callable[[], object]) -> float:
    began = time.monotonic()
    with pytest.raises(OperationalError):
        act()
    return time.monotonic() - began


def ask_for_the_time(engine: Engine) -> None:
    with reading(engine) as db:
        database_now(db)


def test_a_silent_server_is_noticed_and_the_turn_of_who_vanished_goes_to_the_next(
    postgresql_ledger: str,
) -> None:
    other = open_ledger(postgresql_ledger)
    waited: list[float] = []

    def take_the_turn() -> None:
        began = time.monotonic()
        with writing(other):
            waited.append(time.monotonic() - began)

    with by_wire(postgresql_ledger) as (engine, wire):

        def vanish() -> None:
            with writing(engine) as db:
                wire.cut()
                next_writer.start()
                drive(db, "SELECT pg_sleep(0)")

        next_writer = Thread(target=take_the_turn)
        assert took_s(vanish) < ANSWER_S
        next_writer.join(60)
        assert 0 < sum(waited) < WAIT_S
        assert took_s(lambda: ask_for_the_time(engine)) < ANSWER_S
        wire.mend()
        ask_for_the_time(engine)
    other.dispose()


def test_who_waits_for_an_answer_notices_that_the_other_machine_is_gone(postgresql_ledger: str) -> None:
    with by_wire(postgresql_ledger) as (engine, wire):

        def wait() -> None:
            with reading(engine) as db:
                Timer(0.3, wire.cut).start()
                drive(db, "SELECT pg_sleep(60)")

        assert took_s(wait) < ANSWER_S


def test_a_server_that_gives_signs_and_no_answer_is_given_up(postgresql_ledger: str) -> None:
    with by_wire(postgresql_ledger, answer_s=1) as (engine, wire):

        def stall() -> None:
            with reading(engine) as db:
                wire.stall()
                database_now(db)

        assert 1 <= took_s(stall) < ANSWER_S
        assert took_s(lambda: ask_for_the_time(engine)) < ANSWER_S
        wire.mend()
        ask_for_the_time(engine)


def _by_sqlalchemy(db: Connection) -> None:
    db.execute(select(1))


@pytest.mark.parametrize("ask", [database_now, _by_sqlalchemy])
@pytest.mark.parametrize("end", ["idle", "terminated"])
def test_a_session_that_the_server_ends_is_an_error_of_the_way_to_it(
    postgresql_ledger: str, ask: Callable[[Connection], object], end: str
) -> None:
    """What was undone then is raised as it was: whoever tries again knows it by its kind."""
    engine, other = open_ledger(postgresql_ledger), open_ledger(postgresql_ledger)

    def is_over(pid: int) -> bool:
        with other.connect() as db:
            return not db.scalar(text(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}"))

    def ask_in_vain() -> None:
        with writing(engine) as db:
            (pid,) = drive(db, "SELECT pg_backend_pid()").fetchone()
            with undoable(db):
                if end == "idle":
                    drive(db, "SET LOCAL idle_in_transaction_session_timeout = 1")
                else:
                    with other.connect() as by:
                        by.execute(text(f"SELECT pg_terminate_backend({pid})"))
                until(lambda: is_over(pid), "the session is over")
                ask(db)

    took_s(ask_in_vain)
    ask_for_the_time(engine)
    engine.dispose()
    other.dispose()


def test_a_default_lease_outlives_a_broken_connection_and_the_start_of_another() -> None:
    lease_s = Config.__dataclass_fields__["lease_s"].default.default
    assert lease_s / 3 + SILENCE_S + CONNECT_S <= lease_s - KILL_S
    assert HOLD_S < WAIT_S < ANSWER_S < lease_s
