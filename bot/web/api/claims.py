"""Claims of runs by a worker of somebody's own: a program that is no agent of Cardinal's, with a token.

Such a run is one like any other in the log. Its lease is renewed by heartbeats; whose ran out is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import roles
from bot.reactor import reactor, run_requests
from bot.runspec import briefing
from bot.scheduler import dispatch
from bot.scheduler.wakeups import wake
from bot.state import policies, snapshots
from bot.system.clock import ledger_clock
from bot.web.acting import record
from bot.web.api.operation import KEPT, ApiError, SiteRequest, not_found
from ledger.errors import StaleClaimError
from ledger.events.findings import FindingsReported
from ledger.events.run import (
    OWN,
    BriefingMade,
    FinalReported,
    Progressed,
    RunClaimed,
    RunEnded,
    RunEvent,
    RunParked,
    RunSteered,
    RunStepped,
)
from ledger.ids import RunId
from ledger.log import event_store
from ledger.model.run_modes import INVESTIGATE
from ledger.queue import acted_requests, leases, restored
from ledger.queue.leases import Lease
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, Ending, RunState
from ledger.views import briefings, cards, runs
from rules.chatops.parser import Parsed, RefusedCommand, permit
from rules.intents.internal import QueueRun
from rules.policy.model import Policy
from rules.runs.start import queue_card, start_obstacle
from rules.snapshot import Snapshot
from rules.text import plain
from runner.prompts.briefing import digest_of
from runner.text.plain import cut_bytes, one_line

MIN_LEASE_S, LEASE_S, MAX_LEASE_S = 10, 900, 86_400
HOLDER = f"{OWN}:"  # begins the holder of such a lease, which is no process
MAX_MESSAGES = 20  # the newest
# Who claims an idle card starts a run whose plan waits for nobody: they must be allowed each of these.
STARTING = ("claim", "retry", "approve")
_DETAIL_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed run: every later request about it carries its `generation`.

    `messages` are what people told its worker since it claimed the run, the oldest first.
    """

    run: RunRow
    generation: int
    until: datetime
    messages: tuple[str, ...] = ()


def claim_card(call: SiteRequest, card: CardRow, lease_s: int) -> tuple[Claim, str]:
    """Claim the card's run, or one made for it, once for each key; return the claim and the briefing.

    Raises ApiError, GithubError, ReusedKeyError.
    """
    services, card = _require_served(call, card)
    _require_readable(call, card)
    text, clock = f"claim {card.card_id} {lease_s}", ledger_clock(services.engine, services.clock)
    role = roles.role_of_account(services.hub, card.repository or "", call.visit.login, call.visit.user_id)
    with event_store.writing(services.engine) as db:
        now = clock()
        claimed = _find_claimed(db, call.key, text, now)
        if claimed is None:
            claimed, seq = _take(db, call, card, role=role, lease_s=lease_s, now=now)
            acted_requests.keep(db, call.key, text, seq, now=now, ttl=KEPT)
            reactor.advance(db, now=now)
        run, lease = _require_held(db, call, claimed.run_id, claimed.generation)
    told = _brief(services, card, run, clock())
    wake(services)
    return Claim(run, claimed.generation, lease.until), told


def extend_claim(call: SiteRequest, run: RunRow, generation: int, *, progress: str, lease_s: int) -> Claim:
    """Extend the claim, with a line for people if there is one; by its own length where `lease_s` is 0.

    Raises ApiError where the run is to stop.
    """
    services = _services(call, run)
    with event_store.writing(services.engine) as db:
        now = ledger_clock(services.engine, services.clock)()
        run, lease = _require_held(db, call, run.run_id, generation)
        stopped = _obey_stop(db, run, lease, now)
        if not stopped:
            lease = leases.renew(db, lease, ttl_s=max(lease_s or _read_claim_s(db, run), MIN_LEASE_S))
            line = one_line(progress)
            if line and line != run.last_line:
                event_store.append(db, Progressed(run.run_id, line), at=now)
        reactor.advance(db, now=now)
        messages = _list_messages(db, run)
    wake(services)
    if stopped:
        raise stopped
    return Claim(run, generation, lease.until, messages)


def _read_claim_s(db: Connection, run: RunRow) -> int:
    """Return for how many seconds the run was claimed."""
    claimed = event_store.newest_of(db, f"run:{run.run_id}", RunClaimed, 1)
    return next((event.lease_s for _, event in claimed), 0) or LEASE_S


def _list_messages(db: Connection, run: RunRow) -> tuple[str, ...]:
    told = event_store.newest_of(db, f"run:{run.run_id}", RunSteered, MAX_MESSAGES)
    return tuple(
        f"{event.by}: {event.text}"
        for at, event in reversed(told)
        if run.claimed_at is None or at >= run.claimed_at
    )


