"""Carries out outbox entries: one claim, one act, one transaction that records the outcome."""

import logging
import os
import time
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlalchemy import Connection

from bot.github.errors import (
    GithubError,
    NotFoundError,
    NotYetError,
    PermissionMissingError,
    RateLimitedError,
    RefusedError,
    TokenError,
    UnavailableError,
)
from bot.outbox import handlers as acts
from bot.outbox.contract import (
    SHARE_OF_AGE,
    ActResult,
    DeclinedError,
    GivenUpError,
    TooSoonError,
    TryAgainError,
)
from bot.state import served_boards, snapshots
from bot.state.hang_guard import SetAsideError, guard_hangs
from bot.state.outbox_context import OutboxContext
from bot.system import liveness
from ledger.errors import LedgerError, StaleClaimError
from ledger.events.publication import EntryGivenUp, EntryHeld, EntryPublished
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queue import outbox, restored
from ledger.queue.outbox import Entry
from ledger.views import cards, remotes
from rules.card.stops import describe_stop

log = logging.getLogger(__name__)

# Longer than one call may take, so that a write in flight ends before another publisher looks for its marker;
# not much longer, because the entry of a killed publisher waits that long. A model may think for a while.
CLAIM_S = {"github": 45, "assist": 120, "notice": 60}
# Entries that one commit claims. Each begins so soon that its call ends before the claim does.
TOGETHER, BEGIN_S = {"github": 5, "assist": 1, "notice": 1}, 10.0
MAX_ATTEMPTS = 12
MAX_BACKOFF_S = 60
MODEL_LANE = "assist"
SPENDING_LANE = "github"  # assist calls models, which spend dollars, and notice calls services of others
SLOWED_ATTEMPTS = 7  # that an outage may use up, so that pauses grow; the rest is for other failures
OUTAGES = (UnavailableError, TokenError)
# GitHub may need two minutes to show a new object, or a permission that was just accepted; nor is a refusal
# that `bot/github/refusals.toml` does not know believed sooner.
DOUBTFUL = (NotFoundError, PermissionMissingError, RefusedError)
DOUBTFUL_ATTEMPTS = 4
# Of a refusal for now, in about three minutes: then people are told. The rest is for publishers that die.
HELD_ATTEMPTS = 9
MAX_READ = 50  # of the card's held acts, among which one is looked for
LOST_S = 300  # until access is checked again
# Between attempts of an act that is held: the longer it is, the rarer, for there may be many.
MIN_HELD_S, MAX_HELD_S = 300, 1800
# A later act of the same kind must not be undone by one that is held.
IN_ORDER = frozenset({"move_card", "archive_card", "link_card", "unlink_card"})
# These write to the organisation's board: a repository out of reach does not hold them up.
ON_THE_BOARD = frozenset({"update_face", "move_card", "describe_columns", "update_ticker"})
CLOSING = ("uninstalled", "suspended")
UNACCEPTED = ("core_permissions", "permissions")


@dataclass(slots=True)
class Published:
    """How many entries were carried out, put off and given up; `settled` counts those that made events."""

    settled: int = 0
    unchanged: int = 0
    postponed: int = 0
    given_up: int = 0
    acts: dict[str, int] = field(default_factory=dict)


def publish_due(context: OutboxContext, lane: str, *, within_s: float, begin_s: float = BEGIN_S) -> Published:
    """Carry out the due entries of `lane`, for at most `within_s` seconds beyond the last acts.

    Of entries that are claimed together, those that have not begun within `begin_s` are given back. An error
    that is not GitHub's is a bug: it is raised, after the entry was put off so that it blocks no other.
    """
    counts = Published()
    due_s = outbox.next_due_s(context.engine, lane)
    if due_s is None or due_s > 0:
        return counts
    with context.reading() as db:
        if restored.is_restored(db):
            return counts  # it may have been sent already
    until = context.clock() + timedelta(seconds=within_s)
    holder = liveness.name(os.getpid())
    context, everywhere = _begin_turn(context)
    while context.clock() < until:
        if lane == SPENDING_LANE and all(_spare_s(outbox_context, 0) > 0 for outbox_context in everywhere):
            break  # not even a question may go: leave the entries where they are
        entries = outbox.claim(
            context.engine, lane, lease_s=CLAIM_S[lane], holder=holder, most=TOGETHER[lane]
        )
        if not entries:
            break
        _carry_out_all(context, entries, counts, time.monotonic() + begin_s)
    return counts


def _begin_turn(context: OutboxContext) -> tuple[OutboxContext, tuple[OutboxContext, ...]]:
    """Return the context with the caps of this turn, and the same on one board of each owner."""
    with context.reading() as db:
        every = served_boards.all_served(db, context.config)
    caps: dict[str, int] = {}
    for board in every:
        if board.board_id is not None:
            owner, cap = board.owner.casefold(), context.policy(board.board_id).board.limits.points_per_hour
            caps[owner] = min(cap, caps.get(owner, cap))
    context = replace(context, caps=caps)
    return context, tuple(context.on(board) for board in {it.owner.casefold(): it for it in every}.values())


