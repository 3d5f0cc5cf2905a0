"""Writers of SQLite take turns in the order in which they came; none waits for longer than WAIT_S."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from ledger.db import transactions
from ledger.db.transactions import writing
from ledger.ids import DeliveryId
from ledger.queue import inbox
from ledger.queue.inbox import Delivery
from tests.ledgers import new_ledger
from tests.waiting import until

DELIVERY = Delivery(DeliveryId("d"), "issues", "opened", b"{}", datetime(2026, 11, 20, tzinfo=UTC))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = new_ledger(f"sqlite:///{tmp_path}/ledger.db")
    yield engine
    engine.dispose()


@contextmanager
def ticket(folder: Path, *, urgent: bool = False) -> Iterator[tuple[int, int]]:
    """Wait for a turn without ever writing; give the open folder and the ticket."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        yield opened, transactions.join_queue(opened, urgent=urgent)
    finally:
        os.close(opened)


def has_waiting(folder: Path, number: int) -> bool:
    return waiting(folder) == number


def waiting(folder: Path) -> int:
    """Return how many tickets are taken below 100."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        return sum(transactions._ticket_in(opened, number, 1) is not None for number in range(100))
    finally:
        os.close(opened)


def order_of(engine: Engine, folder: Path, *comers: str) -> list[str]:
    """Have those come one after the other while somebody writes; return the order in which they wrote."""
    wrote: list[str] = []

    def wait_and_write(name: str) -> None:
        if name == "webhook":
            inbox.store_deliveries(engine, DELIVERY)
            return
        with writing(engine) as db:
            wrote.extend(
                ["webhook"] if inbox.is_known(db, DELIVERY.delivery_id) and "webhook" not in wrote else []
            )
            wrote.append(name)

    threads = [threading.Thread(target=wait_and_write, args=(name,)) for name in comers]
    with writing(engine):
        for number, thread in enumerate(threads, 1):
            thread.start()
            until(partial(has_waiting, folder, number), "it waits for its turn")
    for thread in threads:
        thread.join(60)
    return wrote


def test_who_waits_for_a_turn_writes_before_whoever_comes_again_at_once(
    engine: Engine, tmp_path: Path
) -> None:
    order = []

    def wait_and_write() -> None:
        with writing(engine):
            order.append("who waited")

    other = threading.Thread(target=wait_and_write)
    with writing(engine):
        other.start()
        until(lambda: waiting(tmp_path) == 1, "the other waits for its turn")
    with writing(engine):
        order.append("who came again")
    other.join(60)
    assert order == ["who waited", "who came again"]


def test_writers_get_their_turns_in_the_order_in_which_they_came(engine: Engine, tmp_path: Path) -> None:
    comers = [f"writer {number}" for number in range(12)]
    assert order_of(engine, tmp_path, *comers) == comers


def test_the_webhook_waits_for_nobody_but_the_next_writer(engine: Engine, tmp_path: Path) -> None:
    comers = [f"writer {number}" for number in range(6)]
    assert order_of(engine, tmp_path, *comers, "webhook") == [comers[0], "webhook", *comers[1:]]


def test_urgent_writers_that_come_again_and_again_take_every_second_turn(tmp_path: Path) -> None:
    with ExitStack() as stack:
        tickets = [stack.enter_context(ticket(tmp_path)) for _ in range(4)]
        order = []
        for number, (opened, mine) in enumerate(tickets):
            with ticket(tmp_path, urgent=True) as (urgent, its):
                assert transactions.is_first(opened, mine)
                assert not transactions.is_first(urgent, its)
                transactions.give_back(opened)
                order.append(number)
                assert transactions.is_first(urgent, its)
                order.append(-1)
        assert order == [0, -1, 1, -1, 2, -1, 3, -1]


def test_a_process_that_is_killed_while_it_waits_leaves_the_queue(tmp_path: Path) -> None:
    program = (
        "import os, sys, time; from ledger.db.transactions import join_queue;"
        " join_queue(os.open(sys.argv[1], os.O_RDONLY)); print('waits', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with ticket(tmp_path) as (opened, mine):
            before = transactions.is_first(opened, mine)
            process.kill()
            process.wait(60)
            assert (before, transactions.is_first(opened, mine)) == (False, True)


def test_a_turn_that_does_not_come_is_an_error(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "WAIT_S", 0.1)
    with writing(engine), pytest.raises(OperationalError, match="locked"), writing(engine):
        pass
    with writing(engine):
        pass


def test_whoever_is_next_and_stopped_keeps_nobody_for_longer(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "WAIT_S", 0.1)
    with ticket(tmp_path), writing(engine):
        assert waiting(tmp_path) == 1  # the one that never writes


def doors(folder: Path) -> int:
    """Return how often this process has the folder open."""
    opened = [Path(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    return sum(os.path.realpath(link) == str(folder) for link in opened)


def test_open_files_do_not_grow_with_transactions_that_fail(engine: Engine, tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), writing(engine):
            raise ZeroDivisionError
    assert doors(tmp_path) == 0
    with writing(engine):
        pass
    assert doors(tmp_path) == 1
