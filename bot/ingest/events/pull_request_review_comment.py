"""Somebody commented on a line of a pull request, or ticked a checkbox in one of Cardinal's line comments.

Source: docs.github.com/webhooks/webhook-events-and-payloads#pull_request_review_comment.
"""

from bot.ingest.events._comment import read_comment
from bot.ingest.events._payload import Payload
from bot.ingest.facts import Fact

SUBJECT = ("pull_request", "comment")


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the comment or ticks, nothing for an own echo or another edit."""
    return read_comment(payload, bot_id=bot_id, subject="pull_request", place="review")
