"""What processes do that write while a test watches."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Engine

from ledger.events.run import AgentSaid
from ledger.ids import CardId, EntryKey, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import outbox
from tests.ledger.claims import claim_next


def append_one_by_one(engine: Engine, name: str, count: int) -> None:
    """Append `count` events, each in a transaction of its own."""
    for number in range(count):
        with event_store.writing(engine) as db:
            event_store.append(db, AgentSaid(RunId("shared"), f"{name} {number}"), at=datetime.now(UTC))


def stop_in_the_middle(engine: Engine, name: str, count: int) -> None:
    """Append a batch that is never committed; say so and wait to be killed."""
    with event_store.writing(engine) as db:
        outbox.put(db, draft(name), datetime.now(UTC))
        event_store.append(
            db, *(AgentSaid(RunId("shared"), f"{name} {n}") for n in range(count)), at=datetime.now(UTC)
        )
        print("written", flush=True)
        sys.stdin.read()


def commit_and_stop(engine: Engine, name: str, count: int) -> None:
    """Append and commit; say so and wait to be killed."""
    append_one_by_one(engine, name, count)
    print("committed", flush=True)
    sys.stdin.read()


def claim_all(engine: Engine, name: str, count: int) -> None:
    """Claim up to `count` outbox entries and print their keys."""
    for _ in range(count):
        entry = claim_next(engine, "content", lease_s=600, holder=name)
        if entry is not None:
            print(entry.key, flush=True)


def draft(key: str) -> outbox.Draft:
    """Return a plain entry that is due."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return outbox.Draft(EntryKey(key), "content", "comment", CardId(key), "{}", 1, True, False, now)


def play(mode: Callable[[Engine, str, int], None], url: str, name: str, count: int) -> None:
    """Open the ledger and do it."""
    mode(open_ledger(url), name, count)
