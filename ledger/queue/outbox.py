"""The outbox: acts to carry out once each, in order per card; the newest text where texts replace.

An entry is there until it is carried out or given up. That it was is an event: `ledger.views.remotes` knows.

Due times and claims go by the database's clock; whoever puts or postpones says how long to wait.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    FromClause,
    Text,
    Update,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    text,
    type_coerce,
)

from ledger.db.clock import database_now
from ledger.db.column_types import stamp
from ledger.db.rows import all_rows, change, drop, fields_for, find, first_row, insert, list_rows, pick, value
from ledger.db.statements import Statement, statement
from ledger.db.tables import outbox
from ledger.db.transactions import reading, writing
from ledger.errors import StaleClaimError
from ledger.ids import CardId, EntryKey

OPEN = ("pending", "claimed")
# Why an entry is held. What people stopped is not stuck.
SHUT_OUT = "the App has no access there, or the board is not served"
STOPPED = "a kill switch is on"


def _is_open(table: FromClause) -> ColumnElement[bool]:
    # spelt out, not bound: SQLite uses a partial index only for conditions that it can read
    return table.c.state.in_([literal_column(f"'{state}'") for state in OPEN])


# Built once: building these costs more than SQLite takes to run them. _FREE is an open entry that no earlier
# one of its card or key holds up.
_EARLIER = outbox.alias("earlier")
_AHEAD = and_(_EARLIER.c.entry_id < outbox.c.entry_id, _is_open(_EARLIER))
_FREE = and_(
    outbox.c.lane == bindparam("lane"),
    _is_open(outbox),
    ~and_(
        outbox.c.ordered, exists().where(_AHEAD, _EARLIER.c.card_id == outbox.c.card_id, _EARLIER.c.ordered)
    ),
    ~and_(outbox.c.coalesce, exists().where(_AHEAD, _EARLIER.c.key == outbox.c.key)),
)
# joined to nothing, so that SQLite walks the lane by priority and does not sort all that is due
_UNINDEXED = type_coerce(outbox.c.due_at, Text).concat("")
_READY = Statement(
    select(outbox.c.entry_id, outbox.c.attempts)
    .where(_FREE, bindparam("now", type_=Text) >= _UNINDEXED)
    .order_by(outbox.c.priority, outbox.c.entry_id)
    .limit(bindparam("most"))
)
_DUE = Statement(select(outbox.c.due_at).where(_FREE).order_by(outbox.c.due_at).limit(1))


@statement
def _claim(entry_id: Any, holder: Any, due_at: Any) -> Update:
    counts = {"attempts": outbox.c.attempts + 1, "generation": outbox.c.generation + 1}
    mine = outbox.update().where(outbox.c.entry_id == entry_id)
    return mine.values(state="claimed", holder=holder, due_at=due_at, **counts)


@dataclass(frozen=True, slots=True)
class Draft:
    """A new entry. `priority` 0 goes first; `ordered`: one by one for a card; `coalesce`: the newest wins."""

    key: EntryKey
    lane: str
    act: str
    card_id: CardId
    payload: str
    priority: int
    ordered: bool
    coalesce: bool
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Entry(Draft):
    """A claimed entry; `attempts` counts this one, `generation` identifies the claim.

    `sending`: an earlier publisher died while it sent the entry, or just before or after.
    """

    entry_id: int
    attempts: int
    generation: int
    holder: str
    error: str
    sending: bool
    created_at: datetime


# for one row by its index, see `_is_open`
_PENDING = Statement(
    pick(Entry, outbox).where(
        outbox.c.key == bindparam("key"), outbox.c.coalesce, outbox.c.state == literal_column("'pending'")
    )
)


def put(
    db: Connection, draft: Draft, now: datetime, *, attempts: int = 0, created_at: datetime | None = None
) -> bool:
    """Put the draft in line; False when its key is there already. It counts as tried so many times.

    It counts as made at `created_at`, or else now.

    Of its due time only the distance from `now` counts, which is by the same clock, whichever that is.

    One that coalesces replaces the text of the pending one with its key, which keeps its place and the
    earlier due time; after a failure it keeps waiting, and a stopped one is looked at again. One being
    carried out is left alone.
    """
    due_at = database_now(db) + (draft.due_at - now)
    if not draft.coalesce:
        if value(db, outbox.c.entry_id, key=draft.key) is not None:
            return False
    elif waiting := first_row(db, Entry, _PENDING, key=draft.key):
        _replace(db, waiting, draft, due_at)
        return True
    made = {"attempts": attempts, "created_at": created_at or now}
    insert(db, outbox, {**fields_for(outbox, draft), "due_at": due_at, **_NEW, **made})
    return True


def _replace(db: Connection, waiting: Entry, draft: Draft, due_at: datetime) -> None:
    """Give the entry the draft's new values: most often none, and each change writes five indexes."""
    wanted = {
        "payload": draft.payload,
        "act": draft.act,
        "lane": draft.lane,
        "priority": min(draft.priority, waiting.priority),
        "due_at": waiting.due_at if waiting.error not in ("", STOPPED) else min(due_at, waiting.due_at),
    }
    if new := {name: it for name, it in wanted.items() if it != getattr(waiting, name)}:
        change(db, outbox, {"entry_id": waiting.entry_id}, **new)


