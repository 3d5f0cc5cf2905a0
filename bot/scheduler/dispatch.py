"""Dispatch: which queued runs may start now. A worker claims a run by compare-and-set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from functools import partial
from types import MappingProxyType
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine

from bot.github.errors import RateLimitedError
from bot.reactor import reactor
from bot.scheduler import choice_inputs
from bot.state import loads, policies, same_issue, snapshots
from bot.system import liveness
from ledger.errors import CardinalError
from ledger.events.board import CardExplained
from ledger.events.run import (
    CHECK,
    OWN,
    RERUN,
    RunClaimed,
    RunEnded,
    RunHung,
    RunParked,
    RunRequeued,
    RunStopAsked,
)
from ledger.ids import BoardId, RunId
from ledger.log import event_store
from ledger.model.run_modes import workspace_name
from ledger.queries import run_queue
from ledger.queue import hosts, leases, restored
from ledger.queue.leases import Lease
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, Ending, Reason, RunState, StopKind
from ledger.views import boards, budgets, cards, questions, runs, workspaces
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.runs.queue import (
    TURN,
    Demand,
    HostCapacity,
    RunSelection,
    Waiting,
    choose_runs,
    claim_obstacle,
    shares,
)
from rules.snapshot import LEAVE
from runner.errors import KilledError
from runner.run.run_spec import AGAIN

MAX_WAITING = 50  # how far down a column's queue a tick looks: more cannot start at once anyway
LEASE_PREFIX = "run:"
OBEYS_WITHIN = timedelta(minutes=2)  # a worker of somebody's own hears of a stop by its next word


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A run that may start; `generation` is that of its next claim. `host` is empty where any may take it."""

    run_id: RunId
    generation: int
    host: str = ""


Pauses = Mapping[BoardId, datetime]  # until when GitHub takes no call for a board
NO_PAUSES: Pauses = MappingProxyType({})
# The last answer of each ledger, and the event up to which it stands. It depends on events, on the hosts, on
# the day whose dollars count, and on which boards wait for GitHub: most ticks find that nothing happened that
# can change it.
Answer = tuple[tuple[date, tuple[HostCapacity, ...], frozenset[BoardId]], tuple[ReadyRun, ...]]
_answers: WeakKeyDictionary[Engine, tuple[Answer, int]] = WeakKeyDictionary()


def last_answer(engine: Engine) -> Answer | None:
    """Return this process's last answer without a look at the ledger; the same object while it stands."""
    known = _answers.get(engine)
    return None if known is None else known[0]


def ready_runs(
    engine: Engine, *, now: datetime, slots: int, host: str = "", paused: Pauses = NO_PAUSES
) -> tuple[ReadyRun, ...]:
    """Return the runs that may start now, as many as workers are free on all hosts; record the reasons of the
    others. `slots` are those of `host`, which asks, until its heartbeats say how many it has.
    """
    with event_store.reading(engine) as db:
        at_work, agreed = _list_hosts_online(db, host, slots)
        basis, seq = (now.date(), at_work, frozenset(paused)), event_store.last_seq(db)
        answer, upto = _answers.get(engine) or (None, 0)
        if (
            answer
            and answer[0] == basis
            and (upto == seq or not choice_inputs.choice_changed(db, after=upto))
        ):
            _answers[engine] = (answer, seq)
            return answer[1]
        if restored.is_restored(db):
            return ()  # they may have been worked on already
        choices = _choices(db, now, _with_free_slots(db, at_work), paused)
        news = _news(db, choices) if agreed else ()
        starts = tuple(
            ReadyRun(run_id, leases.generation(db, LEASE_PREFIX + run_id) + 1, choice.hosts.get(run_id, ""))
            for choice in choices
            for run_id in choice.starts
        )
    _answers[engine] = ((basis, starts), seq)
    if news:
        with event_store.writing(engine) as db:
            event_store.append(db, *news, at=now)
            reactor.advance(db, now=now)
    return starts


