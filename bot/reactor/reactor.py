"""Gives every event to the rules exactly once and applies their decisions, in one transaction."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from bot.reactor import apply
from bot.state import policies, same_issue, snapshots
from ledger.db.transactions import undoable
from ledger.errors import LedgerError
from ledger.event import Event, Recorded
from ledger.events.access import AccessLost, AccessRegained, RepositoryMoved
from ledger.events.board import (
    BoardEvent,
    BoardRemoved,
    BoardSeen,
    CardArchived,
    CardEvent,
    CardStateChanged,
    DecisionFailed,
    IssueClosed,
    IssueReopened,
    StopLifted,
    StopOrdered,
)
from ledger.events.policy import PolicyLoaded
from ledger.events.pull import PullChanged
from ledger.events.related import LinksSeen
from ledger.events.run import RERUN, QuestionAnswered, RunClaimed, RunEnded, RunEvent
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.queries import attempts, run_queue, siblings
from ledger.queries import cards as card_queries
from ledger.queue import outbox, restored
from ledger.rows.cards import CardRow
from ledger.rows.limit_answers import Code
from ledger.states import CardState, Reason
from ledger.views import boards, cards, links, placements, questions, runs
from rules.answers import rule_about
from rules.card.preferences import queue_priority, reorder_run
from rules.card.state import conclude_decision
from rules.decide import decide
from rules.handlers import access, failed_run, issue_links, merge_queue
from rules.handlers.issue_links import follow_other
from rules.intents.internal import show_card
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.runs import kill_switch
from rules.runs.rerun import lose_access, stop_rerun
from rules.snapshot import Snapshot

log = logging.getLogger(__name__)
Decide = Callable[[Policy, Snapshot | None, Event, datetime], Decision]
AccessChange = AccessLost | AccessRegained | RepositoryMoved
CardRule = Callable[[Policy, Snapshot], Decision]

READER = "react"
BATCH = 200
MAX_AT_ONCE = 1000  # of a backlog in one transaction, so that other writers get their turn
MAX_CARDS = 500  # that are updated for one issue or column; all of them may start
MAX_REORDERED = 2000  # queued runs that get other places by a new policy
MAX_BEYOND = 5000  # events that decisions themselves append in one go: rules that never settle are a bug


class UnsettledRulesError(LedgerError):
    """The rules kept appending events without end."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(
            f"the rules did not settle within {MAX_BEYOND} events at event {seq}: report this as a bug"
        )


def behind(db: Connection) -> int:
    """Return the count of events that the rules have not seen yet."""
    return event_store.last_seq(db) - event_store.position(db, READER)


def append_and_react(db: Connection, *events: Event, now: datetime) -> None:
    """Append events, if there are any, and decide them."""
    if events:
        event_store.append(db, *events, at=now)
        advance(db, now=now)


def advance(db: Connection, *, now: datetime, rules: Decide = decide) -> int:
    """Decide the waiting events and those that decisions append; return their count.

    Nothing is decided while a restored ledger adopts its traces on GitHub. A backlog takes several calls:
    `behind` returns the rest. An event that the rules fail on is skipped and recorded as DecisionFailed, so
    that one card's trouble stops no other. Raises UnsettledRulesError.
    """
    if restored.is_restored(db):
        return 0  # what is decided now would not know what was done since the back-up
    decided, head, before = 0, event_store.last_seq(db), event_store.position(db, READER)
    while True:
        waiting = event_store.read(db, after=before, limit=BATCH)
        if not waiting or (decided >= MAX_AT_ONCE and before < head):
            return decided
        if before > head + MAX_BEYOND:
            raise UnsettledRulesError(before)
        for recorded in waiting:
            _decide_one(db, recorded, now, rules)
        event_store.advance_cursor(db, READER, before=before, after=waiting[-1].seq)
        decided, before = decided + len(waiting), waiting[-1].seq