_NEW = {"state": "pending", "generation": 0, "holder": "", "error": "", "sending": False}


def get(db: Connection, key: EntryKey) -> Entry | None:
    """Return the newest entry of that key; None where none is open."""
    return find(db, Entry, outbox, "-entry_id", key=key)


def claim(engine: Engine, lane: str, *, lease_s: float, holder: str, most: int) -> tuple[Entry, ...]:
    """Return the lane's next entries, at most `most`, for the caller alone to carry out in this order.

    Each may go now whatever becomes of the others. The attempt is counted before the work, so one that was
    tried before comes alone: an entry that kills its publishers takes no other's attempts. A claim that ran
    out can be taken over.
    """
    with reading(engine) as db:  # looking costs no writer's turn
        if _READY.scalar(db, {"lane": lane, "now": stamp(database_now(db)), "most": 1}) is None:
            return ()
    with writing(engine) as db:
        now = database_now(db)
        rows = _READY.all(db, {"lane": lane, "now": stamp(now), "most": most})
        fresh = [entry_id for entry_id, attempts in takewhile(lambda row: not row[1], rows)]
        ready = fresh or [entry_id for entry_id, _ in rows[:1]]
        due_at = now + timedelta(seconds=lease_s)
        for entry_id in ready:
            _claim.run(db, {"entry_id": entry_id, "holder": holder, "due_at": due_at})
        claimed = (find(db, Entry, outbox, entry_id=entry_id) for entry_id in ready)
        return tuple(entry for entry in claimed if entry is not None)


def begin(db: Connection, entry: Entry) -> None:
    """Record that something is sent now that nobody can look for later. Raises StaleClaimError."""
    _require(db, entry)
    change(db, outbox, {"entry_id": entry.entry_id}, sending=True)


def drop_entry(db: Connection, entry: Entry) -> None:
    """Drop the entry, which was carried out or given up; later ones of its card may go.

    The event that says so belongs in the same transaction. Raises StaleClaimError when the claim was taken
    over.
    """
    _require(db, entry)
    drop(db, outbox, entry_id=entry.entry_id)


def postpone(db: Connection, entry: Entry, wait_s: float, error: str, count_attempt: bool) -> None:
    """Give the entry back for `wait_s`; `count_attempt`: the failure was its own. Raises StaleClaimError.

    Where a newer one with its key waits already, that one takes its place: nobody needs the older words.
    """
    _require(db, entry)
    attempts = entry.attempts if count_attempt else entry.attempts - 1
    due_at = database_now(db) + timedelta(seconds=wait_s)
    waiting = {"due_at": due_at, "error": error[:2000], "attempts": attempts}
    if entry.coalesce:
        newer = {"key": entry.key, "state": "pending", "coalesce": True}
        if change(db, outbox, newer, **waiting):
            drop(db, outbox, entry_id=entry.entry_id)
            return
    # `sending` as it was when claimed: this publisher is alive and knows that it failed, an earlier one died
    mine = {"entry_id": entry.entry_id}
    change(db, outbox, mine, state="pending", holder="", sending=entry.sending, **waiting)


