"""The outward acts: one file per outward intent of `rules.intents.outbound`, found by its snake-case name."""

import importlib
import pkgutil
import re
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cache
from typing import cast

from pydantic import TypeAdapter

from bot.outbox.contract import Act
from ledger.errors import CardinalError
from ledger.ids import EntryKey
from ledger.queue.outbox import Draft, Entry
from ledger.views.remotes import RemoteRow
from rules.intents import outbound
from rules.intents.outbound import Intent

FIRST_PRIORITY = 1  # the first comment or face tells people that something happened; later edits can wait


class UnknownActError(CardinalError):
    """No file carries this act out: a newer Cardinal asked for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"nothing carries out {name!r}: run the Cardinal version that asked for it, or newer"
        )


@cache
def names() -> frozenset[str]:
    """Return the names of all acts, as the folder lists them."""
    return frozenset(found.name for found in pkgutil.iter_modules(__path__))


def name_of(intent_class: type[Intent]) -> str:
    """Return the act's name for an intent: WriteRunComment is write_run_comment."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", intent_class.__name__).lower()


def find(name: str) -> Act:
    """Return the act; raises UnknownActError for a name that the folder does not list."""
    if name not in names():
        raise UnknownActError(name)
    return cast(Act, importlib.import_module(f"{__name__}.{name}"))


def key(intent: Intent) -> EntryKey:
    """Return what makes this intent the same act as another."""
    return find(name_of(type(intent))).key(intent)


def draft(intent: Intent, now: datetime, last: RemoteRow | None) -> Draft:
    """Return the outbox entry for an intent; `last` is the last publication under the same key."""
    name = name_of(type(intent))
    act = find(name)
    again = last is not None and act.COALESCE
    return Draft(
        key=act.key(intent),
        lane=act.LANE,
        act=name,
        card_id=intent.card_id,
        payload=_adapter(name).dump_json(intent).decode(),
        priority=act.PRIORITY if again else min(act.PRIORITY, FIRST_PRIORITY),
        ordered=act.ORDERED,
        coalesce=act.COALESCE,
        due_at=max(now, last.at + timedelta(seconds=act.WAIT_S)) if last is not None and again else now,
    )


def intent_of(entry: Entry) -> Intent:
    """Return the intent that an entry carries; raises UnknownActError for one of another version."""
    return _adapter(entry.act).validate_json(entry.payload)


@cache
def _adapter(name: str) -> TypeAdapter[Intent]:
    if name not in names():
        raise UnknownActError(name)
    found = getattr(outbound, "".join(word.title() for word in name.split("_")))
    if not issubclass(found, Intent) or not fields(found):
        raise UnknownActError(name)
    return TypeAdapter(found)
