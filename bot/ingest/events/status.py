"""A commit status, the older kind of check, changed.

Source: docs.github.com/webhooks/webhook-events-and-payloads#status.
"""

from bot.ingest.events._payload import Payload, own, text
from bot.ingest.facts import ChecksMoved, Fact

SUBJECT = ("context", "sha")


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return that the commit's checks moved, unless it only began; nothing for an own echo."""
    if own(payload, bot_id) or text(payload, "state") == "pending":
        return ()
    return (ChecksMoved(text(payload, "repository.full_name"), text(payload, "sha")),)
