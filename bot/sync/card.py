"""Cards synced: read from GitHub, differences appended as events."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import issues as github_issues
from bot.github.api import projects as github_board
from bot.github.api import pulls, roles
from bot.github.api.project_models import CardReading
from bot.github.errors import NotFoundError
from bot.reactor import reactor
from bot.state import policies, same_issue, snapshots
from bot.state.hang_guard import guard_hangs
from bot.sync import board as boards
from bot.sync import column_order, movers, target_repository
from bot.sync.card_readings import find_unsettled, with_own_words, without_stale
from bot.system.current_work import working_on
from ledger.errors import CardinalError
from ledger.event import Event
from ledger.events import board as on_board
from ledger.events.preference import PrioritySeen
from ledger.events.pull import PullChanged
from ledger.events.related import Blocker, LinksSeen
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.model.column_names import same_column
from ledger.queue import change_reports, leases, outbox, refresh_requests
from ledger.rows.cards import CardRow
from ledger.states import CardState, PullState
from ledger.views import boards as known_boards
from ledger.views import cards, links, runs
from rules.card.move_rights import may_move
from rules.snapshot import NOBODY, Mover
from rules.text import plain

LEASE_PREFIX = "look:"
LEASE_TTL_S = 30
HIDDEN, HIDDEN_S = "Redacted", 180  # GitHub's kind for a card whose issue Cardinal may not see
MAX_OPTION = 100  # characters of a field's option
MAX_READS = 5  # a card with endless refresh requests is left to the next wake-up
Held = Mapping[CardId, leases.Lease]


@dataclass(frozen=True, slots=True)
class Closing:
    """The news about a closed issue. `merged`: its card's pull request is."""

    merged: bool = False
    events: tuple[Event, ...] = ()


class CardBusyError(CardinalError):
    """Another process syncs the card and has not recorded its reading yet."""

    def __init__(self, card_id: CardId) -> None:
        self.card_id = card_id
        super().__init__(f"card {card_id} is being read: the delivery is waiting for it")


def sync_card(services: Services, card_id: CardId) -> bool:
    """Sync one card, as `sync_cards` does; return whether it was."""
    return card_id in sync_cards(services, (card_id,))


def sync_cards(
    services: Services, card_ids: Collection[CardId], paused: Collection[BoardId] = ()
) -> frozenset[CardId]:
    """Sync cards, those of a board by one read; repeat for those with a refresh request meanwhile. Cards of
    `paused` boards, and of those that Cardinal does not serve, are left as they are.

    Return all others but those that another worker holds, or whose board is not ready. A lease lasts from the
    read to the commit, so no older reading overwrites a newer one. Requests that wait together cost one read.
    """
    board_of = {card_id: it for card_id, it in _boards_of(services, card_ids).items() if it not in paused}
    if not board_of:
        return frozenset()
    with guard_hangs(services.engine, *(f"card:{card_id}" for card_id in board_of)):
        return _sync_boards(services, board_of)


def _sync_boards(services: Services, board_of: Mapping[CardId, BoardId | None]) -> frozenset[CardId]:
    with event_store.writing(services.engine) as db:
        taken = [
            leases.take(db, f"{LEASE_PREFIX}{card_id}", services.name, ttl_s=LEASE_TTL_S)
            for card_id in board_of
        ]
    held = {CardId(lease.name.removeprefix(LEASE_PREFIX)): lease for lease in taken if lease is not None}
    try:
        return _sync_held(services, held, board_of)
    finally:
        if held:  # cards that were not recorded
            with event_store.writing(services.engine) as db:
                for lease in held.values():
                    leases.release(db, lease)


def _boards_of(services: Services, card_ids: Collection[CardId]) -> dict[CardId, BoardId | None]:
    """Return the cards' boards; None for one that nobody has told of: then it is that of the services."""
    with event_store.reading(services.engine) as db:
        known = {card_id: cards.get(db, card_id) for card_id in card_ids}
        return {
            card_id: card.board_id if card else refresh_requests.board_of(db, card_id)
            for card_id, card in known.items()
        }


