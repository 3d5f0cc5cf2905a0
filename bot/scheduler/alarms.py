"""Alarms: a full disk, and ready work that no worker takes; in the log, on the board, on the cards."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from bot.bootstrap import Services
from bot.reactor import reactor
from bot.scheduler import dispatch, wakeups
from bot.system import program
from ledger.event import Event
from ledger.events.board import CardExplained, DiskWasFull, WorkStalled
from ledger.events.run import BESIDE
from ledger.ids import BoardId, RunId
from ledger.log import event_store
from ledger.queries.standstill import STALLED_AFTER
from ledger.states import Reason
from ledger.views import boards as known_boards
from ledger.views import cards, runs, stalls

FULL_BYTES = 100 * 1024**2
FEW_FILES = 1_000
MARK = "run/disk.full"  # an empty file, as old as the trouble. It outlives this process
WAY_OUT = "no worker takes it: see that {workers} runs, then ask `cardinal doctor`"
log = logging.getLogger(__name__)


def free_bytes(place: Path) -> int:
    """Return how much can be written there: nothing where the disk takes hardly another file."""
    there = os.statvfs(place)
    takes_files = there.f_files == 0 or there.f_favail >= FEW_FILES  # some file systems have no such limit
    return there.f_bavail * there.f_frsize if takes_files else 0


def watch_disk(services: Services, free_in: Callable[[Path], int] = free_bytes) -> None:
    """Log that the home's disk is as good as full; record it once there is room again."""
    home = services.config.home
    mark, free = home / MARK, free_in(home)
    if free < FULL_BYTES:
        log.error("disk full home=%s free_mb=%d step=make_room", home, free // 10**6)
        _mark_full_disk(mark, services.now())
    elif mark.exists():
        _record_full_disk(services, datetime.fromtimestamp(mark.stat().st_mtime, UTC))
        mark.unlink()


def _mark_full_disk(mark: Path, now: datetime) -> None:
    if mark.exists():
        return
    try:
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        mark.touch(mode=0o600)
        os.utime(mark, (now.timestamp(), now.timestamp()))
    except OSError as error:  # not even an empty file: the next look tries again
        log.error("disk full mark=%s error=%s", mark, error)


def _record_full_disk(services: Services, since: datetime) -> None:
    with event_store.writing(services.engine) as db:
        full = tuple(DiskWasFull(board.board_id, since) for board in known_boards.list_served(db))
        event_store.append(db, *full, at=services.now())
        reactor.advance(db, now=services.now())


@dataclass(frozen=True, slots=True)
class Watched:
    """Since when each run is ready. While `answer` is the last of dispatch, the record stands until `due`,
    when the next run is late; None: nothing was recorded.
    """

    since: Mapping[RunId, datetime]
    answer: dispatch.Answer | None = None
    due: datetime | None = None


_watched: WeakKeyDictionary[Engine, Watched] = WeakKeyDictionary()  # between two ticks


def watch_starts(services: Services) -> None:
    """Record which runs have been ready for a minute without a claim, and when that is over.

    Reads nothing while `dispatch.ready_runs`, which every tick calls before, has no news and no run is late.
    """
    now, before = services.now(), _watched.get(services.engine, Watched({}))
    late_now = before.due is not None and before.due <= now
    if before.answer is not None and before.answer is dispatch.last_answer(services.engine) and not late_now:
        return
    ready = wakeups.ready(services, now)
    since = {run.run_id: before.since.get(run.run_id, now) for run in ready}
    _watched[services.engine] = Watched(since)  # should recording fail, the next tick tries again
    answer = dispatch.last_answer(services.engine)
    _record_stalled(services, now, {run_id: at for run_id, at in since.items() if now - at >= STALLED_AFTER})
    due = min((at + STALLED_AFTER for at in since.values() if now - at < STALLED_AFTER), default=None)
    _watched[services.engine] = Watched(since, answer, due)


def _record_stalled(services: Services, now: datetime, late: Mapping[RunId, datetime]) -> None:
    with event_store.reading(services.engine) as db:
        known = stalls.counts(db)
        if not late and not known:
            return
        rows = [row for row in (runs.get(db, run_id) for run_id in late) if row is not None]
        stuck = [(row, card) for row in rows if (card := cards.get(db, row.card_id)) is not None]
    counted: Counter[BoardId] = Counter(card.board_id for _, card in stuck)
    boards = dict.fromkeys((*counted, *known))
    news: list[Event] = [
        WorkStalled(board, counted[board]) for board in boards if counted[board] != known.get(board, 0)
    ]
    way_out = WAY_OUT.format(workers=program.of_workers(services.config.home))
    for row, card in stuck:
        because = f"{row.run_id} is ready since {late[row.run_id]:%H:%M} UTC and does not start: {way_out}"
        # Such a run moves no card, so nothing on it would say later that it runs.
        if row.kind not in BESIDE and card.because != because:
            changed = card.reason is not Reason.PERSON
            news.append(CardExplained(card.card_id, because, Reason.PERSON, changed=changed))
    if news:
        log.warning("ready work starts nowhere runs=%s", len(stuck))
        with event_store.writing(services.engine) as db:
            event_store.append(db, *news, at=now)
            reactor.advance(db, now=now)
