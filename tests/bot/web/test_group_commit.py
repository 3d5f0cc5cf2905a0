"""Deliveries that wait together share a commit, never a failure; a 202 means that one is on disk."""

from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from bot.system.config import Config
from bot.web.group_commit import ALONE_S, GroupCommit, Incoming, NotStoredError
from ledger.db.transactions import writing
from ledger.ids import DeliveryId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import inbox
from ledger.queue.inbox import Delivery
from tests.bot.web.serving import web_client
from tests.bot.web.test_webhook import Woken, post
from tests.ledger.conftest import WITH_POSTGRESQL
from tests.waiting import until
from tests.wire import wired

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
WITHIN_S = 60.0


@pytest.fixture(params=["sqlite", "postgresql"] if WITH_POSTGRESQL else ["sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    sqlite = f"sqlite:///{tmp_path}/ledger.db"
    engine = open_ledger(
        sqlite if request.param == "sqlite" else request.getfixturevalue("postgresql_ledger")
    )
    yield engine
    engine.dispose()


def incoming(name: str, payload: bytes = b"{}") -> Incoming:
    return Incoming(Delivery(DeliveryId(name), "issues", "opened", payload, AT), by_app=False, headers={})


def commits_to(engine: Engine, woken: Woken | None = None) -> GroupCommit:
    return GroupCommit(engine, woken or Woken(), lambda *_: None)


@contextmanager
def busy(engine: Engine, commits: GroupCommit) -> Iterator[None]:
    """Let a first delivery wait for another writer, so that all that come within are of its group."""
    with writing(engine):
        first = incoming("first")
        commits.add(first)
        until(lambda: not commits._arrived.waiting, "the writer is busy")
        yield
        assert not first.stored.done()


def results(group: list[Incoming]) -> list[bool | None]:
    """Return for each whether it was new; None for what was not stored."""
    assert not wait([it.stored for it in group], WITHIN_S).not_done
    return [None if isinstance(it.stored.exception(), NotStoredError) else it.stored.result() for it in group]


def known(engine: Engine, *names: str) -> list[str]:
    with event_store.reading(engine) as db:
        return [name for name in names if inbox.is_known(db, DeliveryId(name))]


def test_what_waits_together_is_one_commit_and_one_wake_up(ledger: Engine) -> None:
    calls: list[int] = []

    def wake(group: Sequence[tuple[DeliveryId, bool, str]]) -> bool:
        calls.append(len(group))
        return True

    commits = GroupCommit(ledger, wake, lambda *_: None)
    group = [incoming(f"d{number}") for number in range(40)]
    begun: list[object] = []

    def note(sql: str) -> None:
        if sql == "COMMIT":  # a writer that waits for its turn may begin more than once
            begun.append(sql)

    ledger.dispose()  # an idle connection would not be watched
    if ledger.dialect.name == "sqlite":  # which begins its transactions itself, see ledger.db.transactions
        event.listen(ledger, "connect", lambda it, _: it.set_trace_callback(note))
    else:
        event.listen(ledger, "begin", begun.append)
    with busy(ledger, commits):
        for it in group:
            commits.add(it)
        assert not any(it.stored.done() for it in group)
    assert results(group) == [True] * 40
    until(lambda: sum(calls) == 41, "all are stored")
    assert len(calls) <= 2
    assert len(begun) == 2  # whoever was busy, and all that came meanwhile


def test_a_repeat_within_a_group_is_stored_once_and_both_are_answered(ledger: Engine) -> None:
    commits = commits_to(ledger)
    group = [incoming("a"), incoming("b"), incoming("a"), incoming("first")]
    with busy(ledger, commits):
        for it in group:
            commits.add(it)
    assert results(group) == [True, True, False, False]


def test_one_that_cannot_be_stored_takes_no_other_with_it(ledger: Engine) -> None:
    woken = Woken()
    commits = commits_to(ledger, woken)
    group = [incoming("a"), incoming(None), incoming("b")]  # type: ignore[arg-type]
    with busy(ledger, commits):
        for it in group:
            commits.add(it)
    assert results(group) == [True, None, True]
    until(lambda: woken.ids == ["first", "a", "b"], "all are woken")


def test_what_fits_a_disk_that_gets_full_is_stored_and_nothing_else_is_promised(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    open_ledger(url).dispose()
    engine = open_ledger(url)
    engine.dispose()
    pages = (tmp_path / "ledger.db").stat().st_size // 4096
    limit = f"PRAGMA max_page_count = {pages + 60}"
    event.listen(engine, "connect", lambda connection, _: connection.execute(limit).fetchall())
    commits = commits_to(engine)
    group = [incoming("a"), incoming("large", b'"' + b"x" * 1_000_000 + b'"'), incoming("b")]
    with busy(engine, commits):
        for it in group:
            commits.add(it)
    assert results(group) == [True, None, True]
    assert known(engine, "a", "large", "b") == ["a", "b"]
    engine.dispose()


def test_a_database_that_fell_silent_stores_nothing_and_is_used_again_once_it_is_back(
    postgresql_ledger: str,
) -> None:
    with wired(postgresql_ledger) as (url, wire):
        engine = open_ledger(url, answer_s=ALONE_S + 0.5)
        commits = commits_to(engine)
        before = [incoming("before")]
        commits.add(before[0])
        assert results(before) == [True]
        wire.cut()
        group = [incoming(f"d{number}") for number in range(3)]
        for it in group:
            commits.add(it)
        assert results(group) == [None] * 3
        wire.mend()
        after = incoming("after")
        commits.add(after)
        assert results([after]) == [True]
        assert known(engine, "before", "after") == ["before", "after"]
        engine.dispose()


def test_a_delivery_that_is_not_on_disk_is_answered_with_503_and_what_to_do(
    config: Config, engine: Engine
) -> None:
    client = web_client(config, engine, Woken(), lambda: AT)
    limit = "PRAGMA max_page_count = 1"  # the smallest that it takes is what there is
    event.listen(engine, "connect", lambda connection, _: connection.execute(limit).fetchall())
    engine.dispose()
    answer = post(client, b'{"a": "' + b"x" * 100_000 + b'"}')
    assert answer.status_code == 503
    assert "disk has room" in answer.json()["error"]
    assert inbox.due_deliveries(engine, limit=9) == ()


def test_a_failure_behind_a_commit_is_no_failure_of_the_delivery_nor_of_the_next(ledger: Engine) -> None:
    def wake(_group: object) -> bool:
        raise RuntimeError("broken on purpose")

    commits = GroupCommit(ledger, wake, lambda *_: None)
    for name in ("a", "b"):
        it = incoming(name)
        commits.add(it)
        assert results([it]) == [True]