def _sync_held(
    services: Services, held: dict[CardId, leases.Lease], board_of: Mapping[CardId, BoardId | None]
) -> frozenset[CardId]:
    """Sync the cards, board by board: an error at one, raised at the end, holds up no other.

    A card that is recorded, its lease released, leaves `held`.
    """
    by_board: dict[BoardId | None, list[CardId]] = {}
    for card_id in held:
        by_board.setdefault(board_of[card_id], []).append(card_id)
    synced: set[CardId] = set()
    failed: list[Exception] = []
    for board_id, card_ids in by_board.items():
        if board_id is None and services.context.chosen is None:
            synced |= set(card_ids)  # a wake-up with an id that nobody has reported
            continue
        try:
            synced |= _sync_board(services, board_id, card_ids, held)
        except Exception as error:  # raised below, after the other boards
            failed.append(error)
    if failed:
        raise failed[0]
    return frozenset(synced)


def _sync_board(
    services: Services,
    board_id: BoardId | None,
    card_ids: Collection[CardId],
    held: dict[CardId, leases.Lease],
) -> frozenset[CardId]:
    """Sync the cards of one board; return those that are. Requests for a board not served are dropped."""
    on = services if board_id is None else boards.if_served(services, board_id)
    if on is None:
        with event_store.writing(services.engine) as db:
            for card_id in card_ids:
                refresh_requests.mark_served(db, card_id, refresh_requests.counts(db, card_id)[0])
        return frozenset(card_ids)
    for _ in range(MAX_READS):
        if not boards.is_ready(on):
            return frozenset(card_ids) - held.keys()
        for card_id in _sync_once(on, {it: held[it] for it in card_ids if it in held}):
            del held[card_id]
        if held.keys().isdisjoint(card_ids):
            break
    return frozenset(card_ids)


def require_synced(services: Services, card_id: CardId) -> None:
    """Sync the card; raises CardBusyError while another process does: the delivery is tried again then."""
    if not sync_card(services, card_id):
        raise CardBusyError(card_id)


def _sync_once(services: Services, held: Held) -> tuple[CardId, ...]:
    """Read the cards once and record them; return those, their leases released, that no request came for."""
    with event_store.reading(services.engine) as db:
        requests = {card_id: refresh_requests.counts(db, card_id)[0] for card_id in held}
    readings = github_board.read_cards(services.hub, tuple(held))
    if (
        None in readings.values()
    ):  # raises if the whole board is out of sight: that tells nothing about its cards
        github_board.read_board(services.hub, *services.board.address)
    in_between = find_unsettled(services, readings)
    return tuple(
        card_id
        for card_id, reading in with_own_words(services, readings).items()
        if (
            _skip_reading(services, held[card_id], requests[card_id])
            if card_id in in_between
            else _keep_look(services, card_id, reading, held[card_id], requests[card_id])
        )
    )


def _skip_reading(services: Services, lease: leases.Lease, requests: int) -> bool:
    """Leave the ledger as it is until the card's own entry has recorded it, which asks for a look then."""
    card_id = CardId(lease.name.removeprefix(LEASE_PREFIX))
    with event_store.writing(services.engine) as db:
        refresh_requests.mark_served(db, card_id, requests)
        leases.release(db, lease)
    return True


def _keep_look(
    services: Services, card_id: CardId, reading: CardReading | None, lease: leases.Lease, requests: int
) -> bool:
    """Record the look at a card with so many requests; return True, the lease released, if no more came."""
    if reading is not None and not services.board.is_at(reading.owner, reading.board_number):
        elsewhere = services.if_served(reading.board_id)
        if elsewhere is not None and elsewhere.board.is_at(reading.owner, reading.board_number):
            return boards.is_ready(elsewhere) and bool(_sync_once(elsewhere, {card_id: lease}))
        reading = None  # it is on a board that Cardinal does not serve
    if reading is not None and not boards.agrees(services, reading):
        return False  # columns were renamed or deleted: read the card again with the current ones
    reading = without_stale(services, reading)
    with working_on(f"card:{card_id}"):
        return _keep_served(services, card_id, reading, lease, requests)


