"""News of cards that somebody may see, for pages and programs that follow the log."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, exists, false, or_, select

from ledger.event import Recorded
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.card_filter import CardScope, within
from ledger.views.cards import cards
from ledger.views.runs import runs

MAX_EVENTS = 500  # that are looked at; more of them are news without a look
MAX_BACKLOG = 20_000  # events of the log that somebody who comes back late is given
PAGE = 200


@dataclass(frozen=True, slots=True)
class CardNews:
    """An event of a card or of a run of it; its issue, which a draft does not have yet."""

    recorded: Recorded
    card_id: CardId
    repository: str
    number: int
    title: str


@dataclass(frozen=True, slots=True)
class NewsPage:
    """Events up to `last`. `omitted`: older ones were left out; `more`: others follow at once."""

    news: tuple[CardNews, ...]
    last: int
    omitted: bool
    more: bool


def later(
    db: Connection, scopes: Sequence[CardScope], after: int, card_id: CardId | None = None
) -> tuple[int, bool]:
    """Return the last event that was looked at, `after` if there is none later, and whether there is news.

    News is an event of a card in sight, one that was just archived too, of a run of such a card, or of a
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
    mine = select(cards.c.card_id).where(touched, or_(*map(within, scopes)))
    if card_id is not None:
        mine = mine.where(cards.c.card_id == card_id)
    return last, bool(scopes) and db.scalar(select(exists(mine))) is True


def news_page(
    db: Connection,
    scopes: Sequence[CardScope],
    after: int,
    kinds: Collection[str],
    *,
    card_id: CardId | None = None,
    whole: bool = False,
) -> NewsPage:
    """Return events of these kinds later than `after`, the oldest first, of cards in sight.

    A card is in sight when its own repository and those of all its runs may be seen. With `card_id` that
    card's alone count. Only the newest events of the log are
    read, unless it is `whole`.
    """
    newest = event_store.last_seq(db)
    begin = after if whole else max(after, newest - MAX_BACKLOG)
    events = event_store.read_kinds(db, kinds, after=begin, until=newest, limit=PAGE)
    by_stream = _in_sight(db, scopes, {recorded.stream for recorded in events})
    more = len(events) == PAGE
    return NewsPage(
        news=tuple(
            CardNews(recorded, *by_stream[recorded.stream])
            for recorded in events
            if recorded.stream in by_stream and card_id in (None, by_stream[recorded.stream][0])
        ),
        last=events[-1].seq if more else max(begin, newest),
        omitted=begin > after,
        more=more,
    )


def _in_sight(
    db: Connection, scopes: Sequence[CardScope], streams: Collection[str]
) -> dict[str, tuple[CardId, str, int, str]]:
    """Return the card of each stream that somebody may follow: its id, repository, number and title."""
    names = {stream.partition(":")[::2] for stream in streams}
    run_ids = [name for kind, name in names if kind == "run"]
    of_runs = db.execute(select(runs.c.run_id, runs.c.card_id).where(runs.c.run_id.in_(run_ids)))
    by_run = {run_id: card_id for run_id, card_id in of_runs}
    touched = {name for kind, name in names if kind == "card"}.union(by_run.values())
    query = select(cards.c.card_id, cards.c.repository, cards.c.number, cards.c.title)
    query = query.where(cards.c.card_id.in_(touched), or_(false(), *map(_with_all_runs, scopes)))
    known = {it: (it, name or "", number or 0, title) for it, name, number, title in db.execute(query)}
    runs_seen = {f"run:{run_id}": known[card_id] for run_id, card_id in by_run.items() if card_id in known}
    return {f"card:{card_id}": row for card_id, row in known.items()} | runs_seen


def _with_all_runs(scope: CardScope) -> ColumnElement[bool]:
    """Limit to cards of whose runs, past ones too, every repository may be seen."""
    if scope.seen is None:
        return within(scope)
    every = runs.alias()
    hidden = every.c.repository.not_in((*scope.seen, ""))
    return and_(within(scope), ~exists().where(every.c.card_id == cards.c.card_id, hidden))
