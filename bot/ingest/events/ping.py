"""GitHub greets a new webhook; there is nothing to do but to have answered.

Source: docs.github.com/webhooks/webhook-events-and-payloads#ping.
"""

from bot.ingest.events._payload import Payload
from bot.ingest.facts import Fact

SUBSCRIBED = False


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- the shape of every intake
    return ()
