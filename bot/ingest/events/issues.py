"""An issue was edited, labelled, assigned, moved away, closed or opened again.

Source: docs.github.com/webhooks/webhook-events-and-payloads#issues.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from bot.ingest.card_triggers import CardTriggered
from bot.ingest.events._payload import (
    Payload,
    login,
    moment,
    number,
    own,
    text,
    text_or_empty,
)
from bot.ingest.facts import BlockerChanged, CardChange, Fact, IssueEdited
from ledger.ids import BoardId
from ledger.queue.change_reports import About
from ledger.views import schedules
from rules.policy.schedule import CardTrigger
from rules.text import code

SUBJECT = ("issue",)
LOOK_AGAIN = {"edited", "unlabeled", "assigned", "unassigned", "typed", "untyped"}
FREEING = {"closed", "reopened", "transferred", "deleted"}


@dataclass(frozen=True, slots=True)
class IssueLabeled(CardTriggered):
    """An issue got a label."""

    number: int
    label: str

    def meets(self, trigger: CardTrigger) -> bool:
        """Tell whether it is this label. GitHub's labels are the same in any case."""
        return trigger.labeled is not None and trigger.labeled.label.casefold() == self.label.casefold()

    def excludes(self, db: Connection, board_id: BoardId) -> bool:
        """Tell whether a schedule made the issue: an automation that labels new issues would never end."""
        return schedules.is_made(db, board_id, self.repository, self.number)


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the facts about the issue; of an own echo only that others may wait no more."""
    action = text_or_empty(payload, "action")
    if own(payload, bot_id) and action not in FREEING:
        return ()
    repository, issue = text(payload, "repository.full_name"), number(payload, "issue.number")
    if own(payload, bot_id):  # its merge closes issues
        return (BlockerChanged(repository, issue),)
    match action:
        case action if action in FREEING:
            return (IssueEdited(repository, issue), BlockerChanged(repository, issue))
        case "labeled":
            at = moment(payload, "issue.updated_at")
            label = text_or_empty(payload, "label.name")
            change = CardChange(login(payload, "sender"), About.LABEL, label, at)
            if not label:
                return (IssueEdited(repository, issue, change),)
            event = f"issue-{number(payload, 'issue.id')}"
            cause = f"For {repository}#{issue}, which got the label {code(label)}."
            labeled = IssueLabeled(
                repository=repository, event=event, cause=cause, at=at, number=issue, label=label
            )
            return (IssueEdited(repository, issue, change), labeled)
        case action if action in LOOK_AGAIN:
            return (IssueEdited(repository, issue),)
        case _:
            return ()