def _keep_served(
    services: Services, card_id: CardId, reading: CardReading | None, lease: leases.Lease, requests: int
) -> bool:
    closing, placed = _find_closing(services, reading), target_repository.decide_target(services, reading)
    came_at = _came_at(services, card_id, reading)
    moved = movers.find(services, card_id, reading, came=came_at is not None, merged=closing.merged)
    labels = _labels(services, card_id, reading)
    with event_store.writing(services.engine) as db:
        leases.renew(db, lease, ttl_s=LEASE_TTL_S)
        if placed is not None:
            event_store.append(db, placed, at=services.now())  # before the drag that needs it
        _record(db, card_id, reading, closing, moved, came_at=came_at, now=services.now())
        card = cards.get(db, card_id)
        if labels and card is not None and not card.archived:
            event_store.append(db, *labels, at=services.now())
        change_reports.drop_reports(db, card_id, moved.reports, services.now() - movers.KEPT)
        refresh_requests.mark_served(db, card_id, requests)
        if reading is not None and not reading.archived:
            column_order.mark_column(db, reading.board_id, reading.column)
        reactor.advance(db, now=services.now())
        quiet = refresh_requests.counts(db, card_id)[0] == requests
        if quiet:
            leases.release(db, lease)
    return quiet


def _find_closing(services: Services, reading: CardReading | None) -> Closing:
    """Return the issue's closing, if it is news, and its author: only a trusted one gives work up.

    A merge closes the issue, and the delivery about the merge may be late: so the pull request is read.
    """
    if reading is None or reading.state != "closed" or reading.archived or reading.kind != "Issue":
        return Closing()
    with event_store.reading(services.engine) as db:
        card, policy = cards.get(db, reading.card_id), policies.in_force(db, reading.board_id)
    reason = reading.state_reason or "completed"
    if card is None or reading.repository is None or reading.number is None:
        return Closing(events=(on_board.IssueClosed(reading.card_id, reason, ""),))
    if card.closed == reason:
        return Closing(card.pull_state is PullState.MERGED)
    by = github_issues.find_closer(services.hub, reading.repository, reading.number)
    trusted = bool(by) and may_move(policy, Mover(by, roles.role(services.hub, reading.repository, by)))
    changed = _pull_changed(services, card)
    merged = "merged" in (card.pull_state, changed.state if changed else "")
    news = (changed,) if changed else ()
    return Closing(merged, (*news, on_board.IssueClosed(reading.card_id, reason, by, trusted)))


def _pull_changed(services: Services, card: CardRow) -> PullChanged | None:
    if card.pull_repository is None or card.pull_number is None or not card.has_open_pull:
        return None
    try:
        pull = pulls.read(services.hub, card.pull_repository, card.pull_number)
    except NotFoundError:
        return None
    if pull.state == "open":
        return None  # its draft and its head are told by deliveries of their own
    return PullChanged(card.card_id, pull.number, pull.state, pull.draft, pull.head)


def _came_at(services: Services, card_id: CardId, reading: CardReading | None) -> datetime | None:
    """Return the time, by deliveries, at which the card came to its column; None if that is no news."""
    if reading is None or reading.column is None:
        return None
    with event_store.reading(services.engine) as db:
        return refresh_requests.came_to(db, card_id, reading.option_id)


def _labels(
    services: Services, card_id: CardId, reading: CardReading | None
) -> tuple[on_board.LabelJudged, ...]:
    if reading is None or reading.archived:
        return ()
    with event_store.reading(services.engine) as db:
        policy = policies.in_force(db, reading.board_id)
    return movers.judge_labels(services, card_id, policy, reading)


def _record(
    db: Connection,
    card_id: CardId,
    reading: CardReading | None,
    closing: Closing,
    moved: movers.Moved,
    *,
    came_at: datetime | None,
    now: datetime,
) -> None:
    card, mover = cards.get(db, card_id), moved.by
    if reading is None or reading.kind not in github_board.CARDS:
        if card is not None and not card.archived and _is_gone(db, card, reading, now):
            reason = "deleted" if reading is None else reading.kind
            event_store.append(db, on_board.CardArchived(card_id, reason, mover.login, mover.role), at=now)
        return
    _reset_hidden(db, card_id, now)
    mover = _for_whom(db, card, reading, mover) if card is not None else mover
    events, upto = _events(db, card, reading, closing, replace(moved, by=mover), came_at=came_at)
    if events:
        event_store.append(db, *events, at=now)
    if card is None and events and (shared := same_issue.pull_of_others(db, card_id)):
        event_store.append(db, *shared, at=now)
    if upto is not None:
        refresh_requests.mark_recorded(db, card_id, reading.board_id, upto)