def hand_in(
    call: SiteRequest, run: RunRow, generation: int, *, succeeded: bool, report: FinalReported
) -> RunRow:
    """End the run with its report, whose `done` is why it failed where it did, once for each key.

    Raises ApiError, GithubError, ReusedKeyError.
    """
    services, card = _require_served(call, _card(call, run))
    role = roles.role_of_account(services.hub, card.repository or "", call.visit.login, call.visit.user_id)
    text = f"hand in {run.run_id} {generation} {succeeded} {report}"
    with event_store.writing(services.engine) as db:
        now = ledger_clock(services.engine, services.clock)()
        stopped = None
        if acted_requests.find(db, call.key, text, now) is None:
            _require_leave(policies.in_force(db, card.board_id), call, role)
            run, lease = _require_held(db, call, run.run_id, generation)
            told = _report_events(run, report)
            stopped = _obey_stop(db, run, lease, now, told)
            if not stopped:
                ended = event_store.append(db, *told, _ending(run, report, succeeded=succeeded), at=now)
                leases.release(db, lease)
                acted_requests.keep(db, call.key, text, ended[-1].seq, now=now, ttl=KEPT)
            reactor.advance(db, now=now)
        after = runs.get(db, run.run_id)
        assert after is not None
    wake(services)
    if stopped:
        raise stopped
    return after


def _card(call: SiteRequest, run: RunRow) -> CardRow:
    with event_store.reading(call.site.engine) as db:
        card = cards.get(db, run.card_id)
    if card is None:
        raise not_found()
    return card


def _require_served(call: SiteRequest, card: CardRow) -> tuple[Services, CardRow]:
    about = record.readable_card(call.site.services, card.card_id, "claim")
    if about is None:
        raise not_found()
    return about


def _require_readable(call: SiteRequest, card: CardRow) -> None:
    """Raise ApiError where a run of the card would work in a repository that the account may not read: it
    could not see the run then. That it may read the card's own, and those of its runs, is known.
    """
    with event_store.reading(call.site.engine) as db:
        place = run_requests.find_repository(db, policies.in_force(db, card.board_id), card)
    if place and not call.site.readers.may(call.visit, frozenset({place}), card.created_at):
        because = "the card is worked on in a repository that the account may not read"
        raise ApiError(HTTPStatus.FORBIDDEN, "refused", because, "ask an account that may")


def _services(call: SiteRequest, run: RunRow) -> Services:
    services = call.site.services.if_served(run.board_id)
    if services is None:
        raise not_found()
    return services


def _conflict(code: str, because: str, remedy: str) -> ApiError:
    return ApiError(HTTPStatus.CONFLICT, code, because, remedy)


def _find_claimed(db: Connection, key: str, text: str, now: datetime) -> RunClaimed | None:
    """Return the claim of an earlier request with the key; else None. Raises ReusedKeyError."""
    seq = acted_requests.find(db, key, text, now)
    event = next((it.event for it in event_store.read(db, after=seq - 1, limit=1)), None) if seq else None
    return event if isinstance(event, RunClaimed) else None


def _require_leave(
    policy: Policy, call: SiteRequest, role: str, commands: Sequence[str] = ("claim",)
) -> None:
    for command in commands:
        allowed = permit(policy, Parsed(command, ""), role=role, login=call.visit.login)
        if isinstance(allowed, RefusedCommand):
            because = allowed.because.replace("`", "")
            raise ApiError(HTTPStatus.FORBIDDEN, "refused", because.rstrip("."), "ask an account that may")


def _take(
    db: Connection, call: SiteRequest, card: CardRow, *, role: str, lease_s: int, now: datetime
) -> tuple[RunClaimed, int]:
    """Claim the card's waiting run, or a new one; return the claim and its number. Raises ApiError."""
    policy, snapshot = policies.in_force(db, card.board_id), snapshots.of_card(db, card.card_id)
    if snapshot is None:
        raise not_found()
    _require_leave(policy, call, role)
    if restored.is_restored(db):
        raise _conflict("restored", "the ledger was restored from a back-up", "ask Cardinal's operator")
    live = snapshot.live_run
    if live is not None and (live.state is not RunState.QUEUED or live.agent != OWN):
        raise _refuse_taken(live)
    if live is None:
        _require_leave(policy, call, role, STARTING)
    run_id = live.run_id if live else _queue(db, policy, snapshot, call.visit.login, now)
    run = runs.get(db, run_id)
    assert run is not None
    obstacle = dispatch.find_claim_obstacle(db, run, policy, now)
    lease = (
        None
        if obstacle
        else leases.take(db, f"{dispatch.LEASE_PREFIX}{run_id}", f"{HOLDER}{call.visit.login}", ttl_s=lease_s)
    )
    if lease is None:
        because = plain(obstacle) or "another claim of it has not run out yet"
        raise _conflict("waits", f"the card cannot be claimed now: {because}", "try again later")
    claim = RunClaimed(run_id, lease.generation, call.visit.login, lease_s=lease_s)
    recorded, *_ = event_store.append(
        db,
        claim,
        RunStepped(run_id, RunState.CLAIMED, RunState.PREPARING),
        RunStepped(run_id, RunState.PREPARING, RunState.WORKING),
        at=now,
    )
    return claim, recorded.seq


