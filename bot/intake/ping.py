"""GitHub greets a new webhook; there is nothing to do but to have answered.

Source: docs.github.com/webhooks/webhook-events-and-payloads#ping.
"""

from bot.facts import Fact
from bot.intake._payload import Payload

SUBJECT = ()


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- the shape of every intake
    """Return nothing."""
    return ()
