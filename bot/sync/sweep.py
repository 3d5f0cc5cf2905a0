"""The sweep: finds changes without a delivery, and has GitHub send failed deliveries again.

One request reads up to five pages of a board, and a sweep makes one request: a small board is read whole
each time, a large one over several sweeps. If GitHub reports a change of the board, the sweep goes on at
once, within its share of the hour. A page is read from a cursor of an earlier pass; neighbours overlap a
little, so that new cards between them are found. Losing the small record of the position costs one reading
of the whole board.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from pydantic import TypeAdapter

from bot.bootstrap import Services
from bot.github import failed_deliveries
from bot.github.api.project_models import CardStub
from bot.github.api.project_pages import MAX_PAGES, BoardReading, Page, survey
from bot.github.errors import RefusedError, StatusMissingError, UnavailableError
from bot.github.shared_records import SharedRecords
from bot.state import policies
from bot.sync import access, adoption, board
from ledger.ids import BoardId, CardId, DeliveryId
from ledger.log import event_store
from ledger.queries import cards, run_queue
from ledger.queue import inbox, refresh_requests

PAGE = 100
STRIDE = 95  # cards between the starts of two pages: up to five new ones leave no gap
# Two per cent of GitHub's hour of 5,000 points: 100, refill and burst together.
POINTS_PER_HOUR, BURST = 90.0, 10.0
MAX_REQUESTS = 500  # of one sweep: GitHub's own limit is 50,000 cards on a board
SPARING = 2  # the priority of its further requests: faces and reports go first
LOOK_AGAIN_S = 600  # between refreshes of a waiting card, in case a delivery was lost
UNMERGED_S = 60  # the same of a card in a last column, which no sweep reads, while its pull request is open
MAX_PAST = 50  # cards of one request that were done before Cardinal came: the next sweep learns of more
MAX_WAITING = 20  # cards of those in one sweep


@dataclass(slots=True)
class SweepState:
    """The state of earlier sweeps; `scope` names the board and the columns that are left out.

    `starts`: cursor and card before the second, third … page. `seen`: this pass's cards with their cursors.
    `whole`: all pages were read once. `owed`: pages to read since the last change. `past`: the columns that
    are left out were read, too, and all cards there requested. Until then `unlearned` counts the cards that
    this pass has left for a later one, `left` those of the last pass.
    """

    scope: str = ""
    starts: list[tuple[str, str]] = field(default_factory=list)
    place: int = 0
    seen: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    past: bool = False
    unlearned: int = 0
    left: int = 0
    owed: int = 0
    touched_at: str = ""
    home: str | None = None
    at_once: int = MAX_PAGES
    credit: float = BURST
    counted_s: float = 0.0


_FILE = TypeAdapter(SweepState)


class BoardPass:
    """One sweep's part of a pass over the board, from where the last one stopped."""

    def __init__(self, state: SweepState, now: datetime) -> None:
        self.memory = state
        now_s = now.timestamp()
        elapsed_s = max(0.0, now_s - state.counted_s) if state.counted_s else 0.0
        state.credit = min(BURST, state.credit + elapsed_s * POINTS_PER_HOUR / 3600)
        state.counted_s = now_s
        self._requests = 0
        self._closed = False

    def starts(self) -> tuple[str | None, ...]:
        """Return the cursors that the next request starts behind."""
        known = [None, *(cursor for cursor, _ in self.memory.starts)]
        return tuple(known[self.memory.place : self.memory.place + self.memory.at_once])

    def take(self, reading: BoardReading) -> frozenset[CardId] | None:
        """Record a request's pages; return all items of the pass if it ends here, else None."""
        state = self.memory
        if reading.touched_at != state.touched_at:
            state.touched_at, state.owed = reading.touched_at, len(state.starts) + 1
        self._requests += 1
        state.credit = max(0.0, state.credit - 1)
        for page in reading.pages:
            state.owed = max(0, state.owed - 1)
            if not self._turn(page):
                return self._close()
            if not self._joins(page):
                break  # the next pages of this answer were compared, but leave a gap
        return None

    def goes_on(self) -> bool:
        """Tell whether another request should follow in this sweep."""
        if self._requests >= MAX_REQUESTS:
            return False
        if not self.memory.past and self._closed:
            return False  # the next sweep learns more of the past
        if not self.memory.whole:
            return True  # read to the end once, at any cost
        return self.memory.owed > 0 and self.memory.credit >= 1

    def _turn(self, page: Page) -> bool:
        """Remember the page's items in their order; False at the end of the board."""
        for card_id, cursor in page.places:
            self.memory.seen.pop(card_id, None)  # it may have moved down meanwhile
            self.memory.seen[card_id] = cursor
        return page.more

    def _joins(self, page: Page) -> bool:
        """Go on to the next page, or across a possible gap to one that begins right behind this page."""
        state = self.memory
        last_id, last_cursor = page.places[-1]
        if state.place == len(state.starts):
            state.starts.append((last_cursor, last_id))
            state.owed += 1
        else:
            anchor = state.starts[state.place][1]
            if all(anchor != card_id for card_id, _ in page.places):
                state.starts.insert(state.place, (last_cursor, last_id))
                state.owed += 1
                state.place += 1
                return False
        state.place += 1
        return True

    def _close(self) -> frozenset[CardId]:
        state = self.memory
        cards = list(state.seen.items())
        if not state.past:  # other items follow: no cursor of this pass is of use
            # Fewer each time, or it is given up: some may be out of sight.
            state.past = not state.unlearned or state.unlearned == state.left
            state.left, state.unlearned, self._closed = state.unlearned, 0, True
            state.starts, state.place, state.seen = [], 0, {}
            return frozenset(CardId(card_id) for card_id, _ in cards)
        cuts = range(STRIDE - 1, max(len(cards) - (PAGE - STRIDE) - 1, 0), STRIDE)
        state.starts = [(cards[n][1], cards[n][0]) for n in cuts]
        state.place, state.seen, state.whole = 0, {}, True
        state.at_once = min(MAX_PAGES, state.at_once + 1)
        return frozenset(CardId(card_id) for card_id, _ in cards)


