"""A repository was renamed, transferred, archived, made private or deleted, or the contrary.

Source: docs.github.com/webhooks/webhook-events-and-payloads#repository.
"""

from bot.ingest.events._payload import Payload, find, text, text_or_empty
from bot.ingest.facts import AccessChanged, Fact, Renamed

TELLING = {"archived", "unarchived", "deleted", "privatized", "publicized", "created"}


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- no echo: Cardinal renames nothing
    """Return the repository's old and new name, or that access may have changed."""
    action = text_or_empty(payload, "action")
    if action in TELLING:
        return (AccessChanged(),)
    if action not in ("renamed", "transferred"):
        return ()
    now = text(payload, "repository.full_name")
    owner, _, name = now.partition("/")
    if action == "renamed":
        return (Renamed(f"{owner}/{text(payload, 'changes.repository.name.from')}", now),)
    kind = "organization" if find(payload, "changes.owner.from.organization") else "user"
    return (Renamed(f"{text(payload, f'changes.owner.from.{kind}.login')}/{name}", now),)
