"""Whether anything happened to cards that somebody may see, for pages that follow the log."""

from collections.abc import Sequence

from sqlalchemy import Connection, exists, or_, select

from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.card_filter import FROM, CardScope, within
from ledger.views.cards import cards
from ledger.views.runs import runs

MAX_EVENTS = 500  # that are looked at; more of them are news without a look


def later(
    db: Connection, scopes: Sequence[CardScope], after: int, card_id: CardId | None = None
) -> tuple[int, bool]:
    """Return the last event that was looked at, `after` if there is none later, and whether there is news.

    News is what happened to a card in sight, one that was just archived too, to a run of such a card, or to a
    board whose drafts are in sight. With `card_id` that card's alone counts.
    """
    newest = event_store.last_seq(db)
    if newest > after + MAX_EVENTS:
        return newest, True
    last, streams = event_store.streams_after(db, after, limit=MAX_EVENTS)
    named = {kind: set[str]() for kind in ("board", "card", "run")}
    for stream in streams:
        kind, _, name = stream.partition(":")
        named.setdefault(kind, set()).add(name)
    if card_id is None and any(scope.drafts and scope.board_id in named["board"] for scope in scopes):
        return last, True
    if not (named["card"] or named["run"]):
        return last, False
    of_runs = select(runs.c.card_id).where(runs.c.run_id.in_(named["run"]))
    touched = or_(cards.c.card_id.in_(named["card"]), cards.c.card_id.in_(of_runs))
    mine = select(cards.c.card_id).select_from(FROM).where(touched, or_(*map(within, scopes)))
    if card_id is not None:
        mine = mine.where(cards.c.card_id == card_id)
    return last, bool(scopes) and db.scalar(select(exists(mine))) is True