def _list_hosts_online(db: Connection, host: str, slots: int) -> tuple[tuple[HostCapacity, ...], bool]:
    """Return the hosts that take runs, as if none had one yet; and whether all of them see the same ones.

    Where they do not, since the heartbeats of `host` are late, none of its reasons is recorded: another host
    would replace it, and so on at every tick. A host without heartbeats has no workers of runs to offer,
    unless no other host lives either.
    """
    known_hosts = hosts.list_hosts(db)
    offered = {row.name: HostCapacity(row.name, row.slots, row.labels) for row in known_hosts.at_work}
    own_host = next((row for row in known_hosts.rows if row.name == host), None)
    agreed = own_host is None or host in offered or not offered
    takes_runs = not offered if own_host is None else not own_host.drained
    if takes_runs:
        offered.setdefault(host, HostCapacity(host, slots))
    return tuple(offered[name] for name in sorted(offered)), agreed


def _with_free_slots(db: Connection, at_work: tuple[HostCapacity, ...]) -> tuple[HostCapacity, ...]:
    """Return the hosts with how many more runs each of them takes."""
    held = runs.count_held_by_host(db)
    return tuple(
        replace(capacity, free=max(0, capacity.free - held.get(capacity.host, 0))) for capacity in at_work
    )


def _choices(
    db: Connection,
    now: datetime,
    free: tuple[HostCapacity, ...],
    paused: Pauses,
    host: str = "",
    *,
    about: RunRow | None = None,
) -> tuple[RunSelection, ...]:
    """Return the runs that may start on each board; a worker that one board takes is not free for the next.

    Where the workers do not suffice for all, each board gets its share of them. A board whose policy cannot
    be read has no choice: the rules say why on its cards. With `about`, only what decides whether that run
    may start is read.
    """
    served = run_queue.boards_waiting(db) - boards.list_removed(db)
    waiting = sorted(board_id for board_id in served if policies.is_known(db, board_id))
    last = about if len(waiting) == 1 else None  # another board's share depends on all that could start
    questions_of = {
        board_id: _question(db, board_id, now, host, len(free), github_at=paused.get(board_id), last=last)
        for board_id in waiting
    }
    alone = {board_id: choose_for(capacities=free) for board_id, choose_for in questions_of.items()}
    if len(waiting) < 2:
        return tuple(alone.values())
    weights = {row.board_id: row.weight for row in boards.all_boards(db)}
    demands = [
        Demand(board_id, len(selection.starts), held, weights.get(board_id, 1))
        for board_id, selection in alone.items()
        for held in (len(runs.list_places_held(db, board_id)),)
    ]
    most = shares(demands, sum(capacity.free for capacity in free))
    choices: list[RunSelection] = []
    for board_id, choose_for in questions_of.items():
        capacities = choices[-1].free if choices else free
        choices.append(choose_for(capacities=capacities, most=most[board_id]))
    return tuple(choices)


def _question(
    db: Connection,
    board_id: BoardId,
    now: datetime,
    host: str,
    host_count: int,
    *,
    github_at: datetime | None,
    last: RunRow | None,
) -> Callable[..., RunSelection]:
    """Return the rules' choice among the board's runs up to the `last`; it takes the free workers."""
    policy = policies.in_force(db, board_id)
    queued = _list_queued(db, board_id, policy, last.rank if last else run_queue.MAX_RANK)
    if last is not None:
        queued = tuple(row for row in queued if TURN(row) <= TURN(last))
    waiting = snapshots.hold_back(db, policy, _waiting(db, queued))
    waiting = same_issue.hold_same_issue(db, waiting)
    if host_count > 1:
        waiting = _with_hosts(db, waiting)
    load = loads.board_load(db, board_id, now.date(), {run.card_id for run in waiting})
    return partial(
        choose_runs,
        policy,
        waiting,
        replace(load, github_at=github_at),
        snapshots.board_stops(db, board_id),
        losses=snapshots.board_losses(db, board_id),
        owner=boards.owner_of(db, board_id),
        host=host,
    )


def _with_hosts(db: Connection, waiting: tuple[Waiting, ...]) -> tuple[Waiting, ...]:
    """Return the runs with the hosts that have their cards' files."""
    known = workspaces.hosts_of(db, (run.place for run in waiting))
    return tuple(replace(run, host=known.get(run.place, "")) for run in waiting)


