"""The App was removed from or suspended in an organisation.

Source: docs.github.com/webhooks/webhook-events-and-payloads#installation; sent to every App.
"""

from bot.facts import Fact, RepositoryGone
from bot.intake._payload import Payload, objects, text, text_or_empty


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- no echo: an App cannot remove itself
    """Return the repositories that are out of reach from now on."""
    if text_or_empty(payload, "action") not in {"deleted", "suspend"}:
        return ()
    return tuple(RepositoryGone(text(gone, "full_name")) for gone in objects(payload, "repositories"))
