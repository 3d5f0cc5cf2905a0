"""Many processes write at once, some are killed: nothing is lost, doubled or half there."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from ledger.events.run import AgentSaid
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.log.hash_chain import verify_chain
from ledger.queue import outbox
from tests.ledger.log.writers import (
    append_one_by_one,
    claim_all,
    commit_and_stop,
    draft,
    play,
    stop_in_the_middle,
)
from tests.ledger.samples import NOW, card_seen
from tests.warm import Warm

WAIT_S = 60


def kill_after(writer: Warm, word: str) -> None:
    assert writer.stdout.readline().strip() == word
    writer.kill()
    writer.wait(WAIT_S)
    writer.close()


@pytest.mark.parametrize(("processes", "count"), [(4, 25), pytest.param(8, 100, marks=pytest.mark.soak)])
def test_processes_that_append_at_once_lose_nothing(ledger_url: str, processes: int, count: int) -> None:
    # the ledger is not there yet: all of them come to create it
    names = [f"w{n}" for n in range(processes)]
    writers = [Warm(play, append_one_by_one, ledger_url, name, count) for name in names]
    for writer in writers:
        writer.finish(timeout=WAIT_S)
    engine = open_ledger(ledger_url)
    with event_store.reading(engine) as db:
        recorded = event_store.read(db, limit=1000)
        assert verify_chain(db).events == processes * count
    texts = [it.event.text for it in recorded if isinstance(it.event, AgentSaid)]
    assert Counter(text.split()[0] for text in texts) == {f"w{n}": count for n in range(processes)}
    assert len(set(texts)) == processes * count
    assert [it.version for it in recorded] == list(range(1, processes * count + 1))
    engine.dispose()


def test_a_writer_killed_in_the_middle_of_a_batch_leaves_nothing(ledger: Engine, ledger_url: str) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(db, card_seen(), at=NOW)
    kill_after(Warm(play, stop_in_the_middle, ledger_url, "victim", 20), "written")
    with event_store.writing(ledger) as db:  # and its turn is free again
        assert (event_store.last_seq(db), outbox.stuck(db, NOW, -60)) == (1, ())
        event_store.append(db, AgentSaid("shared", "next"), at=NOW)  # type: ignore[arg-type]
        assert verify_chain(db).events == 2


def test_what_was_committed_survives_the_kill(ledger: Engine, ledger_url: str) -> None:
    kill_after(Warm(play, commit_and_stop, ledger_url, "victim", 5), "committed")
    with event_store.reading(ledger) as db:
        assert verify_chain(db).events == 5


def test_each_entry_is_claimed_by_one_publisher(ledger: Engine, ledger_url: str) -> None:
    with event_store.writing(ledger) as db:
        for number in range(60):
            outbox.put(db, draft(f"k{number}"), NOW)
    publishers = [Warm(play, claim_all, ledger_url, f"p{n}", 30) for n in range(4)]
    keys = [key for publisher in publishers for key in publisher.finish().split()]
    assert sorted(keys) == sorted(f"k{number}" for number in range(60))


def open_files(ledger: Engine) -> list[str]:
    """Return the files of an SQLite ledger that this process has open."""
    links = (Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
    named = [str(link.readlink()) for link in links if link.is_symlink()]
    return [name for name in named if ledger.url.database and name.startswith(f"{ledger.url.database}")]


@pytest.mark.filterwarnings("error")
def test_a_ledger_that_was_used_before_a_fork_works_on_both_sides(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(db, card_seen(), at=NOW)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            pool: Any = ledger.pool
            assert pool.checkedin() + pool.checkedout() == 0, "the child holds a connection of its parent"
            assert not open_files(ledger), "a file of the ledger is open in the child"
            for number in range(50):
                with event_store.writing(ledger) as db:
                    event_store.append(db, AgentSaid("r1", f"child {number}"), at=NOW)  # type: ignore[arg-type]
            code = 0
        finally:
            os._exit(code)
    for number in range(50):
        with event_store.writing(ledger) as db:
            event_store.append(db, AgentSaid("r1", f"parent {number}"), at=NOW)  # type: ignore[arg-type]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with event_store.reading(ledger) as db:
        assert verify_chain(db).events == 101
