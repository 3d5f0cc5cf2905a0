"""Looks that GitHub answers as of before a change that is known: they are nobody's change back."""

from dataclasses import replace
from datetime import datetime

from bot.bootstrap import Services
from bot.github.api.project_models import CardLook
from bot.github.errors import BEHIND
from bot.sync.movers import on_timeline
from ledger.events.board import CardMoved, CardReplaced
from ledger.log import event_store
from ledger.queue import change_reports, refresh_requests
from ledger.queue.change_reports import About, Report
from ledger.views import cards, remotes


def without_stale(services: Services, seen: CardLook | None) -> CardLook | None:
    """Return the look, with the column and the archive as they are known where it is older than that.

    After Cardinal's own change GitHub's time may be the same: then they are as Cardinal has just left them,
    unless somebody else changed them since, by a delivery or the issue's timeline. A change that nobody told
    of is seen by a later look.
    """
    if seen is None:
        return None
    with event_store.reading(services.engine) as db:
        known, reports = cards.get(db, seen.card_id), change_reports.of_card(db, seen.card_id)
        if known is None or (known.column, known.archived) == (seen.column, seen.archived):
            return seen
        moves = event_store.newest_of(db, f"card:{seen.card_id}", CardMoved, 1)
        placed = event_store.newest_of(db, f"card:{seen.card_id}", CardReplaced, 1)
        archived_at = remotes.done_at(db, seen.card_id, "archive_card")
        recorded_at = refresh_requests.recorded_at(db, seen.card_id)
    ids = {name: option_id for option_id, name in seen.status}
    as_known = replace(seen, column=known.column, option_id=ids.get(known.column or "", ""))
    if recorded_at is not None and seen.updated_at < recorded_at:
        return replace(as_known, archived=known.archived)
    others = tuple(it for it in reports if it.sender != services.hub.bot_login)
    since = services.now() - BEHIND
    for at, move in moves:
        own = move.by_cardinal and at >= since and known.column == move.after
        mover = on_timeline(seen.last_move, seen.column, at) if own else ""
        by_other = mover not in ("", services.hub.bot_login) or _is_told(others, at, About.COLUMN)
        if own and seen.column == move.before and not by_other:
            seen = as_known
    in_place = placed and not moves and placed[0][0] >= since and seen.column is None
    if in_place and not _is_told(others, placed[0][0], About.COLUMN):
        seen = as_known
    if archived_at is not None and archived_at >= since:
        by_other = _is_told(others, archived_at, About.ARCHIVED, About.RESTORED)
        seen = seen if by_other else replace(seen, archived=known.archived)
    return seen


def _is_told(reports: tuple[Report, ...], since: datetime, *about: About) -> bool:
    """Tell whether a report about that is as new; GitHub's times have whole seconds."""
    return any(it.about in about and it.at >= since.replace(microsecond=0) for it in reports)
