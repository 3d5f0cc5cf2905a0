"""All checks of one App on a commit have finished.

Source: docs.github.com/webhooks/webhook-events-and-payloads#check_suite.
"""

from bot.ingest.events._payload import Payload, own, text, text_or_empty
from bot.ingest.facts import ChecksMoved, Fact

SUBJECT = ("check_suite",)


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return that the commit's checks moved, nothing for Cardinal's own."""
    if own(payload, bot_id) or text_or_empty(payload, "action") != "completed":
        return ()
    return (ChecksMoved(text(payload, "repository.full_name"), text(payload, "check_suite.head_sha")),)
