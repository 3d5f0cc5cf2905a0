"""The doctor's last results: of each host for every operator, all others for who may read everything."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from bot.web.site.layout import Site
from ledger.db.tables import ExaminationSubject
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queue import examinations
from ledger.queue.examinations import ExaminationRow, Level
from ledger.queue.sign_ins import SignIn
from ledger.views import boards
from rules.text import brief, count, plain, sentence

MAX_CHARS = 300  # of a result, and of its next step
NEVER = "The doctor has not run yet. The scheduler runs it within a few minutes; cardinal doctor runs it now."


class ExaminationView(NamedTuple):
    """An examination: where, who looked and when, each result with its level and next step, and a sum."""

    host: str
    examined: str
    results: tuple[tuple[str, str, str, str], ...]
    good: str


def of_hosts(db: Connection, now: datetime) -> list[ExaminationView]:
    """Return the last results of each host."""
    rows = examinations.all_hosts(db, ExaminationSubject.HOST)
    return [_view(row, now, levels=tuple(Level)) for row in rows]


def of_installation(db: Connection, now: datetime) -> ExaminationView | None:
    """Return the last results about all else, without the good ones.

    Only for whom all served boards are whole, and `reads_removed` holds.
    """
    rows = examinations.all_hosts(db, ExaminationSubject.INSTALLATION)
    newest = max(rows, key=lambda row: row.at, default=None)
    return None if newest is None else _view(newest, now, levels=(Level.FAIL, Level.WARN))


def reads_removed(site: Site, visit: SignIn) -> bool:
    """Tell whether the visitor may read each repository of boards that are served no more.

    The doctor may tell of them. Raises BusyError.
    """
    with event_store.reading(site.engine) as db:
        removed = [row.board_id for row in boards.all_boards(db) if not row.served]
        ever = [lanes.repositories_ever(db, board_id) for board_id in removed]
    return all(site.readers.readable(visit, names) >= names.keys() for names in ever)


def _view(row: ExaminationRow, now: datetime, *, levels: tuple[Level, ...]) -> ExaminationView:
    results = row.read()
    good = sum(result.level == Level.OK for result in results)
    return ExaminationView(
        plain(row.host),
        f"{brief(now - row.at)} ago, by {row.examiner}",
        tuple(
            (
                it.level,
                plain(it.name),
                _text(it.message),
                it.next_step and _text(it.next_step),
            )
            for it in results
            if it.level in levels
        ),
        "" if Level.OK in levels else f"{count(good, 'check')} passed.",
    )


def _text(words: str) -> str:
    return sentence(plain(words, MAX_CHARS)).replace("`", "")  # a command in them gets no capital
