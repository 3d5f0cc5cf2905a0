"""Somebody commented on an issue or a pull request, or ticked a checkbox in one of Cardinal's comments.

Source: docs.github.com/webhooks/webhook-events-and-payloads#issue_comment; comments on pull requests come
here too and differ by `issue.pull_request` only.
"""

from bot.ingest.events._comment import read_comment
from bot.ingest.events._payload import Payload, find
from bot.ingest.facts import Fact

SUBJECT = ("issue", "comment")


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the comment or ticks, nothing for an own echo or another edit."""
    place = "issue" if find(payload, "issue.pull_request") is None else "pull"
    return read_comment(payload, bot_id=bot_id, subject="issue", place=place)
