"""Work that is ready and that no worker takes: said on its cards, on the board and in the log."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from bot.bootstrap import Services
from bot.reactor import reactor
from bot.scheduler import dispatch
from ledger.event import Event
from ledger.events.board import CardExplained, WorkStalled
from ledger.events.run import CHECK
from ledger.ids import BoardId, RunId
from ledger.log import event_store
from ledger.views import cards, runs, stalls

STALLED = timedelta(minutes=1)  # a worker that lives takes a run within a second
WAY_OUT = "no worker takes it: see that `cardinal up` runs, then ask `cardinal doctor`"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Watched:
    """Since when each run is ready. `answer`: what was recorded stands while it is dispatch's last one, until
    `due`, when the next run is late; None: nothing was recorded.
    """

    since: Mapping[RunId, datetime]
    answer: dispatch.Answer | None = None
    due: datetime | None = None


_watched: WeakKeyDictionary[Engine, Watched] = WeakKeyDictionary()  # between two ticks


def watch(services: Services) -> None:
    """Record which runs have been ready for a minute without being claimed, and when that is over.

    It reads nothing while `dispatch.ready`, which every tick asks before, has nothing new and no run is due.
    """
    now, before = services.now(), _watched.get(services.engine, Watched({}))
    late_now = before.due is not None and before.due <= now
    if before.answer is not None and before.answer is dispatch.last_answer(services.engine) and not late_now:
        return
    ready = dispatch.ready(services.engine, now=now, slots=services.config.run_workers)
    since = {run.run_id: before.since.get(run.run_id, now) for run in ready}
    _watched[services.engine] = Watched(since)  # should recording fail, the next tick tries again
    answer = dispatch.last_answer(services.engine)
    _record(services, now, {run_id: at for run_id, at in since.items() if now - at >= STALLED})
    due = min((at + STALLED for at in since.values() if now - at < STALLED), default=None)
    _watched[services.engine] = Watched(since, answer, due)


def _record(services: Services, now: datetime, late: Mapping[RunId, datetime]) -> None:
    with event_store.reading(services.engine) as db:
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
        # A check moves no card, so nothing on it would say later that the check runs.
        if row.kind != CHECK and card.because != because:
            news.append(CardExplained(card.card_id, because))
    if news:
        log.warning("ready work starts nowhere runs=%s", len(found))
        with event_store.writing(services.engine) as db:
            event_store.append(db, *news, at=now)
            reactor.advance(db, now=now)
