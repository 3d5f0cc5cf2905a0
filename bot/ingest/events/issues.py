"""An issue was edited, labelled, moved away, closed or opened again.

Source: docs.github.com/webhooks/webhook-events-and-payloads#issues.
"""

from bot.ingest.events._payload import Payload, login, moment_or_none, number, own, text, text_or_empty
from bot.ingest.facts import BlockerChanged, CardChange, Fact, IssueEdited, IssueOpenedAgain, IssueShut
from ledger.queue.change_reports import About

SUBJECT = ("issue",)
LOOK_AGAIN = {"edited", "unlabeled", "typed", "untyped"}
FREEING = {"closed", "reopened", "transferred", "deleted"}


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the facts about the issue; of an own echo only that others may wait no more."""
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
            at = moment_or_none(payload, "issue.updated_at")
            return (IssueOpenedAgain(repository, issue, by=login(payload, "sender"), at=at),)
        case "labeled":
            at = moment_or_none(payload, "issue.updated_at")
            label = text_or_empty(payload, "label.name")
            change = CardChange(login(payload, "sender"), About.LABEL, label, at)
            return (IssueEdited(repository, issue, change),)
        case action if action in LOOK_AGAIN:
            return (IssueEdited(repository, issue),)
        case _:
            return ()
