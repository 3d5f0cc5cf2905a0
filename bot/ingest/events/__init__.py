"""Deliveries read: one file per GitHub event, found by its name; `read` is pure."""

from functools import cache
from typing import Protocol

from bot.ingest.events._payload import Payload, UnreadablePayloadError
from bot.ingest.facts import Fact
from ledger.parts import Registry

__all__ = ["EVENTS", "UnreadablePayloadError", "read"]


class WebhookEvent(Protocol):
    """A file of this folder; its name is the event's.

    `SUBJECT` are the fields at the top of a body that only its event, or its kind of events, has. An App
    subscribes to it, unless GitHub sends the event to every App.
    """

    SUBJECT: tuple[str, ...] = ()
    SUBSCRIBED: bool = True

    def read(self, payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
        """Return the delivery's facts; nothing for Cardinal's own echo or an action without meaning.

        Raises UnreadablePayloadError when a field that the event promises is not there.
        """


EVENTS = Registry[WebhookEvent]("webhook event", __name__, WebhookEvent)


def list_subscribed() -> tuple[str, ...]:
    return tuple(name for name, event in EVENTS.all() if event.SUBSCRIBED)


@cache
def _subjects() -> dict[str, frozenset[str]]:
    return {event: frozenset(part.SUBJECT) for event, part in EVENTS.all()}


def _require_shape(event: str, payload: Payload) -> None:
    """Raise UnreadablePayloadError for another event's body: GitHub signs the body, and not its name."""
    subjects = _subjects()
    subject = frozenset().union(*subjects.values()) & payload.keys()
    if subject and subject != subjects[event]:  # without any of them it has too little to say something
        wanted = " and ".join(sorted(subjects[event])) or "nothing of other events"
        raise UnreadablePayloadError(f"body of {event}", wanted, ", ".join(sorted(subject)))


def read(event: str, payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the facts of a delivery of `event`; nothing for an event that Cardinal does not know.

    Raises UnreadablePayloadError when a field that the event promises is not there, or the body is another's.
    """
    if event not in EVENTS.names():  # before any import: the name comes from outside
        return ()
    _require_shape(event, payload)
    return EVENTS.load(event).read(payload, bot_id=bot_id)