def _carry_out_all(
    context: OutboxContext,
    entries: tuple[Entry, ...],
    counts: Published,
    begin_until_s: float,
) -> None:
    """Carry out entries that were claimed together; give back those that have not begun by then."""
    waiting = deque(entries)
    try:
        while waiting and (len(waiting) == len(entries) or time.monotonic() < begin_until_s):
            entry = waiting.popleft()
            try:
                _carry_out_or_hold(context, entry, counts)
            except StaleClaimError as error:
                log.warning("claim lost key=%s reason=%s", entry.key, error)
    finally:
        for entry in waiting:
            _postpone(context, entry, 0.0, "", counts, count_attempt=False)


def _carry_out_or_hold(context: OutboxContext, entry: Entry, counts: Published) -> None:
    """Carry the entry out with the rights of its own board.

    It is put off, and no attempt counted, while Cardinal does not serve that board, or the App has no access
    to it: the entry goes on when the board is served again.
    """
    with context.reading() as db:
        card = cards.get(db, entry.card_id)  # a board's entry has the board's id instead
        board_id = card.board_id if card else BoardId(entry.card_id)
        board = served_boards.get(db, context.config, board_id)
        closed = any(loss.reason in CLOSING for loss in snapshots.board_losses(db, board_id))
    if board is None or closed:
        _hold(context, entry, counts)
    else:
        _carry_out(context.on(board), entry, counts)


def _carry_out(context: OutboxContext, entry: Entry, counts: Published) -> None:
    if _has_to_wait(context, entry, counts):
        return None
    if entry.attempts > MAX_ATTEMPTS:  # each attempt killed its publisher before it could record an error
        return _give_up(context, entry, f"it failed {MAX_ATTEMPTS} times", counts)
    try:
        with guard_hangs(context.engine, f"entry:{entry.key}"):
            intent = acts.intent_of(entry)
            outcome = acts.ACTS.load(entry.act).carry_out(context, intent, entry)
    except TooSoonError as error:
        wait_s = max(0.05, (error.due_at - context.clock()).total_seconds())
        return _postpone(context, entry, wait_s, "", counts, count_attempt=False)
    except (GivenUpError, SetAsideError) as error:
        declined = isinstance(error, DeclinedError)
        return _give_up(context, entry, error.because, counts, declined=declined)
    except RateLimitedError as error:
        # The first attempt stays counted: it may have posted something, and the next one must look for it.
        return _postpone(
            context, entry, error.retry_after_s, str(error), counts, count_attempt=entry.attempts == 1
        )
    except (GithubError, TryAgainError) as error:
        return _try_again(context, entry, error, counts)
    except LedgerError:
        raise
    except Exception as error:
        _try_again(context, entry, error, counts)
        raise
    return _settle(context, entry, outcome, counts)


def _has_to_wait(context: OutboxContext, entry: Entry, counts: Published) -> bool:
    """Put the entry off where the rate budget is short, its repository out of reach, or its card stopped."""
    spare_s = _spare_s(context, entry.priority)
    if spare_s > 0 and entry.lane == SPENDING_LANE:
        _postpone(context, entry, spare_s, "saving the rate budget", counts, count_attempt=False)
        return True
    if _is_lost(context, entry):
        _hold(context, entry, counts)
        return True
    return entry.lane == MODEL_LANE and _hold_stopped(context, entry, counts)


def _spare_s(context: OutboxContext, priority: int) -> float:
    """Return the seconds that an act waits for the budget of the installation, which its boards share."""
    cap = context.caps.get(context.board.owner.casefold())
    return context.hub.budget.spare(priority, points_per_hour=cap)


def _settle(context: OutboxContext, entry: Entry, outcome: ActResult, counts: Published) -> None:
    with event_store.writing(context.engine) as db:
        now = context.clock()
        outbox.drop_entry(db, entry)
        last = remotes.get(db, entry.key)
        same = last is not None and (last.remote_id, last.digest) == (outcome.remote_id, outcome.digest)
        events = outcome.events(db)
        if not same:
            event = EntryPublished(
                CardId(entry.card_id), entry.key, entry.act, outcome.remote_id, outcome.digest
            )
            events = (event, *events)
            for intent in outcome.shows:
                acts.put_intent(db, intent, now)
        if entry.attempts > HELD_ATTEMPTS:
            events = (*events, EntryHeld(CardId(entry.card_id), entry.key, entry.act, ""))
        if events:
            event_store.append(db, *events, at=now)
    counts.settled += 1 if events else 0
    counts.unchanged += 0 if events else 1
    counts.acts[entry.act] = counts.acts.get(entry.act, 0) + 1
    log.info("published key=%s act=%s attempt=%s changed=%s", entry.key, entry.act, entry.attempts, not same)


