"""Adds labels to the card's issue, which a person named or a maintenance rule's model chose."""

from sqlalchemy import Connection

from bot.github.api import issues
from bot.outbox.contract import Act, ActResult
from bot.outbox.targets import current_card, issue_of
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardDescribed
from ledger.queue.outbox import Entry
from ledger.views import cards
from rules.intents.rule_results import AddLabels

# Once per `about`: a label that a person takes away again stays away.
ACT = Act("labels:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: AddLabels, _entry: Entry) -> ActResult:
    card = current_card(context, intent.card_id)
    if card.archived:
        return ActResult()
    issue = issue_of(card, context)
    labels = issues.add_labels(context.hub, issue.repository, issue.number, intent.labels)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)  # webhooks about own acts are not read
        if fresh is None or fresh.labels == labels:
            return ()
        return (CardDescribed(intent.card_id, fresh.title, fresh.body, labels, fresh.expanded),)

    return ActResult(card.card_id, events=events)
