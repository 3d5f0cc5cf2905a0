"""Carries out what waits in the outbox: one claim, one act, one transaction that records what came of it."""

import logging
import os
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.github.errors import (
    GithubError,
    NotFoundError,
    PermissionMissingError,
    RateLimitedError,
    RefusedError,
    TokenError,
    UnavailableError,
)
from bot.outbox import handlers as acts
from bot.outbox import reachability
from bot.outbox.contract import ActResult, GivenUpError, TooSoonError, TryAgainError
from bot.system import liveness
from ledger.errors import LedgerError, StaleClaimError
from ledger.events.publication import EntryGivenUp, EntryPublished
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import outbox
from ledger.queue.outbox import Entry
from ledger.views import boards, remotes

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

log = logging.getLogger(__name__)

# Longer than one call may take, so that a write in flight ends before somebody else looks for its marker; not
# much longer, because what a killed publisher had claimed waits that long. A model may think for a while.
CLAIM_S = {"github": 45, "assist": 120}
MAX_ATTEMPTS = 12
LONGEST_BACKOFF_S = 60
SPENDING_LANE = "github"  # the other lane calls models, which spend dollars instead
MAX_RETRY_AGE = timedelta(hours=24)
SLOWED_ATTEMPTS = 7  # an outage counts so many, for the pauses to grow; the rest is for other failures
OUTAGES = (UnavailableError, TokenError)
# GitHub may not show yet what it has just made, or a permission that was just accepted: two minutes for both.
ABSENT = (NotFoundError, PermissionMissingError)
ABSENT_ATTEMPTS = 4
LOST_S = 300  # until it is tried again whether access is back


@dataclass(slots=True)
class Published:
    """How many entries were carried out, put off and given up; `settled` counts what the log must hear of."""

    settled: int = 0
    unchanged: int = 0
    postponed: int = 0
    given_up: int = 0
    acts: dict[str, int] = field(default_factory=dict)


def publish_due(hub: "Hub", context: "OutboxContext", lane: str, *, within_s: float) -> Published:
    """Carry out what is due in `lane`, for at most `within_s` seconds beyond the last act, and count it.

    An error that GitHub did not give is a bug: the entry is put off, so that it blocks nobody; it is raised.
    """
    counts = Published()
    until = context.clock() + timedelta(seconds=within_s)
    holder = liveness.name(os.getpid())
    points_per_hour = _points_per_hour(context)
    if lane == SPENDING_LANE and reachability.is_closed(context):
        return counts  # the App may do nothing there just now: the entries wait where they are
    while context.clock() < until:
        if lane == SPENDING_LANE and hub.budget.spare(0, points_per_hour=points_per_hour) > 0:
            break  # not even a question may go: leave the entries where they are
        entry = outbox.claim_next(
            context.engine, lane, now=context.clock(), lease_s=CLAIM_S[lane], holder=holder
        )
        if entry is None:
            break
        try:
            _carry_out(hub, context, entry, counts, points_per_hour)
        except StaleClaimError as error:
            log.warning("claim lost key=%s reason=%s", entry.key, error)
    return counts


def _carry_out(
    hub: "Hub", context: "OutboxContext", entry: Entry, counts: Published, points_per_hour: int | None
) -> None:
    if _has_to_wait(hub, context, entry, counts, points_per_hour):
        return None
    if entry.attempts > MAX_ATTEMPTS:  # it took its publisher down each time, without a word
        return _give_up(context, entry, f"it failed {MAX_ATTEMPTS} times", counts)
    try:
        intent = acts.intent_of(entry)
        outcome = acts.find(entry.act).carry_out(hub, context, intent, entry)
    except TooSoonError as error:
        wait_s = max(0.05, (error.due_at - context.clock()).total_seconds())
        return _postpone(context, entry, wait_s, "", counts, count_attempt=False)
    except GivenUpError as error:
        return _give_up(context, entry, error.because, counts)
    except RateLimitedError as error:
        # The first stays counted: it may have left something outside, and the next one must look for it.
        return _postpone(
            context, entry, error.retry_after_s, str(error), counts, count_attempt=entry.attempts == 1
        )
    except RefusedError as error:
        return _give_up(context, entry, str(error), counts)
    except (GithubError, TryAgainError) as error:
        return _try_again(context, entry, error, counts)
    except LedgerError:
        raise
    except Exception as error:
        _try_again(context, entry, error, counts)
        raise
    return _settle(context, entry, outcome, counts)


