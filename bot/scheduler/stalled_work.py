"""Work that is ready and that no worker takes: said on its cards, on the board and in the log."""

import logging
from collections import Counter
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from bot.bootstrap import Shop
from bot.reactor import reactor
from bot.scheduler import dispatch
from ledger.event import Event
from ledger.events.board import CardExplained, WorkStalled
from ledger.ids import BoardId, RunId
from ledger.log import event_store
from ledger.views import cards, runs, stalls

STALLED = timedelta(minutes=1)  # a worker that lives takes a run within a second
WAY_OUT = "no worker takes it: see that `cardinal up` runs, then ask `cardinal doctor`"
log = logging.getLogger(__name__)
_ready_since: WeakKeyDictionary[Engine, dict[RunId, datetime]] = WeakKeyDictionary()  # between two ticks


def watch(shop: Shop) -> None:
    """Record which runs have been ready for a minute without being claimed, and when that is over."""
    now, before = shop.now(), _ready_since.get(shop.engine, {})
    ready = dispatch.ready(shop.engine, now=now, slots=shop.config.run_workers)
    since = {run.run_id: before.get(run.run_id, now) for run in ready}
    _ready_since[shop.engine] = since
    late = {run_id: at for run_id, at in since.items() if now - at >= STALLED}
    with event_store.reading(shop.engine) as db:
        known = stalls.counts(db)
        if not late and not known:
            return
        rows = [row for row in (runs.get(db, run_id) for run_id in late) if row is not None]
        found = [(row, card) for row in rows if (card := cards.get(db, row.card_id)) is not None]
    counted: Counter[BoardId] = Counter(card.board_id for _, card in found)
    boards = dict.fromkeys((*counted, *known))
    news: list[Event] = [
        WorkStalled(board, counted[board]) for board in boards if counted[board] != known.get(board, 0)
    ]
    for row, card in found:
        because = f"{row.run_id} is ready since {late[row.run_id]:%H:%M} UTC and does not start: {WAY_OUT}"
        if card.because != because:
            news.append(CardExplained(card.card_id, because))
    if news:
        log.warning("ready work starts nowhere runs=%s", len(found))
        with event_store.writing(shop.engine) as db:
            event_store.append(db, *news, at=now)
            reactor.advance(db, now=now)