def _waiting(db: Connection, queued: tuple[runs.QueuedRow, ...]) -> tuple[Waiting, ...]:
    if not queued:
        return ()
    dollars = budgets.of_runs(db, tuple(row.run_id for row in queued))
    stands = run_queue.where_cards_stand(db, tuple(row.card_id for row in queued))
    leaving = questions.open_by(db, LEAVE, tuple(row.run_id for row in queued))
    return tuple(
        Waiting(
            run_id=row.run_id,
            card_id=row.card_id,
            column=row.column,
            stands=stands.get(row.card_id),
            repository=row.repository,
            rank=row.rank,
            queued_at=row.queued_at,
            leaving=row.run_id in leaving,
            by=dollars[row.run_id].by,
            wish_usd=loads.wish_usd(dollars[row.run_id]),
            beside=row.kind == RERUN,
            probes=row.kind != RERUN,
            models=row.kind != CHECK,
            place=_place(row),
            folder=row.folder,
        )
        for row in queued
    )


def _place(row: runs.QueuedRow) -> str:
    """Return the name of the run's workspace; empty for a run that only checks, which has one of its own."""
    if row.kind == CHECK:
        return ""
    own = f"{AGAIN}{row.run_id}" if row.kind == RERUN else row.card_id
    return workspace_name(row.mode, own, row.folder)


def _list_queued(
    db: Connection, board_id: BoardId, policy: Policy, max_rank: int
) -> tuple[runs.QueuedRow, ...]:
    """Return the head of each column's queue and of the checks': a stopped or full one holds up no other.

    A run that waits for another issue is not in it: the rules say so on the card.
    """
    board = boards.get(db, board_id)
    names = [column.name for column in board.columns] if board else []
    working = [name for name in names if policy.archetype(name).STARTS_RUNS]
    heads = [run_queue.free(db, board_id, name, limit=MAX_WAITING) for name in working]
    heads.append(run_queue.free_elsewhere(db, board_id, working, MAX_WAITING, max_rank))
    heads.append(run_queue.checks(db, board_id, limit=MAX_WAITING))
    return tuple(row for head in heads for row in head)


def _news(db: Connection, choices: tuple[RunSelection, ...]) -> tuple[CardExplained, ...]:
    """Return what cards say of their waiting runs; a run beside the card's own is no business of its face."""
    reasons = {run_id: reason for selection in choices for run_id, reason in selection.reasons.items()}
    if not reasons:
        return ()
    codes = {run_id: code for selection in choices for run_id, code in selection.codes.items()}
    cards_of = run_queue.cards_of_runs(db, reasons)
    known = run_queue.reasons_of(db, cards_of.values())
    said = {run_id: (reason, codes.get(run_id, Reason.OTHER)) for run_id, reason in reasons.items()}
    return tuple(
        CardExplained(cards_of[run_id], *news, changed=news[1] is not known[cards_of[run_id]][1])
        for run_id, news in said.items()
        if run_id in cards_of and known.get(cards_of[run_id], news) != news and not is_rerun(db, run_id)
    )


def is_rerun(db: Connection, run_id: RunId) -> bool:
    run = runs.get(db, run_id)
    return run is not None and run.kind == RERUN


def claim_run(
    engine: Engine,
    run_id: RunId,
    *,
    worker: str,
    now: datetime,
    ttl_s: float,
    slots: int,
    host: str = "",
    paused: Pauses = NO_PAUSES,
) -> Lease | None:
    """Claim a queued run for `worker` of `host`; None when it may not start there or another worker has it.

    The claiming transaction checks limits and the card's column again, and reserves the run's dollars.
    """
    with event_store.writing(engine) as db:
        run = runs.get(db, run_id)
        if run is None or run.state is not RunState.QUEUED or restored.is_restored(db):
            return None
        free = _with_free_slots(db, _list_hosts_online(db, host, slots)[0])
        if not any(capacity.host == host and capacity.free for capacity in free):
            return None
        choices = _choices(db, now, free, paused, host, about=run)
        chosen = next((selection for selection in choices if run_id in selection.grants), None)
        if chosen is None or chosen.hosts.get(run_id, host) != host:
            return None
        grant = chosen.grants[run_id]
        lease = leases.take(db, LEASE_PREFIX + run_id, worker, ttl_s=ttl_s)
        if lease is None:
            return None
        claimed = RunClaimed(run_id, lease.generation, worker, host)
        event_store.append(db, claimed, *((grant,) if grant.usd > 0 else ()), at=now)
        reactor.advance(db, now=now)
        return lease


