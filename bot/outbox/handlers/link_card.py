"""Makes a dependency of GitHub's own between two cards, as a run's agent or a person wants it."""

from sqlalchemy import Connection

from bot.github.api import issues
from bot.github.errors import RefusedError
from bot.outbox.contract import Act, ActResult, DeclinedError, GivenUpError
from bot.outbox.targets import read_row
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.views import cards, links
from rules.intents.by_command import UnlinkCard
from rules.intents.outbound import LinkCard

# The same dependency is made once for a run or a command.
ACT = Act("link:{run_id}{about}:{relation}:{target}", ordered=True)


def carry_out(context: OutboxContext, intent: LinkCard, _entry: Entry) -> ActResult:
    """Make it; one that is there already needs nothing, and one that would close a circle is refused."""
    with context.reading() as db:
        blocked, blocking = ends(db, intent)
        if _place(blocking) in _blockers(db, blocked):
            return ActResult()
        if links.waits_for(db, _place(blocking), _place(blocked)):
            raise DeclinedError(
                "the two would wait for each other in a circle: take one dependency away first"
            )
    return change_dependency(context, blocked, blocking, linked=True)


def ends(db: Connection, intent: LinkCard | UnlinkCard) -> tuple[CardRow, CardRow]:
    """Return the card that waits and the one that it waits for. Raises GivenUpError."""
    repository, _, number = intent.target.rpartition("#")
    card = read_row(db, intent.card_id)
    there = cards.of_issue(db, cards.canonical_name(db, repository), int(number))
    other = next((it for it in there if it.board_id == card.board_id and not it.archived), None)
    if other is None:
        raise GivenUpError("it has no card on this board: put it there, or link them on its issue")
    return (card, other) if intent.relation == "blocked_by" else (other, card)


def change_dependency(
    context: OutboxContext, blocked: CardRow, blocking: CardRow, *, linked: bool
) -> ActResult:
    """Add or remove the dependency; GitHub refuses a change that is made already, as after an attempt without
    answer.
    """
    act = issues.add_blocked_by if linked else issues.remove_blocked_by
    ends = blocked.content_id, blocking.content_id
    try:
        act(context.hub, *ends)
    except RefusedError as error:
        if issues.is_blocked_by(context.hub, *ends) is not linked:
            raise GivenUpError(
                f"GitHub refuses it ({error.because}): look at the dependencies of both"
            ) from error
    return ActResult()


def _place(card: CardRow) -> links.IssueRef:
    return card.repository or "", card.number or 0


def _blockers(db: Connection, card: CardRow) -> set[links.IssueRef]:
    return {(link.repository, link.number) for link in links.of_card(db, card.card_id)}
