"""Somebody submitted a review, or a review's verdict was dismissed.

Source: docs.github.com/webhooks/webhook-events-and-payloads#pull_request_review.
"""

from bot.ingest.events._payload import (
    Payload,
    account,
    login,
    moment_or_none,
    number,
    own,
    text,
    text_or_empty,
)
from bot.ingest.facts import Fact, Reviewed, ReviewTakenBack

SUBJECT = ("pull_request", "review")


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the review or its dismissal, nothing for an own echo or an edit of its text."""
    if own(payload, bot_id):
        return ()
    action = text_or_empty(payload, "action")
    if action not in {"submitted", "dismissed"}:
        return ()
    repository, pull = text(payload, "repository.full_name"), number(payload, "pull_request.number")
    review_id = number(payload, "review.id")
    if action == "dismissed":
        return (ReviewTakenBack(repository, pull, review_id),)
    return (
        Reviewed(
            repository,
            pull,
            review_id=review_id,
            author=login(payload, "review.user"),
            author_id=account(payload, "review.user"),
            verdict=text(payload, "review.state").lower(),  # REST says APPROVED, the webhook approved
            body=text_or_empty(payload, "review.body"),
            head=text_or_empty(payload, "review.commit_id"),
            submitted_at=moment_or_none(payload, "review.submitted_at"),
        ),
    )
