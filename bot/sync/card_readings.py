"""What GitHub answers about cards, made good: people's own words, half-done replacements, older answers."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api.project_models import CardReading
from bot.github.errors import BEHIND
from bot.render.markdown.marker import OF_DRAFT, draft_of, marker_of, words_of_draft
from bot.sync.movers import on_timeline
from ledger.events.board import CardMoved, CardReplaced
from ledger.ids import CardId, EntryKey
from ledger.log import event_store
from ledger.queue import change_reports, outbox, refresh_requests
from ledger.queue.change_reports import About, ChangeReport
from ledger.views import cards, expansions, remotes

CardReadings = Mapping[CardId, CardReading | None]


def with_own_words(services: Services, readings: CardReadings) -> CardReadings:
    """Return the readings with the descriptions that people wrote.

    A model's words carry nobody's rights: they neither choose a repository nor steer an agent. Once somebody
    has edited them, they are that person's.
    """
    with event_store.reading(services.engine) as db:
        written = expansions.of_issues(db, (reading.content_id for reading in readings.values() if reading))
        return {card_id: _own(db, reading, written) for card_id, reading in readings.items()}


def _own(
    db: Connection, reading: CardReading | None, written: Mapping[str, expansions.ExpansionRow]
) -> CardReading | None:
    expansion = written.get(reading.content_id) if reading else None
    if reading is None:
        return None
    reading = replace(reading, body=words_of_draft(reading.body))
    if expansion is not None and expansions.digest(reading.body) == expansion.written:
        return replace(reading, body=expansion.before, expanded=True)
    marker = marker_of(reading.body)
    entry = outbox.get(db, marker.key) if marker else None
    if entry is None or entry.act != "expand_body" or entry not in outbox.open_of_card(db, entry.card_id):
        return reading
    card = cards.get(db, entry.card_id)
    if card is None or card.content_id != reading.content_id:
        return reading
    return replace(reading, body=card.body, expanded=card.expanded)  # written, and not committed yet


def find_unsettled(services: Services, readings: CardReadings) -> frozenset[CardId]:
    """Return the cards whose readings tell nothing: the entry that replaces the draft records its own acts.

    Those are the draft once it is away, the issue's card before the ledger knows it, and a draft that GitHub
    still shows, or showed before, though its issue has its place.
    """
    with event_store.reading(services.engine) as db:
        return frozenset(
            card_id for card_id, reading in readings.items() if _is_unsettled(db, card_id, reading)
        )


def _is_unsettled(db: Connection, card_id: CardId, reading: CardReading | None) -> bool:
    card = cards.get(db, card_id)
    if reading is None:
        return card is not None and card.number is None and _is_open(db, card_id)
    if card is not None:
        return False
    if reading.kind == "DraftIssue":
        remote = remotes.get(db, EntryKey(f"{OF_DRAFT}{card_id}"))
        return remote is not None and bool(remote.remote_id)
    draft = draft_of(reading.body)
    return bool(draft) and _is_open(db, CardId(draft))


def _is_open(db: Connection, draft: CardId) -> bool:
    return any(entry.key == f"{OF_DRAFT}{draft}" for entry in outbox.open_of_card(db, draft))


def without_stale(services: Services, reading: CardReading | None) -> CardReading | None:
    """Return the look, with the column and the archive as they are known where it is older than that.

    After Cardinal's own change GitHub's time may be the same: then they are as Cardinal has just left them,
    unless somebody else changed them since, by a delivery or the issue's timeline. A change that nobody told
    of is seen by a later look.
    """
    if reading is None:
        return None
    with event_store.reading(services.engine) as db:
        card, reports = cards.get(db, reading.card_id), change_reports.of_card(db, reading.card_id)
        if card is None or (card.column, card.archived) == (reading.column, reading.archived):
            return reading
        moves = event_store.newest_of(db, f"card:{reading.card_id}", CardMoved, 1)
        placed = event_store.newest_of(db, f"card:{reading.card_id}", CardReplaced, 1)
        archived_at = remotes.last_done_at(db, reading.card_id, "archive_card")
        recorded_at = refresh_requests.last_recorded_at(db, reading.card_id)
    ids = {name: option_id for option_id, name in reading.status}
    as_known = replace(reading, column=card.column, option_id=ids.get(card.column or "", ""))
    if recorded_at is not None and reading.updated_at < recorded_at:
        return replace(as_known, archived=card.archived)
    others = tuple(report for report in reports if report.sender != services.hub.bot_login)
    now, hub = services.now(), services.hub
    for at, move in moves:
        own = move.by_cardinal and _is_fresh(at, now) and card.column == move.after
        theirs = hub.theirs(at, now)
        mover = on_timeline(reading.last_move, reading.column, theirs) if own else ""
        by_other = mover not in ("", hub.bot_login) or _is_told(others, theirs, About.COLUMN)
        if own and reading.column == move.before and not by_other:
            reading = as_known
    in_place = placed and not moves and _is_fresh(placed[0][0], now) and reading.column is None
    if in_place and not _is_told(others, hub.theirs(placed[0][0], now), About.COLUMN):
        reading = as_known
    if archived_at is not None and _is_fresh(archived_at, now):
        by_other = _is_told(others, hub.theirs(archived_at, now), About.ARCHIVED, About.RESTORED)
        reading = reading if by_other else replace(reading, archived=card.archived)
    return reading


def _is_fresh(at: datetime, now: datetime) -> bool:
    """Tell whether GitHub may still show what was before `at`; one to come was told by a wrong clock."""
    return abs(now - at) <= BEHIND


def _is_told(reports: tuple[ChangeReport, ...], since: datetime, *about: About) -> bool:
    """Tell whether a report about that is as new; GitHub's times have whole seconds."""
    return any(report.about in about and report.at >= since.replace(microsecond=0) for report in reports)
