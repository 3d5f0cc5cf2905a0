"""The outward acts: one file per outward intent of `rules.intents.outbound`, found by its snake-case name."""

import re
from datetime import datetime, timedelta
from functools import cache

from pydantic import TypeAdapter
from sqlalchemy import Connection

from bot.outbox.contract import Handler
from ledger.ids import EntryKey
from ledger.parts import Registry
from ledger.queue import outbox
from ledger.queue.outbox import Draft, Entry
from ledger.views import remotes
from ledger.views.remotes import GivenUpRow, RemoteRow
from rules.intents.outbound import Intent

FIRST_PRIORITY = 1  # the first comment tells people that something happened; later edits can wait
PROGRESS = 3
MAX_RETRY_AGE = timedelta(hours=24)  # as long as an entry outlasts an outage


ACTS = Registry[Handler](
    "outward act", __name__, Handler, remedy="run the Cardinal version that asked for it, or newer"
)


def act_name(intent_class: type[Intent]) -> str:
    """Return the act's name for an intent: WriteRunComment is write_run_comment."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", intent_class.__name__).lower()


def key(intent: Intent) -> EntryKey:
    return ACTS.load(act_name(type(intent))).ACT.key(intent)


def draft(intent: Intent, now: datetime, last: RemoteRow | None) -> Draft:
    """Return the outbox entry for an intent; `last` is the last publication under the same key."""
    name = act_name(type(intent))
    act = ACTS.load(name).ACT
    again = last is not None and act.coalesce
    return Draft(
        key=act.key(intent),
        lane=act.lane,
        act=name,
        card_id=intent.card_id,
        payload=_adapter(name).dump_json(intent).decode(),
        priority=FIRST_PRIORITY if act.priority == PROGRESS and not again else act.priority,
        ordered=act.ordered,
        coalesce=act.coalesce,
        due_at=max(now, last.at + timedelta(seconds=act.wait_s)) if last is not None and again else now,
    )


def put_intent(db: Connection, intent: Intent, now: datetime, *, again: bool = False) -> bool:
    """Put the intent's entry in line, as `put_draft` does."""
    return put_draft(db, draft(intent, now, remotes.get(db, key(intent))), now, again=again)


def can_repeat(failure: GivenUpRow) -> bool:
    """Tell whether an act that was given up has its request, and is one that this version carries out."""
    return bool(failure.payload) and failure.act in ACTS.names()


def put_given_up(db: Connection, failure: GivenUpRow, now: datetime) -> bool:
    """Put an act that was given up in line again; False where it cannot be, or is in line."""
    if not can_repeat(failure):
        return False
    intent = _adapter(failure.act).validate_json(failure.payload)
    return put_intent(db, intent, now, again=True)


def put_draft(db: Connection, wanted: Draft, now: datetime, *, again: bool = False) -> bool:
    """Put the draft in line; False when its key is there already, was carried out, or given up.

    `again`: one that was given up is tried anew. It counts as tried once, and as made before its attempts:
    whoever carries it out looks for their traces outside.
    """
    if wanted.coalesce:
        return outbox.put(db, wanted, now)
    failure = remotes.find_given_up(db, wanted.key)
    if remotes.get(db, wanted.key) is not None or (failure and not again):
        return False
    if failure is None:
        return outbox.put(db, wanted, now)
    return outbox.put(db, wanted, now, attempts=1, created_at=failure.at - MAX_RETRY_AGE)


def intent_of(entry: Entry) -> Intent:
    """Return the intent that an entry carries; raises UnknownPartError for one of another version."""
    return _adapter(entry.act).validate_json(entry.payload)


@cache
def _adapter(name: str) -> TypeAdapter[Intent]:
    """Return the reader of the act's intent: the class of the same name, which the act's file imports."""
    intent: type[Intent] = getattr(ACTS.load(name), "".join(word.title() for word in name.split("_")))
    return TypeAdapter(intent)
