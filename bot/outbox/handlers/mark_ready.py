"""Takes the pull request out of draft."""

from sqlalchemy import Connection

from bot.github.api import pulls, reviews
from bot.github.errors import RefusedError
from bot.outbox import gate_check
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.targets import pull_of, read_row
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.pull import PullChanged
from ledger.queue.outbox import Entry
from ledger.views import cards, checks
from rules.intents.outbound import MarkReady

# One per `about`; coalesced, because somebody may make it a draft again.
ACT = Act("ready:{card_id}:{about}", ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: MarkReady, _entry: Entry) -> ActResult:
    """Mark it ready; a ready, closed or missing one needs nothing."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        gate = checks.standing(db, intent.card_id, card.pull_head)
    pull = pull_of(card)
    if pull is None or card.pull_state != "open" or not card.pull_draft:
        return ActResult()
    if not gate.lets_through:  # somebody pushed in the meantime
        raise GivenUpError(f"the gate did not let {card.pull_head[:7]} through: say /cardinal check")
    gate_check.demand_same(context, card, card.pull_head)
    try:
        reviews.mark_ready(context.hub, pull.repository, card.pull_node_id)
    except RefusedError:
        now = pulls.read(context.hub, pull.repository, pull.number)
        if now.draft and now.state == "open":
            raise

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or fresh.pull_number != pull.number or not fresh.pull_draft:
            return ()
        return (PullChanged(intent.card_id, pull.number, fresh.pull_state, False, fresh.pull_head),)

    return ActResult(str(pull.number), "ready", events)
