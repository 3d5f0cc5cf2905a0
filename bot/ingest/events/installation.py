"""The App was installed, removed, suspended, woken, or given new permissions in an organisation.

Source: docs.github.com/webhooks/webhook-events-and-payloads#installation; sent to every App.
"""

from bot.ingest.events._payload import Payload
from bot.ingest.facts import AccessChanged, Fact

SUBSCRIBED = False


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- no echo: an App cannot remove itself
    """Return that access changed. It is read again, since deliveries come in any order."""
    return (AccessChanged(),)
