"""Brings back the description that people wrote, in place of the one that a rule's model wrote out."""

from sqlalchemy import Connection

from bot.github.api import issues
from bot.outbox.contract import Act, ActResult, DeclinedError
from bot.outbox.targets import issue_of, read_row
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardDescribed
from ledger.queue.outbox import Entry
from ledger.views import cards, expansions
from rules.intents.rule_results import RestoreBody

# Once per `about`.
ACT = Act("restore:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: RestoreBody, _entry: Entry) -> ActResult:
    """Write the old description; raises GivenUpError where somebody edited the model's."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        expansion = expansions.get(db, card.content_id)
    if expansion is None or card.archived:
        return ActResult()
    issue, old = issue_of(card, context), expansion.before
    now = expansions.digest(issues.body_of(context.hub, issue.repository, issue.number))
    if now == expansion.written:
        issues.write_body(context.hub, issue.repository, issue.number, old)
    elif now != expansions.digest(old):  # else it is back already
        raise DeclinedError("someone has edited it since: take the old one from GitHub's history of edits")

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or not fresh.expanded:
            return ()
        return (CardDescribed(intent.card_id, fresh.title, old, fresh.labels),)  # own echoes are not read

    return ActResult(card.card_id, events=events)