def _refuse_taken(run: RunRow) -> ApiError:
    if run.state is RunState.QUEUED:
        because = f"{run.run_id} is queued for the agent {plain(run.agent, 60)}"
        return _conflict("taken", because, "cancel that run, then claim the card")
    who = plain(run.worker, 60) if run.agent == OWN and run.state in RUN_HELD else plain(run.agent, 60)
    return _conflict("taken", f"{run.run_id} of {who} has not ended", "claim another card")


def _queue(db: Connection, policy: Policy, snapshot: Snapshot, login: str, now: datetime) -> RunId:
    """Queue a run for a worker of somebody's own on a card without a live one. Raises ApiError."""
    if because := start_obstacle(policy, snapshot):
        raise _conflict(
            "waits", plain(f"the card cannot be claimed: {because}"), "see `get_job` for its state"
        )
    intents = queue_card(policy, snapshot, by=login, door="api").intents
    wanted = next(it for it in intents if isinstance(it, QueueRun))
    queued = run_requests.queue_own_run(db, policy, wanted)
    if queued is None:
        raise _conflict("waits", "the card has no issue in a column yet", "try again in a minute")
    event_store.append(db, queued, at=now)
    reactor.advance(db, now=now)
    return queued.run_id


def _lease(db: Connection, run: RunRow, generation: int, call: SiteRequest) -> Lease:
    """Return the lease of the caller's claim. Raises ApiError for one that is over, or somebody else's."""
    name = f"{dispatch.LEASE_PREFIX}{run.run_id}"
    mine = run.agent == OWN and run.worker.casefold() == call.visit.login.casefold()
    lease = leases.find_held(db, name, generation) if mine and run.state in RUN_HELD else None
    if lease is None:
        because = f"claim {generation} of {run.run_id} is over, or was not yours"
        if run.ending is not None:
            ended = ": ".join(filter(None, (run.ending, run.detail or run.reason)))
            because = f"{run.run_id} has ended: {plain(ended, 300)}"
        raise _conflict("stale", because, "stop working on it; claim the card again")
    return lease


def _require_held(db: Connection, call: SiteRequest, run_id: RunId, generation: int) -> tuple[RunRow, Lease]:
    run = runs.get(db, run_id)
    if run is None:
        raise not_found()
    return run, _lease(db, run, generation, call)


def _obey_stop(
    db: Connection, run: RunRow, lease: Lease, now: datetime, told: Sequence[RunEvent] = ()
) -> ApiError | None:
    """End or pause a run that people asked to stop, and return what its worker is told; None to continue.

    `told` is kept of a run that is cancelled.
    """
    if not run.stop_asked:
        return None
    stop = dispatch.stop_own(run)
    event_store.append(db, *(told if isinstance(stop, RunEnded) else ()), stop, at=now)
    leases.release(db, lease)
    how = "paused" if isinstance(stop, RunParked) else "cancelled"
    remedy = "claim the card again once it is resumed" if how == "paused" else "stop working on it"
    return _conflict("stopped", f"{plain(run.stop_by, 60)} {how} {run.run_id}", remedy)


def _report_events(run: RunRow, report: FinalReported) -> tuple[RunEvent, ...]:
    if run.mode != INVESTIGATE:
        return (report,)
    return (FindingsReported(run.run_id, "", report.done, (), (), (), 0), report)


def _ending(run: RunRow, report: FinalReported, *, succeeded: bool) -> RunEnded:
    last = one_line(f"{run.state}: {run.last_line}" if run.last_line else run.state)
    if succeeded:
        return RunEnded(run.run_id, Ending.SUCCEEDED, "", "", one_line(run.last_line))
    return RunEnded(run.run_id, Ending.FAILED, "gave_up", cut_bytes(report.done, _DETAIL_BYTES), last)


def _brief(services: Services, card: CardRow, run: RunRow, now: datetime) -> str:
    """Return the run's briefing, as an agent would get it; the first one is recorded."""
    with event_store.reading(services.engine) as db:
        known = briefings.newest(db, run.run_id)
    if known is not None and known.at >= (run.claimed_at or known.at):
        return known.text
    made = briefing.write(services, card, run.run_id)
    fence = event_store.Fence(f"{dispatch.LEASE_PREFIX}{run.run_id}", run.generation)
    told = BriefingMade(run.run_id, made.text, digest_of(made.text), made.omitted, made.issue)
    try:
        with event_store.writing(services.engine) as db:
            event_store.append(db, told, at=now, fence=fence)
    except StaleClaimError as error:
        raise _conflict("stale", f"the claim of {run.run_id} is over", "claim the card again") from error
    return made.text