def _decide_one(db: Connection, recorded: Recorded, now: datetime, rules: Decide) -> None:
    spreads = (
        isinstance(recorded.event, BoardRemoved | RunClaimed)
        or _frees(recorded.event)
        or _fails(recorded.event)
    )
    if rule_about(type(recorded.event)) is None and not spreads:
        return
    card, board_id = _about(db, recorded.event)
    if board_id is None:
        return
    card_id = card.card_id if card else None
    try:
        with undoable(db):  # a failed decision is rolled back, nothing else
            snapshot = snapshots.for_event(db, card, recorded.event, now) if card else None
            policy = policies.in_force(db, board_id)
            apply.apply(db, policy, rules(policy, snapshot, recorded.event, now), now=now)
            _spread(db, policy, card, recorded.event, now)
    except SQLAlchemyError:
        raise  # the ledger's failure, not the event's: nothing is decided, and all is tried again
    except Exception as error:  # recorded, not raised: the next reader of the log would stop at it as well
        kind = type(recorded.event).__name__
        log.exception("rules failed event=%s kind=%s", recorded.seq, kind)
        if not isinstance(recorded.event, DecisionFailed):
            because = f"{type(error).__name__}: {error}"[:2000]
            failed = DecisionFailed(card_id or CardId(board_id), recorded.seq, kind, because)
            event_store.append(db, failed, at=now)


def _spread(db: Connection, policy: Policy, card: CardRow | None, event: Event, now: datetime) -> None:
    """Apply the event to the other cards that it is about as well."""
    if isinstance(event, StopOrdered | StopLifted):
        _spread_stop(db, event, now)
    if isinstance(event, AccessChange):
        _spread_access(db, event, now)
    if isinstance(event, PolicyLoaded | BoardSeen):
        _spread_columns(db, policy, event.board_id, now)
        _reorder_runs(db, policy, event.board_id, now)
    if card is not None and isinstance(event, PullChanged):
        _spread_merge(db, card, event, now)
    if card is not None and isinstance(event, QuestionAnswered) and event.code == Code.RETRY_PART:
        _retry_part(db, card, event, now)
    if card is not None:
        _update_linked(db, card.card_id, event, now)
        _update_same_issue(db, card.card_id, event, now)
    if card is not None and event.changes_lane:
        _advance_lane(db, card.pull_repository, now)
    if isinstance(event, BoardRemoved):
        for repository in siblings.lane_repositories(db, event.board_id):
            _advance_lane(db, repository, now)


def _apply_to(db: Connection, card_ids: Iterable[CardId], rule: CardRule, now: datetime) -> None:
    """Apply a rule's decisions to these cards, each once."""
    for card_id in dict.fromkeys(card_ids):
        snapshot = snapshots.of_card(db, card_id)
        if snapshot is not None:
            policy = policies.in_force(db, snapshot.board_id)
            apply.apply(db, policy, conclude_decision(policy, snapshot, rule(policy, snapshot)), now=now)


def _spread_stop(db: Connection, event: StopOrdered | StopLifted, now: datetime) -> None:
    """Apply a kill switch to every live run and held act under it, and show that of a card on it."""
    held = runs.list_held(db)
    if isinstance(event, StopOrdered):
        for run in (it for it in held if it.kind == RERUN):
            apply.apply(db, policies.in_force(db, run.board_id), stop_rerun(run, event), now=now)
    else:
        outbox.let_go_on(db)
    live = [run.card_id for run in (*held, *runs.list_parked(db))]
    _apply_to(db, live, lambda _, snapshot: kill_switch.spread_stop(snapshot, event), now)
    if event.scope == "card":
        _apply_to(db, [CardId(event.target)], lambda _, snapshot: kill_switch.show_block(snapshot), now)


