"""Makes a dependency of GitHub's own between two cards, as a run's agent wants it."""

from sqlalchemy import Connection

from bot.github.api import issues
from bot.github.errors import RefusedError
from bot.outbox.contract import Act, ActResult, GivenUpError, OutboxContext
from bot.outbox.targets import card_of
from ledger.queue.outbox import Entry
from ledger.views import cards, links
from ledger.views.cards import CardRow
from rules.intents.outbound import LinkCard

# The same dependency is made once for a run.
ACT = Act("link:{run_id}:{relation}:{target}", ordered=True)


def carry_out(context: OutboxContext, intent: LinkCard, entry: Entry) -> ActResult:
    """Make it; one that is there already needs nothing, and one that would close a circle is refused."""
    repository, _, number = intent.target.rpartition("#")
    with context.reading() as db:
        card = card_of(db, intent.card_id)
        there = cards.of_issue(db, repository, int(number))
        other = next((it for it in there if it.board_id == card.board_id and not it.archived), None)
        if other is None:
            raise GivenUpError("it has no card on this board: put it there, then link them on its issue")
        blocked, blocking = (card, other) if intent.relation == "blocked_by" else (other, card)
        if _place(blocking) in _blockers(db, blocked):
            return ActResult()
        if links.waits_for(db, _place(blocking), _place(blocked)):
            raise GivenUpError(
                "the two would wait for each other in a circle: take one dependency away first"
            )
    try:
        issues.add_blocked_by(context.hub, blocked.content_id, blocking.content_id)
    except RefusedError as error:
        if entry.attempts > 1:  # an earlier attempt may have made it
            return ActResult()
        raise GivenUpError(
            f"GitHub refuses it ({error.because}): look at the dependencies of both"
        ) from error
    return ActResult()


def _place(card: CardRow) -> links.Place:
    return card.repository or "", card.number or 0


def _blockers(db: Connection, card: CardRow) -> set[links.Place]:
    return {(link.repository, link.number) for link in links.of_card(db, card.card_id)}