def _try_again(context: OutboxContext, entry: Entry, error: Exception, counts: Published) -> None:
    counted = True
    wait_s = float(min(2 ** (entry.attempts - 1), MAX_BACKOFF_S))
    young = context.clock() - entry.created_at < acts.MAX_RETRY_AGE
    if isinstance(error, NotYetError) and (young or error.held):
        return _wait_for(context, entry, error, wait_s, counts)
    if isinstance(error, OUTAGES) and young:
        counted = entry.attempts < SLOWED_ATTEMPTS  # it goes on when GitHub does
        # Without an answer the write may still land: until then nobody looks for its marker.
        wait_s = max(wait_s, liveness.IN_FLIGHT_S if error.status == 0 else 0)
    elif isinstance(error, PermissionMissingError) and _is_waiting(context, entry):
        return _postpone(context, entry, LOST_S, str(error), counts, count_attempt=False)
    elif isinstance(error, DOUBTFUL):
        if entry.attempts >= DOUBTFUL_ATTEMPTS or (isinstance(error, RefusedError) and error.final):
            return _give_up(context, entry, str(error), counts)
        wait_s = min(5**entry.attempts, 90)
    elif entry.attempts >= MAX_ATTEMPTS:
        return _give_up(context, entry, f"it failed {entry.attempts} times, at last with: {error}", counts)
    because = f"{type(error).__name__}: {error}"
    return _postpone(context, entry, wait_s, because, counts, count_attempt=counted)


def _wait_for(
    context: OutboxContext, entry: Entry, error: NotYetError, wait_s: float, counts: Published
) -> None:
    """Try again ever later. Once it is held people are told once, and others may pass it.

    They may not where all is refused until an owner acts: then the order stays as it was.
    """
    if entry.attempts >= HELD_ATTEMPTS:
        event = EntryHeld(CardId(entry.card_id), entry.key, entry.act, str(error))
        with event_store.writing(context.engine) as db:
            earlier = event_store.newest_of(db, event.stream, EntryHeld, MAX_READ)
            if all(entry_held.key != entry.key or at < entry.created_at for at, entry_held in earlier):
                if not error.held and entry.act not in IN_ORDER:
                    outbox.let_others_pass(db, entry)
                event_store.append(db, event, at=context.clock())
    counted = entry.attempts <= HELD_ATTEMPTS
    if not counted:
        wait_s = _held_s(context, entry)
    return _postpone(context, entry, wait_s, str(error), counts, count_attempt=counted)


def _held_s(context: OutboxContext, entry: Entry) -> float:
    age_s = (context.clock() - entry.created_at).total_seconds()
    return min(max(age_s * SHARE_OF_AGE, MIN_HELD_S), MAX_HELD_S)


def _postpone(
    context: OutboxContext, entry: Entry, wait_s: float, error: str, counts: Published, *, count_attempt: bool
) -> None:
    with event_store.writing(context.engine) as db:
        outbox.postpone(db, entry, wait_s, error, count_attempt)
    counts.postponed += 1
    if error:
        log.warning(
            "put off key=%s for_s=%.1f attempt=%s reason=%s", entry.key, wait_s, entry.attempts, error
        )


def _hold(context: OutboxContext, entry: Entry, counts: Published) -> None:
    with event_store.writing(context.engine) as db:
        outbox.postpone(db, entry, LOST_S, outbox.SHUT_OUT, count_attempt=False)
    counts.postponed += 1


def _hold_stopped(context: OutboxContext, entry: Entry, counts: Published) -> bool:
    """Hold the entry where a kill switch is on: once that is off, it may go.

    Looked at again where it is written, or the switch could be turned off unseen. A card that leaves a
    stopped column is noticed later.
    """
    with context.reading() as db:
        if not _is_stopped(db, entry):
            return False
    with event_store.writing(context.engine) as db:
        wait_s = _held_s(context, entry) if _is_stopped(db, entry) else 0.0
        outbox.postpone(db, entry, wait_s, outbox.STOPPED, count_attempt=False)
    counts.postponed += 1
    return True


def _is_stopped(db: Connection, entry: Entry) -> bool:
    card = cards.get(db, entry.card_id)
    stops = snapshots.board_stops(db, card.board_id) if card else ()
    return card is not None and bool(describe_stop(stops, card.card_id, card.column))


def _give_up(
    context: OutboxContext, entry: Entry, because: str, counts: Published, *, declined: bool = False
) -> None:
    with event_store.writing(context.engine) as db:
        outbox.drop_entry(db, entry)
        failure = EntryGivenUp(
            CardId(entry.card_id), entry.key, entry.act, because, entry.payload, declined=declined
        )
        event_store.append(db, failure, at=context.clock())
    counts.given_up += 1
    log.warning("gave up key=%s act=%s because=%s", entry.key, entry.act, because)


def _is_lost(context: OutboxContext, entry: Entry) -> bool:
    """Tell whether the entry writes to a repository that is out of reach."""
    if entry.act in ON_THE_BOARD:
        return False
    with context.reading() as db:
        return any("/" in loss.target for loss in snapshots.card_losses(db, entry.card_id))


def _is_waiting(context: OutboxContext, entry: Entry) -> bool:
    """Tell whether an owner still has to accept a permission that the entry needs."""
    with context.reading() as db:
        card = snapshots.of_card(db, entry.card_id)  # a board's entry has the board's id instead
        board_id = card.board_id if card else BoardId(entry.card_id)
        return any(loss.reason in UNACCEPTED for loss in snapshots.board_losses(db, board_id))