def slow_down(state: SweepState) -> None:
    """Read fewer pages at once: GitHub took too long for the last request. Every pass adds one again."""
    state.at_once = max(1, state.at_once // 2)


def load_memory(records: SharedRecords, board: str, scope: Sequence[object]) -> SweepState:
    """Return the state for this scope; empty without one."""
    wanted = json.dumps(scope)
    try:
        state = _FILE.validate_json(records.read(_name(board))[0])
        sound = 0 <= state.place <= len(state.starts) and 1 <= state.at_once <= MAX_PAGES
    except ValueError:
        return SweepState(scope=wanted)
    outdated = state.whole and not state.past  # an earlier version never read the past
    if not sound or outdated or state.scope != wanted:
        return SweepState(scope=wanted, credit=min(BURST, max(0.0, float(state.credit))))
    return state


def save_memory(records: SharedRecords, board: str, state: SweepState) -> None:
    records.change(_name(board), lambda *_: (_FILE.dump_json(state), None))


def _name(board: str) -> str:
    return f"sweep of {board}"


def sweep(services: Services) -> tuple[CardId, ...]:
    """Compare the board with the ledger; return the cards to refresh.

    Of a large board one point's worth is compared, more if the board changed; see `BoardPass`.
    """
    if not adoption.adopt(services):
        return ()  # the board is compared once a restored ledger knows what was done since
    if not access.check_access(services, thoroughly=False):
        return ()  # no call can succeed, and the fault is recorded
    return _compare(services)


def recover_deliveries(services: Services) -> None:
    """Request lost deliveries again; they are the App's, whichever board they are about."""
    hub, now, came = services.context.app, services.now(), partial(_came, services)
    failed_deliveries.recover(hub, now, came)
    with event_store.reading(services.engine) as db:
        since = inbox.search_start(db)
    if since is not None and failed_deliveries.recover_accepted(hub, now, came, since):
        with event_store.writing(services.engine) as db:
            inbox.end_search(db, since)


def _came(services: Services, ids: Iterable[DeliveryId]) -> frozenset[DeliveryId]:
    with event_store.reading(services.engine) as db:
        return frozenset(delivery_id for delivery_id in ids if inbox.is_known(db, delivery_id))


def _compare(services: Services) -> tuple[CardId, ...]:
    board_id, address = board.serve_board(services), services.board.address
    quiet = _quiet(services, board_id)
    state = load_memory(services.hub.records, board_id, [*address, *quiet])
    turn = BoardPass(state, services.now())
    requested: dict[CardId, None] = {}
    try:
        while True:
            left_out = quiet if state.past else ()
            reading = survey(services.hub, address, services.board.home_repository, left_out, turn.starts())
            board.note(services, reading.board)
            board.follow_policy(services, reading.board.board_id, newest=reading.home, last=state.home)
            state.home = reading.home
            later = _list_unlearned(services, reading, quiet)[MAX_PAST:]
            state.unlearned += len(later)
            requested |= dict.fromkeys(
                _request_refreshes(services, reading, turn.take(reading), quiet, later)
            )
            if not turn.goes_on() or (state.whole and services.hub.budget.spare(SPARING) > 0):
                return tuple(requested)
    except StatusMissingError as error:
        board.note_lost(services, error)
        return ()
    except UnavailableError:
        slow_down(state)
        raise
    except RefusedError:  # GitHub no longer accepts a cursor of an earlier pass: start again
        state.starts, state.place, state.seen = [], 0, {}
        raise
    finally:
        save_memory(services.hub.records, board_id, state)


def _quiet(services: Services, board_id: BoardId) -> tuple[str, ...]:
    with event_store.reading(services.engine) as db:
        policy = policies.in_force(db, board_id)
    return tuple(name for name in policy.board.columns if policy.archetype(name).IS_FINAL)


def _list_unlearned(services: Services, reading: BoardReading, quiet: tuple[str, ...]) -> tuple[CardId, ...]:
    """Return the cards in sight that were done before Cardinal knew them."""
    with event_store.reading(services.engine) as db:
        known = cards.columns_of(db, reading.board.board_id)
    stubs = (stub for page in reading.pages for stub in page.stubs)
    return tuple(
        it.card_id for it in stubs if it.column in quiet and it.card_id not in known and not it.archived
    )


def _request_refreshes(
    services: Services,
    reading: BoardReading,
    all_seen: frozenset[CardId] | None,
    quiet: tuple[str, ...],
    later: Collection[CardId] = (),
) -> tuple[CardId, ...]:
    """Request a refresh of every card that differs, without those `later`; at a pass's end also of those that
    are on no page.
    """
    board_id = reading.board.board_id
    with event_store.reading(services.engine) as db:
        known, closed = cards.columns_of(db, board_id), cards.list_closed(db, board_id)
        issues = cards.issues_of(db, board_id)
        late = run_queue.list_unrefreshed_dependents(db, board_id, LOOK_AGAIN_S, MAX_WAITING)
        late += cards.list_unmerged(db, board_id, quiet, UNMERGED_S, MAX_WAITING)
    stubs = [stub for page in reading.pages for stub in page.stubs]
    differing = (stub.card_id for stub in stubs if _differs(stub, known, closed, issues))
    requested = [card_id for card_id in differing if card_id not in later]
    if all_seen is not None:
        requested += [
            card_id for card_id, column in known.items() if card_id not in all_seen and column not in quiet
        ]
    requested += [card_id for card_id in late if card_id not in requested]
    if requested:
        with event_store.writing(services.engine) as db:
            for card_id in requested:
                refresh_requests.add(db, card_id, board_id)
    return tuple(requested)


def _differs(
    stub: CardStub,
    known: Mapping[CardId, str | None],
    closed: frozenset[CardId],
    issues: Mapping[CardId, str],
) -> bool:
    if stub.card_id not in known:
        return not stub.archived  # an archived card is read when it comes back
    moved = stub.archived or known[stub.card_id] != stub.column
    elsewhere = bool(stub.issue) and stub.issue != issues.get(stub.card_id)  # renamed, transferred, converted
    return moved or elsewhere or stub.closed != (stub.card_id in closed)
