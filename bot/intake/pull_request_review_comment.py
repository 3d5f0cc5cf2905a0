"""Somebody commented on a line of a pull request, or ticked a checkbox in one of Cardinal's line comments.

Source: docs.github.com/webhooks/webhook-events-and-payloads#pull_request_review_comment.
"""

from bot.facts import Fact
from bot.intake._comment import read_comment
from bot.intake._payload import Payload

SUBJECT = ("pull_request", "comment")


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return what was said or ticked, nothing for an own echo or another edit."""
    return read_comment(payload, bot_id=bot_id, subject="pull_request", place="review")
