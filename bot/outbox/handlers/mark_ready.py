"""Takes the pull request out of draft."""

from dataclasses import replace

from sqlalchemy import Connection

from bot.github.api import pulls, reviews
from bot.github.errors import RefusedError, expect_newer
from bot.outbox import gate_check
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.targets import CommentThread, pull_of, read_row
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.pull import PullChanged
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.views import cards, checks
from rules.intents.outbound import MarkReady

# One per `about`; coalesced, because somebody may make it a draft again.
ACT = Act("ready:{card_id}:{about}", ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: MarkReady, _entry: Entry) -> ActResult:
    """Mark it ready at the commit that was let through; a ready, closed or missing one needs nothing.

    Where somebody has pushed meanwhile it stays a draft, and its new commit is told: that is checked next.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        gate = checks.standing(db, intent.card_id, card.pull_head)
    pull = pull_of(card)
    if pull is None or not card.has_open_pull or not card.pull_draft:
        return ActResult()
    if not gate.lets_through:  # somebody pushed in the meantime, and that is known
        raise GivenUpError(f"the gate did not let {card.pull_head[:7]} through: say /cardinal check")
    gate_check.demand_same(context, card, card.pull_head)
    pull_reading = pulls.read(context.hub, pull.repository, pull.number)
    if (pull_reading.state, pull_reading.draft, pull_reading.head) == ("open", True, card.pull_head):
        ready = _mark(context, card, pull)
        pull_reading = (
            replace(pull_reading, draft=False)
            if ready
            else pulls.read(context.hub, pull.repository, pull.number)
        )
    if (pull_reading.state, pull_reading.head) != ("open", card.pull_head):
        _check_is_news(context, card, pull_reading)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh, seen = (
            cards.get(db, intent.card_id),
            (pull_reading.state, pull_reading.draft, pull_reading.head),
        )
        if fresh is None or fresh.pull_number != pull.number:
            return ()
        if seen == (fresh.pull_state, fresh.pull_draft, fresh.pull_head):
            return ()
        return (PullChanged(intent.card_id, pull.number, *seen),)

    return ActResult(str(pull.number), "ready" if not pull_reading.draft else pull_reading.head, events)


def _check_is_news(context: OutboxContext, card: CardRow, now: pulls.PullReading) -> None:
    """Raise NotYetError while GitHub may show the pull request as it was before its last known change."""
    with context.reading() as db:
        changes = event_store.newest_of(db, f"card:{card.card_id}", PullChanged, 1)
    for at, _ in changes:
        theirs = context.hub.theirs(at, context.clock())
        if now.updated_at is not None and now.updated_at < theirs.replace(microsecond=0):
            expect_newer(f"pull request {now.number}", at, context.clock())


def _mark(context: OutboxContext, card: CardRow, pull: CommentThread) -> bool:
    """Take it out of draft; return False where it stands at another commit by now."""
    try:
        return reviews.mark_ready(context.hub, pull.repository, card.pull_node_id, card.pull_head)
    except RefusedError:
        pull_reading = pulls.read(context.hub, pull.repository, pull.number)
        if pull_reading.draft and pull_reading.state == "open":
            raise
        return False
