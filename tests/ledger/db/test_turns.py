"""Writers of SQLite take turns in order; none waits for longer than WAIT_S."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from ledger.db import transactions
from ledger.db.transactions import writing
from ledger.lifecycle.open import open_ledger
from tests.waiting import until


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_ledger(f"sqlite:///{tmp_path}/ledger.db", durable=False)
    yield engine
    engine.dispose()


@contextmanager
def next_in(folder: Path) -> Iterator[bool]:
    """Try to be the next writer without ever writing; give whether that worked."""
    door = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(door)


def is_awaited(folder: Path) -> bool:
    with next_in(folder) as free:
        return not free


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
        until(lambda: is_awaited(tmp_path), "the other waits for its turn")
    with writing(engine):
        order.append("who came again")
    other.join(60)
    assert order == ["who waited", "who came again"]


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
    with next_in(tmp_path) as is_next, writing(engine):
        assert is_next


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
