"""The rules' snapshot of one card, made of the ledger's views."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from bot.state import policies, same_issue
from ledger.event import Event
from ledger.events.conversation import CommandGiven
from ledger.events.findings import FindingsReported
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import CheckFailure
from ledger.events.related import CardProposed
from ledger.events.run import BESIDE, RERUN, QuestionAnswered, RunEnded, RunEvent
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.model.run_modes import FIX
from ledger.queries import attempts, run_queue, siblings, workspaces
from ledger.queue import outbox
from ledger.rows.cards import CardRow
from ledger.rows.findings import FollowUpRow
from ledger.rows.folders import FolderRow
from ledger.rows.limit_answers import Code
from ledger.rows.links import LinkRow
from ledger.rows.losses import LossRow
from ledger.rows.placements import PlacementRow
from ledger.rows.runs import ComparedRun, PastRun, RunRow
from ledger.rows.same_issue import SiblingRow
from ledger.rows.stops import LiftRow, StopRow
from ledger.states import CardState, Ending, Reason, RunState
from ledger.views import (
    base_moves,
    briefings,
    cards,
    changed_files,
    checkpoints,
    checks,
    ci,
    findings,
    folders,
    givers,
    halts,
    jobs,
    links,
    merges,
    messages,
    placements,
    plans,
    questions,
    remotes,
    reports,
    runs,
    stops,
    threads,
    verdicts,
)
from rules.answers import rule_about
from rules.card import overlap
from rules.commands import choose, compare, fork, rerun
from rules.policy.model import Policy
from rules.runs.kill_switch import targets
from rules.runs.queue import Waiting
from rules.runs.start import MAX_KEPT
from rules.snapshot import CardPull, FailedPart, Snapshot

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
MAX_CHECKS = 30  # runs of a card that only check; no policy starts as many in an hour
MAX_RUN_EVENTS = 100_000  # searched for a proposal
MAX_SNAPSHOTS = 50  # of a folder that are listed
MAX_LANE = 500  # cards in a merge lane that are counted


def list_shared_files(db: Connection, card_id: CardId) -> tuple[SiblingRow, ...]:
    """Return the work of other cards on the files that the card's work changes, as far as git has said."""
    own_changed_files = changed_files.of_card(db, card_id)
    if own_changed_files is None:
        return ()
    mine = set(own_changed_files.files)
    others = (row for row in siblings.changing(db, own_changed_files.repository) if row.card_id != card_id)
    shared = (replace(row, files=tuple(sorted(mine.intersection(row.files)))) for row in others)
    return tuple(it for it in shared if it.files)