def _events(
    db: Connection,
    card: CardRow | None,
    reading: CardReading,
    closing: Closing,
    moved: movers.Moved,
    *,
    came_at: datetime | None,
) -> tuple[tuple[Event, ...], datetime | None]:
    """Return the news about a card, and the time up to which they cover its moves, if they do."""
    card_id, mover, facts = (
        reading.card_id,
        moved.by,
        (*_compare_assignees(card, reading), *_compare_priority(card, reading), *_links(db, reading)),
    )
    if card is None:
        if reading.archived:
            return (), None
        first = _first_sight(db, reading, mover, dragged=came_at is not None)
        seen_first = (first, *facts, *closing.events)
        return seen_first, reading.updated_at if first.arrived else None
    told_at = refresh_requests.open_since(db, card_id)
    news = card_changes(card, reading, closing.events, by=mover, told_at=told_at)
    if moved.late and not card.mover and not news:
        news = (on_board.MoverFound(card_id, reading.column or "", mover.login, mover.role),)
    events = (*facts, *news)  # first: a card that enters a column shows what it waits for
    if (card.column, card.archived) != (reading.column, reading.archived):
        return events, reading.updated_at
    if came_at is None or reading.column is None or reading.archived:
        return events, None
    return (*events, on_board.CardArrived(card_id, reading.column, came_at, mover.login, mover.role)), came_at


def _compare_assignees(card: CardRow | None, reading: CardReading) -> tuple[on_board.CardAssigned, ...]:
    """Return the issue's assignees where they differ from the known ones."""
    same = reading.archived or reading.assignees == (card.assignees if card is not None else ())
    return () if same else (on_board.CardAssigned(reading.card_id, reading.assignees),)


def _compare_priority(card: CardRow | None, reading: CardReading) -> tuple[PrioritySeen, ...]:
    """Return the value of the board's field `Priority` where it differs from the known one."""
    value = plain(reading.priority_field, MAX_OPTION)
    same = reading.archived or value == (card.priority_field if card is not None else "")
    return () if same else (PrioritySeen(reading.card_id, value),)


def _links(db: Connection, reading: CardReading) -> tuple[LinksSeen, ...]:
    """Return the issue's links where they differ from the known ones."""
    if reading.kind != "Issue" or reading.archived:
        return ()
    known_links = links.of_card(db, reading.card_id)
    blocked_by = tuple(
        Blocker(link.repository, link.number, link.title, link.state)
        for link in known_links
        if link.repository
    )
    above = links.parent_of(db, reading.card_id)
    parent = f"{above.repository}#{above.number}" if above else ""
    public = {it.repository for it in (*known_links, above) if it is not None and it.public}
    was = (blocked_by, len(known_links) - len(blocked_by), parent, tuple(sorted(public)))
    now = (reading.blocked_by, reading.hidden_blockers, reading.parent, reading.public)
    return (
        () if was == now else (LinksSeen(reading.card_id, *now, parent if parent != reading.parent else ""),)
    )


def _is_gone(db: Connection, card: CardRow, reading: CardReading | None, now: datetime) -> bool:
    """Tell whether the card left the board, or was hidden in every reading for HIDDEN_S.

    Access that is lost by mistake comes back; a lease that nobody renews measures the time. A card that is
    blocked because its repository is out of reach stays.
    """
    if reading is None or reading.kind != HIDDEN:
        return True
    card_id = card.card_id
    snapshot = snapshots.of_card(db, card_id)
    if snapshot is not None and (snapshot.unreachable_reason or snapshot.is_outside_owner):
        return False
    name = f"hidden:{card_id}"
    if any(lease.name == name for lease in leases.list_expired(db, name)):
        _reset_hidden(db, card_id, now)
        return True
    if name not in leases.holders(db):
        leases.take(db, name, name, ttl_s=HIDDEN_S)
    return False


def _reset_hidden(db: Connection, card_id: CardId, now: datetime) -> None:
    name = f"hidden:{card_id}"
    if name in leases.holders(db):
        leases.release(db, leases.Lease(name, name, leases.generation(db, name), now))