def let_others_pass(db: Connection, entry: Entry) -> None:
    """Let later entries of the card no longer wait for this one. Raises StaleClaimError."""
    _require(db, entry)
    change(db, outbox, {"entry_id": entry.entry_id}, ordered=False)


def let_go_on(db: Connection) -> None:
    """Make held entries due now: access or a board came back, or a kill switch is off."""
    held = (outbox.c.state == "pending") & outbox.c.error.in_([SHUT_OUT, STOPPED])
    db.execute(outbox.update().where(held).values(due_at=database_now(db)))


def doubt_entries(db: Connection) -> None:
    """Count every open entry as tried once: who carries it out looks first for its traces."""
    db.execute(outbox.update().where(_is_open(outbox), outbox.c.attempts == 0).values(attempts=1))


def holders(db: Connection) -> tuple[str, ...]:
    return tuple([holder for (holder,) in _HOLDERS.all(db, {})])


_CLAIMED = text("state = 'claimed'")  # spelt out for the partial index, see `_is_open`
_HOLDERS = Statement(select(outbox.c.holder).where(_CLAIMED).distinct())


def release_entries(db: Connection, holder: str, wait_s: float) -> int:
    """Let others take over, in `wait_s`, the longer claims of `holder`, who is known to be dead.

    Return how many entries those were.
    """
    due_at = database_now(db) + timedelta(seconds=wait_s)
    longer = outbox.c.due_at > due_at
    condition = (outbox.c.state == "claimed") & (outbox.c.holder == holder) & longer
    return int(db.execute(outbox.update().where(condition).values(due_at=due_at)).rowcount)


def next_due_s(engine: Engine, lane: str) -> float | None:
    """Return in how many seconds `claim` can have something at the earliest; negative where it waits.

    None while nothing is in line.
    """
    with reading(engine) as db:
        due_at: datetime | None = _DUE.scalar(db, {"lane": lane})
        return None if due_at is None else (due_at - database_now(db)).total_seconds()


def stuck(db: Connection, now: datetime, older_than_s: float, limit: int | None = None) -> tuple[Entry, ...]:
    """Return the open entries that were put in line more than `older_than_s` ago, the oldest first."""
    query = pick(Entry, outbox).where(*_put_before(now - timedelta(seconds=older_than_s)))
    return all_rows(db, Entry, query.order_by(outbox.c.entry_id).limit(limit))


def count_stuck(db: Connection, now: datetime, older_than_s: float) -> tuple[int, int]:
    """Return how many entries are stuck, and how many of them because there is no access."""
    held = func.count().filter(outbox.c.error == SHUT_OUT)
    query = select(func.count(), held).where(*_put_before(now - timedelta(seconds=older_than_s)))
    total, shut_out = db.execute(query).one()
    return total, shut_out


def sum_up(db: Connection) -> tuple[int, int, datetime | None]:
    """Return how many acts wait, how many of them because there is no access, and since when the oldest of
    the others does.
    """
    held = outbox.c.error == SHUT_OUT
    stands = ~held & (outbox.c.error != STOPPED)
    oldest = func.min(outbox.c.created_at, type_=outbox.c.created_at.type).filter(stands)
    total, shut_out, since = db.execute(
        select(func.count(), func.count().filter(held), oldest).where(_is_open(outbox))
    ).one()
    return total, shut_out, since


def _put_before(moment: datetime) -> tuple[ColumnElement[bool], ...]:
    return _is_open(outbox), outbox.c.created_at < moment, outbox.c.error != STOPPED


def open_of_card(db: Connection, card_id: CardId) -> tuple[Entry, ...]:
    """Return the card's open entries, in order."""
    return list_rows(db, Entry, outbox, "entry_id", card_id=card_id, state=OPEN)


def withdraw(db: Connection, entry: Entry) -> None:
    """Drop an open entry, whoever has claimed it: another takes its place."""
    drop(db, outbox, entry_id=entry.entry_id)


def _require(db: Connection, entry: Entry) -> None:
    current = value(db, outbox.c.generation, entry_id=entry.entry_id, state="claimed") or 0
    if current != entry.generation:
        raise StaleClaimError(f"entry:{entry.key}", entry.generation, current)
