"""Assigns the card's issue to people, or unassigns them."""

from sqlalchemy import Connection

from bot.github.api import issues
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.targets import current_card, issue_of
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardAssigned
from ledger.queue.outbox import Entry
from ledger.views import cards
from rules.intents.by_command import ChangeAssignees

ACT = Act("assignees:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: ChangeAssignees, _entry: Entry) -> ActResult:
    """Add or remove them; GitHub passes by in silence whoever cannot be assigned."""
    card = current_card(context, intent.card_id)
    issue = issue_of(card, context)
    there = issues.change_assignees(
        context.hub, issue.repository, issue.number, intent.people, assign=intent.wanted
    )
    assigned = {login.casefold() for login in there}
    missing = [login for login in intent.people if login.casefold() not in assigned]
    if intent.wanted and missing:
        raise GivenUpError(
            f"GitHub does not let {', '.join(missing)} be assigned there: give them access to "
            f"{issue.repository}, or remove someone from an issue with 10 assignees"
        )

    def events(db: Connection) -> tuple[Event, ...]:
        fresh, assignees = cards.get(db, intent.card_id), tuple(sorted(there))
        if fresh is None or fresh.assignees == assignees:
            return ()
        return (CardAssigned(intent.card_id, assignees),)  # webhooks about own acts are not read

    return ActResult(card.card_id, events=events)