def find_claim_obstacle(db: Connection, run: RunRow, policy: Policy, now: datetime) -> str:
    """Return why a worker of somebody's own may not claim this queued run now; empty where it may."""
    board_id = run.board_id
    if board_id in boards.list_removed(db):
        return "the board is not served any more"
    if not run_queue.is_free(db, run.run_id):
        card = cards.get(db, run.card_id)
        return card.because if card else "it waits for another issue"
    row = runs.QueuedRow(**{field.name: getattr(run, field.name) for field in fields(runs.QueuedRow)})
    held_back = snapshots.hold_back(db, policy, _waiting(db, (row,)))
    (waiting,) = same_issue.hold_same_issue(db, held_back)
    return claim_obstacle(
        policy,
        replace(waiting, wish_usd=0.0, probes=False),
        loads.board_load(db, board_id, now.date(), {run.card_id}),
        snapshots.board_stops(db, board_id),
        losses=snapshots.board_losses(db, board_id),
        owner=boards.owner_of(db, board_id),
    )


def stop_own(run: RunRow) -> RunParked | RunEnded:
    """Return what becomes of a run of somebody's own worker that people asked to stop."""
    if run.stop_asked is StopKind.PAUSE:
        return RunParked(run.run_id, "pause")
    last_known = f"{run.state}: {run.last_line}"
    return RunEnded(run.run_id, Ending.CANCELLED, "cancelled", f"{run.stop_why} ({run.stop_by})", last_known)


def reap_runs(
    engine: Engine,
    *,
    now: datetime,
    sure: Callable[[Lease], bool] = lambda _lease: True,
    outage: bool = False,
) -> tuple[RunId, ...]:
    """Take back the runs whose lease ran out: requeued while the policy's retries last, then lost.

    `sure` tells of such a lease whether its holder is really gone. A worker of this machine that sleeps on
    one is killed: two agents must never share a workspace. After an `outage` of the ledger, when nobody
    could renew a lease, no retry is spent.
    """
    unheard = () if outage else _stop_unheard(engine, now)
    with event_store.reading(engine) as db:
        late = tuple(filter(sure, leases.list_expired(db, LEASE_PREFIX)))
    if not late:
        return unheard
    for lease in late:
        liveness.end_holder(lease.holder)  # before writing: it may sleep with the ledger's lock in its hands
    reaped = []
    with event_store.writing(engine) as db:
        for lease in leases.list_expired(db, LEASE_PREFIX):
            if lease not in late:
                continue
            run = runs.get(db, RunId(lease.name.removeprefix(LEASE_PREFIX)))
            if run is not None and run.agent == OWN and outage:
                continue  # its worker could not renew it: it may do so late
            leases.release(db, lease)  # the old worker's next write is refused from here on
            if run is not None and run.state in RUN_HELD:
                event_store.append(
                    db, _after_outage(run) if outage and not run.hung_s else _after_loss(run), at=now
                )
                reaped.append(run.run_id)
        reactor.advance(db, now=now)
    return (*unheard, *reaped)


def _stop_unheard(engine: Engine, now: datetime) -> tuple[RunId, ...]:
    """Stop the runs of somebody's own workers from which no word came since people asked, however long their
    claim lasts: nothing of them runs here. Their next word is refused.
    """
    with event_store.reading(engine) as db:
        held = [run for run in runs.list_held(db) if run.agent == OWN and run.stop_asked]
        asked = {run.run_id: event_store.newest_of(db, f"run:{run.run_id}", RunStopAsked, 1) for run in held}
    late = [run for run in held if any(now - at >= OBEYS_WITHIN for at, _ in asked[run.run_id])]
    if not late:
        return ()
    stopped = []
    with event_store.writing(engine) as db:
        for known in late:
            run = runs.get(db, known.run_id)
            lease = leases.find_held(db, f"{LEASE_PREFIX}{known.run_id}", known.generation)
            if run is None or lease is None or run.state not in RUN_HELD:
                continue
            leases.release(db, lease)
            event_store.append(db, stop_own(run), at=now)
            stopped.append(run.run_id)
        reactor.advance(db, now=now)
    return tuple(stopped)


