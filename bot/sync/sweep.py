"""The sweep: finds changes without a delivery, and has GitHub send failed deliveries again."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from bot.bootstrap import Services
from bot.github import failed_deliveries
from bot.github.api.project_models import CardStub
from bot.github.api.project_pages import BoardReading, survey
from bot.github.errors import RefusedError, StatusMissingError, UnavailableError
from bot.state import policies
from bot.sync import access, adoption, board, sweep_cursor
from ledger.ids import BoardId, CardId, DeliveryId
from ledger.log import event_store
from ledger.queries import cards, run_queue
from ledger.queue import inbox, lost_deliveries, refresh_requests

SPARING = 2  # the priority of its further requests: faces and reports go first
LOOK_AGAIN_S = 600  # between refreshes of a waiting card, in case a delivery was lost
UNMERGED_S = 60  # the same of a card in a last column, which no sweep reads, while its pull request is open
MAX_PAST = 50  # cards of one request that were done before Cardinal came: the next sweep learns of more
MAX_WAITING = 20  # cards of those in one sweep


def sweep(services: Services) -> tuple[CardId, ...]:
    """Compare the board with the ledger; return the cards to refresh.

    Of a large board one point's worth is compared, more if the board changed; see `sweep_cursor`.
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
        since = lost_deliveries.search_start(db)
    if since is not None and failed_deliveries.recover_accepted(hub, now, came, since):
        with event_store.writing(services.engine) as db:
            lost_deliveries.end_search(db, since)


def _came(services: Services, ids: Iterable[DeliveryId]) -> frozenset[DeliveryId]:
    with event_store.reading(services.engine) as db:
        return frozenset(delivery_id for delivery_id in ids if inbox.is_known(db, delivery_id))


def _compare(services: Services) -> tuple[CardId, ...]:
    board_id, address = board.serve_board(services), services.board.address
    quiet = _quiet(services, board_id)
    memory = sweep_cursor.load_memory(services.hub.records, board_id, [*address, *quiet])
    turn = sweep_cursor.BoardPass(memory, services.now())
    requested: dict[CardId, None] = {}
    try:
        while True:
            left_out = quiet if memory.past else ()
            sight = survey(services.hub, address, services.board.home_repository, left_out, turn.starts())
            board.note(services, sight.board)
            board.follow_policy(services, sight.board.board_id, newest=sight.home, last=memory.home)
            memory.home = sight.home
            later = _list_unlearned(services, sight, quiet)[MAX_PAST:]
            memory.unlearned += len(later)
            requested |= dict.fromkeys(_request_refreshes(services, sight, turn.take(sight), quiet, later))
            if not turn.goes_on() or (memory.whole and services.hub.budget.spare(SPARING) > 0):
                return tuple(requested)
    except StatusMissingError as error:
        board.note_lost(services, error)
        return ()
    except UnavailableError:
        sweep_cursor.slow_down(memory)
        raise
    except RefusedError:  # GitHub no longer accepts a cursor of an earlier pass: start again
        memory.starts, memory.place, memory.seen = [], 0, {}
        raise
    finally:
        sweep_cursor.save_memory(services.hub.records, board_id, memory)


def _quiet(services: Services, board_id: BoardId) -> tuple[str, ...]:
    with event_store.reading(services.engine) as db:
        policy = policies.in_force(db, board_id)
    return tuple(name for name in policy.board.columns if policy.archetype(name).IS_FINAL)


def _list_unlearned(services: Services, sight: BoardReading, quiet: tuple[str, ...]) -> tuple[CardId, ...]:
    """Return the cards in sight that were done before Cardinal knew them."""
    with event_store.reading(services.engine) as db:
        known = cards.columns_of(db, sight.board.board_id)
    stubs = (stub for page in sight.pages for stub in page.stubs)
    return tuple(
        it.card_id for it in stubs if it.column in quiet and it.card_id not in known and not it.archived
    )


def _request_refreshes(
    services: Services,
    sight: BoardReading,
    all_seen: frozenset[CardId] | None,
    quiet: tuple[str, ...],
    later: Collection[CardId] = (),
) -> tuple[CardId, ...]:
    """Request a refresh of every card that differs, without those `later`; at a pass's end also of those that
    are on no page.
    """
    board_id = sight.board.board_id
    with event_store.reading(services.engine) as db:
        known, closed = cards.columns_of(db, board_id), cards.list_closed(db, board_id)
        issues = cards.issues_of(db, board_id)
        late = run_queue.list_unrefreshed_dependents(db, board_id, LOOK_AGAIN_S, MAX_WAITING)
        late += cards.list_unmerged(db, board_id, quiet, UNMERGED_S, MAX_WAITING)
    stubs = [stub for page in sight.pages for stub in page.stubs]
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