def _first_sight(db: Connection, reading: CardReading, by: Mover, *, dragged: bool) -> on_board.CardSeen:
    board = known_boards.get(db, reading.board_id)
    # GitHub's times have whole seconds; a card unchanged since Cardinal was installed was there before. One
    # that is done may have been for years, whatever was changed of it since.
    is_new = board is not None and reading.updated_at >= board.since.replace(microsecond=0)
    is_done = policies.in_force(db, reading.board_id).archetype(reading.column).IS_FINAL
    arrived = dragged or (is_new and not is_done)
    return on_board.CardSeen(
        card_id=reading.card_id,
        board_id=reading.board_id,
        content_id=reading.content_id,
        repository=reading.repository,
        number=reading.number,
        title=reading.title,
        body=reading.body,
        author=reading.author,
        column=reading.column,
        state=CardState.DRAFT,
        labels=reading.labels,
        arrived=arrived,
        by=by.login,
        role=by.role,
        own=by.own,
        pull_card=reading.pull_card,
    )


def card_changes(
    card: CardRow,
    reading: CardReading,
    closing: tuple[Event, ...] = (),
    *,
    by: Mover = NOBODY,
    told_at: datetime | None = None,
) -> tuple[Event, ...]:
    """Return the changes between the known and the seen card, in the order in which rules must see them:
    a closing comes before the move by which GitHub followed it. `told_at`: as in CardMoved.
    """
    card_id, events = card.card_id, list[Event]()
    if reading.archived:
        return () if card.archived else (on_board.CardArchived(card_id, "archived", by.login, by.role),)
    if card.archived:
        events.append(on_board.CardRestored(card_id, by.login, by.role))
    words = (reading.title, reading.body, reading.labels, reading.expanded)
    if (card.title, card.body, card.labels, card.expanded) != words:
        events.append(on_board.CardDescribed(card_id, *words))
    issue_ref = (reading.repository, reading.number)
    # A draft became an issue, or an issue was transferred, or its repository renamed.
    if (
        reading.number is not None
        and reading.repository is not None
        and issue_ref != (card.repository, card.number)
    ):
        same = (reading.content_id, reading.number) == (card.content_id, card.number)
        before = (card.repository or "") if same else ""
        was = f"{card.repository}#{card.number}" if card.number is not None else ""
        events.append(
            on_board.CardConverted(
                card_id=card_id,
                content_id=reading.content_id,
                repository=reading.repository,
                number=reading.number,
                before=before,
                place_before=was,
            )
        )
    # A pull request whose end is known meanwhile is not told again.
    events.extend(it for it in closing if card.has_open_pull or not isinstance(it, PullChanged))
    if card.column != reading.column:
        events.append(
            on_board.CardMoved(
                card_id=card_id,
                before=card.column,
                after=reading.column,
                by_cardinal=by.own,
                by=by.login,
                role=by.role,
                told_at=told_at,
            )
        )
    if card.closed and reading.state == "open":
        events.append(on_board.IssueReopened(card_id, ""))
    return tuple(events)


def _for_whom(db: Connection, card: CardRow, reading: CardReading, by: Mover) -> Mover:
    """Return the mover; for Cardinal's own move, who asked for it or for the run."""
    for away in _own_acts(db, card.card_id, "archive_card"):
        if away["wanted"] == reading.archived != card.archived:
            return Mover(away["by"], away["role"])
    if card.column == reading.column:
        return by
    moves = _own_moves(db, card.card_id, reading.column)
    if by.own or moves:
        run = runs.get(db, card.run_id) if card.run_id else None
        named = next((move["by"] for move in moves if move.get("by")), "")
        return Mover(named or (run.by if run else card.mover), own=True)
    return by


def _own_moves(db: Connection, card_id: CardId, column: str | None) -> list[dict[str, Any]]:
    """Return Cardinal's own moves of the card there just now."""
    moves = _own_acts(db, card_id, "move_card")
    return [move for move in moves if same_column(move.get("column"), column)]


def _own_acts(db: Connection, card_id: CardId, act: str) -> list[dict[str, Any]]:
    """Return the intents of an act that is open: its echo can come before its own commit."""
    return [json.loads(entry.payload) for entry in outbox.open_of_card(db, card_id) if entry.act == act]