def hold_back(db: Connection, policy: Policy, queue: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the runs, with why they wait for other work on the same files where the policy says so."""
    queue = tuple(queue)
    if policy.board.overlap != "wait":
        return queue
    changing = changed_files.list_changing_cards(db, tuple(run.card_id for run in queue))
    return tuple(
        replace(run, overlap=_obstacle(db, run)) if run.models and run.card_id in changing else run
        for run in queue
    )


def _obstacle(db: Connection, waiting: Waiting) -> str:
    run = runs.get(db, RunId(waiting.run_id))
    if run is None or run.claimed_at is not None or run.mode != FIX or run.kind == RERUN:
        return ""  # what has begun waits for nobody, so that two never wait for each other
    card = cards.get(db, waiting.card_id)
    own_pull = card.pull_number if card is not None and card.has_open_pull else None
    return overlap.overlap_obstacle(list_shared_files(db, waiting.card_id), own_pull or 0)


def list_parts_to_do(db: Connection, row: CardRow, run: RunRow | None) -> tuple[CardRow, ...]:
    """Return the cards of the sub-issues that the run waits for."""
    waits = run is not None and run.state is RunState.QUEUED and run.waits_for_parts and not run.begun
    return links.parts_to_do(db, row.repository, row.number) if waits else ()


def as_link(row: CardRow, part: CardRow) -> LinkRow:
    """Return the sub-issue as an issue that the card waits for."""
    issue_ref = (part.repository or "", part.number or 0)
    return LinkRow(row.card_id, *issue_ref, part.title, state="open", done=False, public=False)


def find_failed_parts(db: Connection, row: CardRow, parts: Iterable[CardRow]) -> tuple[FailedPart, ...]:
    """Return those of the parts whose newest run failed or was cancelled."""
    newest = ((part, runs.get(db, RunId(part.run_id))) for part in parts if part.run_id)
    lost = ((part, run) for part, run in newest if run and _is_lost(part, run))
    return tuple(FailedPart(run, as_link(row, part), is_beside(row, part)) for part, run in lost)


def _is_lost(part: CardRow, run: RunRow) -> bool:
    """Tell whether nothing goes on by itself; one that was dragged away was cancelled for something else."""
    cancelled = run.ending is Ending.CANCELLED and part.state is CardState.BLOCKED
    return cancelled or run.ending in (Ending.FAILED, Ending.LOST)


def is_beside(row: CardRow, part: CardRow) -> bool:
    """Tell whether who may answer on the card may retry its sub-issue: same repository, and same policy."""
    return (part.repository, part.board_id) == (row.repository, row.board_id)


def of_card(db: Connection, card_id: CardId) -> Snapshot | None:
    row = cards.get(db, card_id)
    return None if row is None else _snapshot(db, row)


def with_place(db: Connection, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with the place in the queue of the card's run, for whoever shows it."""
    return replace(snapshot, place=_find_place(db, snapshot))


def _find_place(db: Connection, card: Snapshot, *_event: object) -> int:
    run = card.run
    return run_queue.queue_place(db, run.run_id) if run and run.state is RunState.QUEUED else 0


def for_event(db: Connection, row: CardRow, event: Event, now: datetime) -> Snapshot:
    """Return the card's snapshot with the data that only the rules for this event need."""
    snapshot = _snapshot(db, row)
    if isinstance(event, RunEvent) and (snapshot.run is None or event.run_id != snapshot.run.run_id):
        run = runs.get(db, event.run_id)
        snapshot = replace(snapshot, beside=run if run and run.kind in BESIDE else None)
    rule = rule_about(type(event))
    parts = rule.reads if rule else ()
    return replace(snapshot, **{part: READERS[part](db, snapshot, event, now) for part in parts})


def _is_unopened(db: Connection, card: Snapshot, _event: Event, _now: datetime) -> bool:
    """Tell whether the pull request of the card's newest run waits to be opened, or was given up."""
    failed = remotes.list_given_up(db, card.card_id)
    acts = [(given_up.act, given_up.key) for given_up in failed]
    acts += [(entry.act, entry.key) for entry in outbox.open_of_card(db, card.card_id)]
    return any(act == "open_pull" and key.endswith(f":{card.run_id}") for act, key in acts)


def _findings(db: Connection, card: Snapshot, event: Event, _now: datetime) -> FindingsReported | None:
    """Return the findings of the run in `r1:2`, or of the card's newest investigation for a number."""
    match event:
        case CommandGiven(command="follow-up", argument=wanted):
            pass
        case EntryGivenUp(act="create_card", key=key):
            wanted = key.removeprefix("card:")
        case _:
            return None
    named, colon, _ = wanted.partition(":")
    run = runs.get(db, RunId(named)) if colon else None
    report = findings.get(db, run.run_id) if run and run.card_id == card.card_id else None
    return report if colon else findings.newest(db, card.card_id)


def _list_follow_ups(db: Connection, card: Snapshot, event: Event, now: datetime) -> tuple[FollowUpRow, ...]:
    report = _findings(db, card, event, now)
    return tuple(findings.follow_ups_made(db, report.run_id).values()) if report else ()


def _find_folder(db: Connection, card: Snapshot, event: Event, _now: datetime) -> FolderRow | None:
    """Return the folder of the card's newest run that had one, with that run's snapshot that is named."""
    if not isinstance(event, CommandGiven) or event.command != "folder":
        return None
    of_card = [run for run in runs.of_card(db, card.card_id, limit=MAX_KEPT) if run.folder]
    run = next((run for run in of_card if run.kind != RERUN), None)
    if run is None:
        return None
    rows, wanted = folders.list_snapshots(db, run.folder, MAX_SNAPSHOTS), event.argument.strip()[:40]
    beside = next((it.folder for it in of_card if it.kind == RERUN and it.run_id == wanted), "")
    named = folders.as_left_by(db, beside or run.folder, wanted)
    older = (named,) if named and all(row.run_id != named.run_id for row in rows) else ()
    held = runs.list_held(db, card.board_id)
    writer = next((other.run_id for other in held if other.folder == run.folder), "")
    return FolderRow(run.folder, (*rows, *older), writer)


def _find_proposal(db: Connection, _card: Snapshot, event: Event, _now: datetime) -> CardProposed | None:
    """Return the run's proposal of a card in another repository that the event is about; None without one."""
    match event:
        case EntryGivenUp(act="create_card", key=key):
            run_id, _, number = key.removeprefix("card:").partition(":")
            field, wanted = "proposal", number
        case QuestionAnswered(code=Code.CREATE):
            run_id, field, wanted = event.run_id, "question_id", event.question_id
        case _:
            return None
    events = (it.event for it in event_store.read(db, stream=f"run:{run_id}", limit=MAX_RUN_EVENTS))
    elsewhere = (it for it in events if isinstance(it, CardProposed) and it.repository)
    return next((proposed for proposed in elsewhere if str(getattr(proposed, field)) == wanted), None)


def _find_lift(db: Connection, card: Snapshot, event: CommandGiven, _now: datetime) -> LiftRow | None:
    scope = event.argument.strip().lower() or "card"
    target = targets(card).get(scope, "") if event.command in ("resume", "unblock") else ""
    return stops.lift_of(db, card.board_id, scope, target) if target else None


def _list_failed_checks(
    db: Connection, card: Snapshot, _event: Event, _now: datetime
) -> tuple[CheckFailure, ...]:
    return ci.failures_of(db, card.card_id, card.open_pull.head) if card.open_pull else ()


def _find_past_run(db: Connection, card: Snapshot, event: CommandGiven, _now: datetime) -> PastRun | None:
    """Return the card's run that a `rerun` or `fork` names, else its newest; None for no such run of it."""
    match event.command:
        case "rerun":
            named = rerun.read_wish(event.argument).run
        case "fork":
            named = fork.read_fork(event.argument).run
        case "choose":
            return _find_run(db, card, choose.find_named(event.argument))
        case _:
            return None
    return _find_run(db, card, named or card.run_id or "")


def _find_run(db: Connection, card: Snapshot, named: str) -> PastRun | None:
    run = runs.get(db, RunId(named)) if named else None
    if run is None or run.card_id != card.card_id:
        return None
    briefing = briefings.newest(db, run.run_id)
    plan = plans.newest(db, run.run_id)
    known = (briefing.base if briefing else "", plan.base if plan else "", run.base)
    points = checkpoints.list_points(db, run.run_id)
    return PastRun(run, next(filter(None, known), ""), briefing is not None, points)


def _list_compared(db: Connection, card: Snapshot, event: Event, _now: datetime) -> tuple[ComparedRun, ...]:
    """Return the runs of this card that a `compare` names, in its order."""
    if not isinstance(event, CommandGiven) or event.command != "compare":
        return ()
    named = compare.find_compared(event.argument, card.run_id or "")
    known = (runs.get(db, RunId(name)) for name in named)
    return tuple(compare_rows(db, run) for run in known if run is not None and run.card_id == card.card_id)


def compare_rows(db: Connection, run: RunRow) -> ComparedRun:
    report, gate = reports.get(db, run.run_id), checks.newest_gate(db, run.run_id)
    passed = "" if gate is None else "passed" if gate.passed else "failed"
    return ComparedRun(run, report.done if report else "", passed)


def _count_struck_cards(db: Connection, card: Snapshot, event: RunEnded, now: datetime) -> int:
    return halts.count_failed_cards(db, card.board_id, event.cause, now - HOUR) if event.cause else 0


READERS: Mapping[str, Callable[[Connection, Snapshot, Any, datetime], Any]] = {
    "place": _find_place,
    "held": lambda db, card, _event, _now: messages.list_held_messages(db, card.card_id),
    "released": lambda db, card, _event, _now: messages.list_held_messages(db, card.card_id, vouched=True),
    "lifted": _find_lift,
    "paced": lambda db, card, event, now: givers.count_commands(db, card.board_id, event.by, now - MINUTE),
    "unopened": _is_unopened,
    "halt": lambda db, card, _event, _now: halts.of_board(db, card.board_id),
    "struck": _count_struck_cards,
    "ci": lambda db, card, _event, _now: ci.of_card(db, card.card_id),
    "red": _list_failed_checks,
    "shared": lambda db, card, _event, _now: list_shared_files(db, card.card_id),
    "findings": _findings,
    "made": _list_follow_ups,
    "folder": _find_folder,
    "proposed": _find_proposal,
    "workspaces": lambda db, card, _event, _now: workspaces.of_card(db, card.card_id),
    "past": _find_past_run,
    "compared": _list_compared,
    "reruns": lambda db, card, _event, _now: attempts.live_reruns(db, card.card_id),
    "job": lambda db, card, _event, _now: jobs.of_card(db, card.card_id),
}


def board_stops(db: Connection, board_id: BoardId) -> tuple[StopRow, ...]:
    return policies.of_board(db, board_id).stops


def board_losses(db: Connection, board_id: BoardId) -> tuple[LossRow, ...]:
    return policies.of_board(db, board_id).losses


def card_losses(db: Connection, card_id: CardId) -> tuple[LossRow, ...]:
    """Return what of the card's repositories is out of reach; nothing for an unknown card."""
    row = cards.get(db, card_id)
    if row is None:
        return ()
    return _losses(policies.of_board(db, row.board_id), row, placements.get(db, card_id))


def _snapshot(db: Connection, row: CardRow) -> Snapshot:
    run = runs.get(db, RunId(row.run_id)) if row.run_id else None
    board = policies.of_board(db, row.board_id)
    target = placements.get(db, row.card_id)
    worked_in = _find_worked_repository(db, row.card_id) if target else ""
    blockers = links.of_card(db, row.card_id) if run and run.state is RunState.QUEUED else ()
    parts = list_parts_to_do(db, row, run)
    waits = bool(parts) or any(blocker.holds for blocker in blockers)
    checks_begun = attempts.checking(db, row.card_id, MAX_CHECKS) if row.pull_number is not None else ()
    policy = policies.in_force(db, row.board_id)
    return Snapshot(
        **{field.name: getattr(row, field.name) for field in fields(CardRow)},
        column_policy=policy.column(row.column),
        archetype=policy.archetype(row.column),
        run=run,
        beside=None,
        pull=_pull(db, row),
        pending_threads=threads.pending_count(db, row.card_id),
        stops=board.stops,
        losses=_losses(board, row, target),
        served=_was_served(db, row),
        target=target,
        worked_in=worked_in,
        blockers=blockers,
        circle=links.circle(db, row.card_id) if waits else (),
        parts=tuple(as_link(row, part) for part in parts),
        failed_parts=find_failed_parts(db, row, parts),
        begun=attempts.list_attempts(db, row.card_id, MAX_KEPT) if row.attempts else (),
        board_owner=board.owner,
        policy_digest=board.policy.digest if board.policy else "",
        checks=checks_begun,
        base_moved_at=base_moves.last(db, checks_begun[0].repository) if checks_begun else None,
        lane_ahead=_lane_ahead(db, row),
        goes_first=same_issue.goes_first(db, run),
        done_elsewhere=same_issue.find_work_done(db, row, run),
        plan=plans.newest(db, run.run_id) if run and run.plan_revision else None,
        questions=questions.of_run(db, run.run_id) if run and run.questions else (),
        briefed=briefings.digest_of_briefing(db, run.run_id) if run else "",
    )


def _lane_ahead(db: Connection, row: CardRow) -> tuple[int, ...]:
    if not row.has_open_pull or row.pull_repository is None or row.reason is Reason.MERGE_TURN:
        return ()
    lane = siblings.merge_lane(db, row.pull_repository, MAX_LANE)
    own = next((position for position, it in enumerate(lane) if it.card_id == row.card_id), len(lane))
    return tuple(it.pull for it in lane[:own])


def _was_served(db: Connection, row: CardRow) -> bool:
    asked_at = verdicts.changes_requested_at(db, row.card_id) if row.verdict == "changes_requested" else None
    return asked_at is not None and attempts.was_served_since(db, row.card_id, asked_at)


def _find_worked_repository(db: Connection, card_id: CardId) -> str:
    past = runs.of_card(db, card_id, limit=MAX_KEPT)
    began = (run.repository for run in past if run.mode == FIX and run.claimed_at is not None)
    return next(began, "")


def _losses(board: policies.BoardState, row: CardRow, target: PlacementRow | None) -> tuple[LossRow, ...]:
    """Return the losses of the card's repositories: their own, and those of their owners' installations."""
    pulled = row.pull_repository if row.has_open_pull else None
    places = dict.fromkeys((row.repository, target.repository or None if target else None, pulled))
    near = {name for place in places if place for name in (place, place.partition("/")[0])}
    return tuple(loss for loss in board.losses if loss.target in near)


def _pull(db: Connection, row: CardRow) -> CardPull | None:
    if row.pull_number is None:
        return None
    pull = CardPull(row.pull_number, row.pull_state, row.pull_draft, row.pull_head, row.branch)
    if not row.has_open_pull:
        return pull
    awaited, last = merges.get(db, row.card_id), checks.gate_of(db, row.card_id)
    return replace(
        pull,
        awaits=awaited.how if awaited else "",
        awaited_head=awaited.head if awaited else "",
        gate=checks.standing(db, row.card_id, row.pull_head),
        checked=last.head if last else "",
        unfinished=bool(row.early_start),
    )