def _spread_access(
    db: Connection, event: AccessLost | AccessRegained | RepositoryMoved, now: datetime
) -> None:
    """Apply a change of access to the cards of a repository.

    For a whole organisation only to cards with a live run and to blocked ones: comments on every card would
    be too many, and nothing can be written while access is lost.
    """
    target = event.after if isinstance(event, RepositoryMoved) else event.target
    if isinstance(event, AccessLost):
        for run in (it for it in runs.list_held(db, event.board_id) if it.kind == RERUN):
            apply.apply(db, policies.in_force(db, run.board_id), lose_access(run, event), now=now)
    if "/" in target:
        concerned = [card.card_id for card in placements.cards_working_in(db, target)]
    else:
        live = [run.card_id for run in (*runs.list_held(db, event.board_id), *runs.list_parked(db))]
        concerned = [*live, *card_queries.in_state(db, event.board_id, CardState.BLOCKED)]

    def rule(_: Policy, snapshot: Snapshot) -> Decision:
        return access.spread(snapshot) if snapshot.board_id == event.board_id else Decision()

    _apply_to(db, concerned, rule, now)


def _spread_merge(db: Connection, card: CardRow, event: PullChanged, now: datetime) -> None:
    """Let the other open pull requests of the repository be rebased on the merge."""
    if event.state == "merged" and card.pull_repository is not None:
        others = siblings.open_pulls(db, card.pull_repository, MAX_CARDS)
        _apply_to(db, others, lambda policy, snapshot: merge_queue.after_merge(policy, snapshot, now), now)


def _advance_lane(db: Connection, repository: str | None, now: datetime) -> None:
    """Give the cards in the repository's merge lane their places, and the next one its turn."""
    lane = siblings.merge_lane(db, repository, MAX_CARDS) if repository else ()
    for row in lane:  # one by one: the first may become the leader, whom the others see
        _apply_to(db, [row.card_id], lambda policy, it: merge_queue.advance_lane(policy, it, now), now)


def _spread_columns(db: Connection, policy: Policy, board_id: BoardId, now: datetime) -> None:
    """Update the state of cards whose column has another archetype now; this starts nothing."""
    board = boards.get(db, board_id)
    served = (column.name for column in (board.columns if board else ()) if policy.column(column.name))
    legal = {name: policy.archetype(name).STATES for name in served}

    astray = card_queries.out_of_place(db, board_id, legal, MAX_CARDS)
    _apply_to(db, astray, lambda _, it: Decision() if it.only_shown else show_card(), now)


def _reorder_runs(db: Connection, policy: Policy, board_id: BoardId, now: datetime) -> None:
    """Give the live runs of the board their places by the priorities of the new policy."""
    queued = [row.card_id for row in runs.list_queued(db, board_id, limit=MAX_REORDERED)]
    parked = [run.card_id for run in runs.list_parked(db) if run.board_id == board_id]
    held = [run.card_id for run in runs.list_held(db, board_id)]
    live = dict.fromkeys((*queued, *held, *parked))
    _apply_to(db, [card_id for card_id in live if _is_misplaced(db, policy, card_id)], reorder_run, now)


def _is_misplaced(db: Connection, policy: Policy, card_id: CardId) -> bool:
    """Tell whether the card's run was queued by another priority: most were not, and need no snapshot."""
    card = cards.get(db, card_id)
    run = runs.get(db, RunId(card.run_id)) if card is not None and card.run_id else None
    return card is not None and run is not None and run.priority is not queue_priority(policy, card)


def _frees(event: Event) -> bool:
    """Tell whether the event may free other cards, or hold them back again."""
    if isinstance(event, CardStateChanged):
        return CardState.DONE in (event.before, event.after)
    return isinstance(event, IssueClosed | IssueReopened)


def _fails(event: Event) -> bool:
    """Tell whether a card failed by the event, its run was cancelled, or neither is so any more."""
    lost = (CardState.FAILED, CardState.BLOCKED)
    return isinstance(event, CardStateChanged) and (event.before in lost or event.after in lost)