def _has_to_wait(
    hub: "Hub", context: "OutboxContext", entry: Entry, counts: Published, points_per_hour: int | None
) -> bool:
    """Put the entry off where the rate budget is short, or its repository out of reach."""
    spare_s = hub.budget.spare(entry.priority, points_per_hour=points_per_hour)
    if spare_s > 0 and entry.lane == SPENDING_LANE:
        _postpone(context, entry, spare_s, "saving the rate budget", counts, count_attempt=False)
        return True
    if reachability.is_lost(context, entry):
        _postpone(context, entry, LOST_S, "", counts, count_attempt=False)
        return True
    return False


def _points_per_hour(context: "OutboxContext") -> int | None:
    """Return the lowest cap that a board's policy sets; None while no board is known."""
    with event_store.reading(context.engine) as db:
        known = boards.all_boards(db)
    return min((context.policy(one.board_id).board.limits.points_per_hour for one in known), default=None)


def _settle(context: "OutboxContext", entry: Entry, outcome: ActResult, counts: Published) -> None:
    with event_store.writing(context.engine) as db:
        now = context.clock()
        outbox.settle(db, entry, now)
        last = remotes.get(db, entry.key)
        same = last is not None and (last.remote_id, last.digest) == (outcome.remote_id, outcome.digest)
        told = outcome.events(db)
        if not same:
            done = EntryPublished(
                CardId(entry.card_id), entry.key, entry.act, outcome.remote_id, outcome.digest
            )
            told = (done, *told)
        if told:
            event_store.append(db, *told, at=now)
    counts.settled += 1 if told else 0
    counts.unchanged += 0 if told else 1
    counts.acts[entry.act] = counts.acts.get(entry.act, 0) + 1
    log.info("published key=%s act=%s attempt=%s changed=%s", entry.key, entry.act, entry.attempts, not same)


def _try_again(context: "OutboxContext", entry: Entry, error: Exception, counts: Published) -> None:
    counted = True
    wait_s = float(min(2 ** (entry.attempts - 1), LONGEST_BACKOFF_S))
    if isinstance(error, OUTAGES) and context.clock() - entry.created_at < MAX_RETRY_AGE:
        counted = entry.attempts < SLOWED_ATTEMPTS  # nobody's fault here: it goes on when GitHub does
        # Without an answer the write may still land: nobody looks for its marker before.
        wait_s = max(wait_s, liveness.IN_FLIGHT_S if error.status == 0 else 0)
    elif isinstance(error, PermissionMissingError) and reachability.is_waiting(context, entry):
        return _postpone(context, entry, LOST_S, str(error), counts, count_attempt=False)
    elif isinstance(error, ABSENT):
        if entry.attempts >= ABSENT_ATTEMPTS:
            return _give_up(context, entry, str(error), counts)
        wait_s = min(5**entry.attempts, 90)
    elif entry.attempts >= MAX_ATTEMPTS:
        return _give_up(context, entry, f"it failed {entry.attempts} times, at last with: {error}", counts)
    told = f"{type(error).__name__}: {error}"
    return _postpone(context, entry, wait_s, told, counts, count_attempt=counted)


def _postpone(
    context: "OutboxContext",
    entry: Entry,
    wait_s: float,
    error: str,
    counts: Published,
    *,
    count_attempt: bool,
) -> None:
    with event_store.writing(context.engine) as db:
        due_at = context.clock() + timedelta(seconds=wait_s)
        outbox.postpone(db, entry, due_at, error, count_attempt)
    counts.postponed += 1
    if error:
        log.warning(
            "put off key=%s for_s=%.1f attempt=%s reason=%s", entry.key, wait_s, entry.attempts, error
        )


def _give_up(context: "OutboxContext", entry: Entry, because: str, counts: Published) -> None:
    with event_store.writing(context.engine) as db:
        now = context.clock()
        outbox.give_up(db, entry, because, now)
        event_store.append(db, EntryGivenUp(CardId(entry.card_id), entry.key, entry.act, because), at=now)
    counts.given_up += 1
    log.warning("gave up key=%s act=%s because=%s", entry.key, entry.act, because)
