"""What deliveries say: one pure module per GitHub event, found by file name."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from bot.facts import Fact
from bot.intake._payload import Payload, UnreadablePayloadError

__all__ = ["UnreadablePayloadError", "known", "read"]


class Intake(Protocol):
    """What every module of this folder offers."""

    def read(self, payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
        """Return what the delivery says; nothing when it is Cardinal's own echo or an action without meaning.

        Raises UnreadablePayloadError when a field that the event promises is not there.
        """


@cache
def known() -> frozenset[str]:
    """Return the events that have a module here."""
    return frozenset(part.name for part in pkgutil.iter_modules(__path__) if not part.name.startswith("_"))


def read(event: str, payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return what a delivery of `event` says; nothing for an event that Cardinal does not know.

    Raises UnreadablePayloadError when a field that the event promises is not there.
    """
    if event not in known():  # before any import: the name comes from outside
        return ()
    return cast(Intake, import_module(f"{__name__}.{event}")).read(payload, bot_id=bot_id)