def _retry_part(db: Connection, card: CardRow, event: QuestionAnswered, now: datetime) -> None:
    """Retry the sub-issue that somebody answered about, if it is in the same repository and on this board."""
    question = questions.get(db, event.question_id)
    failed = runs.get(db, RunId(question.part)) if question else None
    part = cards.get(db, failed.card_id) if failed else None
    if failed is None or part is None or not snapshots.is_beside(card, part):
        return
    rule = partial(failed_run.retry_part, failed=failed.run_id, by=event.by, whole=card.card_id)
    _apply_to(db, [part.card_id], rule, now)


def _update_linked(db: Connection, card_id: CardId, event: Event, now: datetime) -> None:
    """Update the cards that wait for this one, and the one that it is a part of."""
    if _frees(event):
        _update_dependents(db, card_id, now)
    if _frees(event) or isinstance(event, LinksSeen):
        _update_circle(db, card_id, event, now)
    if _frees(event) or _fails(event) or isinstance(event, LinksSeen | CardArchived):
        _apply_to(db, _wholes(db, card_id, event), issue_links.update_whole, now)


def _update_same_issue(db: Connection, card_id: CardId, event: Event, now: datetime) -> None:
    """Update the issue's cards on other boards after a run began or ended."""
    if isinstance(event, RunClaimed | RunEnded):
        _apply_to(
            db,
            (card.card_id for card in same_issue.of_one_owner(db, card_id)),
            lambda _, snapshot: follow_other(snapshot),
            now,
        )


def _update_dependents(db: Connection, card_id: CardId, now: datetime) -> None:
    """Update the reasons of waiting cards; the dispatch reads from the views whether one may start."""
    card = cards.get(db, card_id)
    if card is not None and card.repository is not None and card.number is not None:
        waiting = run_queue.list_queued_dependents(db, card.repository, card.number, MAX_CARDS)
        _apply_to(db, waiting, issue_links.update_waiting, now)


def _update_circle(db: Connection, card_id: CardId, event: Event, now: datetime) -> None:
    """Update all cards that ask about a way through this one, be it by way of others: it may be open now."""
    ways = dict.fromkeys([card_id, *_wholes(db, card_id, event)])
    asking = list(ways)
    for name in asking:  # grows
        card = cards.get(db, name)
        if card is None or card.repository is None or card.number is None or len(asking) > MAX_CARDS:
            continue
        after = run_queue.list_queued_dependents(db, card.repository, card.number, MAX_CARDS)
        fresh = [it for it in (*after, *_wholes(db, name)) if it not in ways and _asks(db, it)]
        ways |= dict.fromkeys(fresh)
        asking += fresh
    _apply_to(db, asking[1:], issue_links.update_waiting, now)


def _asks(db: Connection, card_id: CardId) -> bool:
    card = cards.get(db, card_id)
    return card is not None and (card.state, card.reason) == (CardState.NEEDS_INPUT, Reason.DEPENDENCY)


def _wholes(db: Connection, card_id: CardId, event: Event | None = None) -> list[CardId]:
    """Return the cards of the issue that the card's is a part of, or was until the event."""
    parent = links.parent_of(db, card_id)
    before = links.issue_ref_of(event.parent_before) if isinstance(event, LinksSeen) else None
    places = ((parent.repository, parent.number) if parent else None, before)
    return [card.card_id for issue_ref in places if issue_ref for card in cards.of_issue(db, *issue_ref)]


def _about(db: Connection, event: Event) -> tuple[CardRow | None, BoardId | None]:
    match event:
        case BoardEvent():
            return None, event.board_id
        case CardEvent():
            card_id: CardId | None = event.card_id
        case RunEvent():
            card_id = attempts.card_of_run(db, event.run_id)
        case _:
            return None, None
    card = cards.get(db, card_id) if card_id else None
    return (card, card.board_id) if card else (None, None)
