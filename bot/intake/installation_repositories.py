"""Repositories were taken out of the App's reach.

Source: docs.github.com/webhooks/webhook-events-and-payloads#installation_repositories; sent to every App.
"""

from bot.facts import Fact, RepositoryGone
from bot.intake._payload import Payload, objects, text


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- no echo: people choose repositories
    """Return the repositories that are out of reach from now on."""
    return tuple(RepositoryGone(text(gone, "full_name")) for gone in objects(payload, "repositories_removed"))
