"""Repositories were taken out of the App's reach, or given to it.

Source: docs.github.com/webhooks/webhook-events-and-payloads#installation_repositories; sent to every App.
"""

from bot.ingest.events._payload import Payload
from bot.ingest.facts import AccessChanged, Fact

SUBJECT = ("repositories_added",)
SUBSCRIBED = False


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- no echo: people choose repositories
    """Return that access changed. It is read again, since deliveries come in any order."""
    return (AccessChanged(),)