def record_hang(engine: Engine, run_id: RunId, generation: int, silent_s: float, *, now: datetime) -> None:
    """Record that a worker hung after this claim. Whoever finds the claim lost ends the run for it.

    It ends here where it waits in the queue: the loss was found first, or the worker was about to claim it.
    No rule is asked: that may be where the worker hung.
    """
    with event_store.writing(engine) as db:
        run = runs.get(db, run_id)
        if run is None or run.generation != generation or run.state is RunState.ENDED:
            return
        hung = RunHung(run_id, silent_s)
        waits = run.state is RunState.QUEUED
        ends = (_after_hang(replace(run, hung_s=silent_s)),) if waits else ()
        event_store.append(db, hung, *ends, at=now)


def let_go(
    engine: Engine, run_id: RunId, lease: Lease, *, now: datetime, error: CardinalError | None = None
) -> None:
    """Give the lease back. A run left in the middle is queued again, or ended by `error`."""
    with event_store.writing(engine) as db:
        if leases.generation(db, lease.name) != lease.generation:
            return  # taken over meanwhile: another worker goes on with the run
        run = runs.get(db, run_id)
        if run is not None and run.state in RUN_HELD:
            event_store.append(db, _after_hang(run) if run.hung_s else _after_leaving(run, error), at=now)
        leases.release(db, lease)
        reactor.advance(db, now=now)


def _after_leaving(run: RunRow, error: CardinalError | None) -> RunRequeued | RunEnded | RunParked:
    match error:
        case None:
            return RunRequeued(run.run_id, "handed_back")
        case RateLimitedError():  # dispatch holds it back until then
            return RunRequeued(run.run_id, "handed_back", str(error))
        case KilledError():  # something that the run needs was killed
            return _after_loss(run, str(error))
        case _:  # it could not be prepared: the error says what a person can do
            return RunEnded(run.run_id, Ending.FAILED, "repository", str(error), RunState.CLAIMED)


def _after_outage(run: RunRow) -> RunRequeued:
    detail = "the ledger was away, so its worker was ended; it continues from its last checkpoint"
    return RunRequeued(run.run_id, "handed_back", detail)


def _after_own_loss(run: RunRow) -> RunParked | RunEnded:
    if run.stop_asked:
        return stop_own(run)
    detail = (
        f"the worker of {run.worker} sent no heartbeat before its claim ran out. The card is free: another"
        " worker may claim it, or /cardinal retry"
    )
    return RunEnded(run.run_id, Ending.LOST, "gave_up", detail, f"{run.state}: {run.last_line}")


def _after_loss(run: RunRow, killed: str = "") -> RunRequeued | RunEnded | RunParked:
    """Return the requeued run while the policy's retries last, then the lost one; no worker gets one that
    hung another.
    """
    if run.agent == OWN:
        return _after_own_loss(run)
    if run.hung_s:
        return _after_hang(run)
    if run.reclaims < ColumnPolicy.model_validate_json(run.settings).retries:
        return RunRequeued(run.run_id, "reclaimed", killed)
    times = run.reclaims + 1
    detail = (
        f"{killed}; this was attempt {times}. Give it more memory or fewer run workers, then /cardinal retry"
        if killed
        else f"its worker disappeared {times} times: look at the workers' log, then /cardinal retry"
    )
    return RunEnded(run.run_id, Ending.LOST, "gave_up", detail, f"{run.state}: {run.last_line}")


def _after_hang(run: RunRow) -> RunEnded:
    detail = (
        f"its worker gave no sign of life for {run.hung_s:.0f} s while the run was {run.state}, so it was"
        " killed, and no other worker takes the run. Something that it read may take for ever, as a commit"
        " message, a comment or a file: change what was new there, then /cardinal retry, or drag the card"
        " again"
    )
    return RunEnded(run.run_id, Ending.FAILED, "hung", detail, f"{run.state}: {run.last_line}")
