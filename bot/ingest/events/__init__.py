"""What deliveries say: one pure module per GitHub event, found by file name."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from bot.ingest.events._payload import Payload, UnreadablePayloadError
from bot.ingest.facts import Fact

__all__ = ["UnreadablePayloadError", "known", "read"]


class Intake(Protocol):
    """What every module of this folder offers.

    `SUBJECT` are the fields at the top of a body that only its event, or its kind of events, has.
    """

    SUBJECT: tuple[str, ...]

    def read(self, payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
        """Return what the delivery says; nothing when it is Cardinal's own echo or an action without meaning.

        Raises UnreadablePayloadError when a field that the event promises is not there.
        """


@cache
def known() -> frozenset[str]:
    """Return the events that have a module here."""
    return frozenset(part.name for part in pkgutil.iter_modules(__path__) if not part.name.startswith("_"))


@cache
def _subjects() -> dict[str, frozenset[str]]:
    return {event: frozenset(_part(event).SUBJECT) for event in known()}


def _part(event: str) -> Intake:
    return cast(Intake, import_module(f"{__name__}.{event}"))


def _require_shape(event: str, payload: Payload) -> None:
    """Raise UnreadablePayloadError for another event's body: GitHub signs the body, and not its name."""
    subjects = _subjects()
    found = frozenset().union(*subjects.values()) & payload.keys()
    if found and found != subjects[event]:  # without any of them it has too little to say something
        wanted = " and ".join(sorted(subjects[event])) or "nothing of other events"
        raise UnreadablePayloadError(f"body of {event}", wanted, ", ".join(sorted(found)))


def read(event: str, payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return what a delivery of `event` says; nothing for an event that Cardinal does not know.

    Raises UnreadablePayloadError when a field that the event promises is not there, or the body is another's.
    """
    if event not in known():  # before any import: the name comes from outside
        return ()
    _require_shape(event, payload)
    return _part(event).read(payload, bot_id=bot_id)
