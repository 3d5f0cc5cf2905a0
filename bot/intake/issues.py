"""An issue was edited, labelled, moved away, closed or opened again.

Source: docs.github.com/webhooks/webhook-events-and-payloads#issues.
"""

from bot.facts import BlockerChanged, Fact, IssueEdited, IssueOpenedAgain, IssueShut
from bot.intake._payload import Payload, login, number, own, text, text_or_empty

SUBJECT = ("issue",)
LOOK_AGAIN = {"edited", "labeled", "unlabeled", "typed", "untyped"}
FREEING = {"closed", "reopened", "transferred", "deleted"}


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return what the delivery says about the issue; of an own echo only that others may wait no more."""
    action = text_or_empty(payload, "action")
    if own(payload, bot_id) and action not in FREEING:
        return ()
    repository, issue = text(payload, "repository.full_name"), number(payload, "issue.number")
    if own(payload, bot_id):  # its merge closes issues
        return (BlockerChanged(repository, issue),)
    match action:
        case "transferred" | "deleted":
            return (IssueEdited(repository, issue), BlockerChanged(repository, issue))
        case "closed":
            reason = text_or_empty(payload, "issue.state_reason") or "completed"
            return (IssueShut(repository, issue, reason=reason, by=login(payload, "sender")),)
        case "reopened":
            return (IssueOpenedAgain(repository, issue, by=login(payload, "sender")),)
        case action if action in LOOK_AGAIN:
            return (IssueEdited(repository, issue),)
        case _:
            return ()
