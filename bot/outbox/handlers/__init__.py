"""The outward acts: one file per outward intent of `rules.intents.outbound`, found by its snake-case name."""

import importlib
import pkgutil
import re
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cache
from typing import cast

from pydantic import TypeAdapter

from bot.outbox.contract import Handler
from ledger.errors import CardinalError
from ledger.ids import EntryKey
from ledger.queue.outbox import Draft, Entry
from ledger.views.remotes import RemoteRow
from rules.intents import outbound
from rules.intents.outbound import Intent

FIRST_PRIORITY = 1  # the first comment or face tells people that something happened; later edits can wait


class UnknownActError(CardinalError):
    """No file carries out this act: a newer Cardinal queued it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"nothing carries out {name!r}: run the Cardinal version that asked for it, or newer"
        )


@cache
def names() -> frozenset[str]:
    """Return the names of all acts, as the folder lists them."""
    return frozenset(module.name for module in pkgutil.iter_modules(__path__))


def name_of(intent_class: type[Intent]) -> str:
    """Return the act's name for an intent: WriteRunComment is write_run_comment."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", intent_class.__name__).lower()


def find(name: str) -> Handler:
    """Return the handler; raises UnknownActError for a name that the folder does not list."""
    if name not in names():
        raise UnknownActError(name)
    return cast(Handler, importlib.import_module(f"{__name__}.{name}"))


def key(intent: Intent) -> EntryKey:
    """Return the key of the intent's entry."""
    return find(name_of(type(intent))).ACT.key(intent)


def draft(intent: Intent, now: datetime, last: RemoteRow | None) -> Draft:
    """Return the outbox entry for an intent; `last` is the last publication under the same key."""
    name = name_of(type(intent))
    act = find(name).ACT
    again = last is not None and act.coalesce
    return Draft(
        key=act.key(intent),
        lane=act.lane,
        act=name,
        card_id=intent.card_id,
        payload=_adapter(name).dump_json(intent).decode(),
        priority=act.priority if again else min(act.priority, FIRST_PRIORITY),
        ordered=act.ordered,
        coalesce=act.coalesce,
        due_at=max(now, last.at + timedelta(seconds=act.wait_s)) if last is not None and again else now,
    )


def intent_of(entry: Entry) -> Intent:
    """Return the intent that an entry carries; raises UnknownActError for one of another version."""
    return _adapter(entry.act).validate_json(entry.payload)


@cache
def _adapter(name: str) -> TypeAdapter[Intent]:
    if name not in names():
        raise UnknownActError(name)
    intent_class = getattr(outbound, "".join(word.title() for word in name.split("_")))
    if not issubclass(intent_class, Intent) or not fields(intent_class):
        raise UnknownActError(name)
    return TypeAdapter(intent_class)
