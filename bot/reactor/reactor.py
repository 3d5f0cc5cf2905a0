"""Lets the rules see every event exactly once and carries their inward intents out, in one transaction."""

import logging
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from bot.reactor import apply
from bot.state import policies, snapshots
from ledger.errors import LedgerError
from ledger.event import Event, Recorded
from ledger.events.access import AccessLost, AccessRegained, RepositoryMoved
from ledger.events.board import (
    BoardEvent,
    BoardSeen,
    CardEvent,
    CardStateChanged,
    DecisionFailed,
    IssueClosed,
    IssueReopened,
    StopLifted,
    StopOrdered,
)
from ledger.events.policy import PolicyLoaded
from ledger.events.run import RunEvent
from ledger.ids import BoardId, CardId
from ledger.log import cursors, event_store
from ledger.queries import cards as card_queries
from ledger.queries import run_queue
from ledger.states import CARD_STATES, CardState
from ledger.views import boards, cards, placements, runs
from rules.card.state import settle
from rules.decide import decide
from rules.handlers import access
from rules.handlers.issue_links import told
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.runs.kill_switch import spread
from rules.snapshot import Snapshot

log = logging.getLogger(__name__)
Decide = Callable[[Policy, Snapshot | None, Event, datetime], Decision]

READER = "react"
BATCH = 200
MAX_AT_ONCE = 1000  # of a backlog in one transaction, so that other writers get their turn
MAX_TOLD = 500  # cards, at once, what became of an issue or a column; all of them may start
MAX_BEYOND = 5000  # events that decisions themselves ask for in one go: rules that never settle are a bug


class UnsettledRulesError(LedgerError):
    """The rules kept asking for more without end."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(
            f"the rules did not settle within {MAX_BEYOND} events at event {seq}: report this as a bug"
        )


def behind(db: Connection) -> int:
    """Return how many events the rules have not seen yet."""
    return event_store.last_seq(db) - cursors.position(db, READER)


def advance(db: Connection, *, now: datetime, rules: Decide = decide) -> int:
    """Decide the events that wait, those that decisions append included; return how many there were.

    Of a long backlog only a part: `behind` says whether there is more. An event that the rules fail on is
    passed by, which is an event too: one card's trouble must not stop every other one. Raises
    UnsettledRulesError.
    """
    decided, head = 0, event_store.last_seq(db)
    while True:
        before = cursors.position(db, READER)
        waiting = event_store.read(db, after=before, limit=BATCH)
        if not waiting or (decided >= MAX_AT_ONCE and before < head):
            return decided
        if before > head + MAX_BEYOND:
            raise UnsettledRulesError(before)
        for recorded in waiting:
            _decide_one(db, recorded, now, rules)
        cursors.advance(db, READER, before=before, after=waiting[-1].seq)
        decided += len(waiting)


def _decide_one(db: Connection, recorded: Recorded, now: datetime, rules: Decide) -> None:
    card_id, board_id = _about(db, recorded.event)
    if board_id is None:
        return
    try:
        with db.begin_nested():  # what a decision did before it failed is taken back, nothing else
            snapshot = snapshots.for_event(db, card_id, recorded.event, now) if card_id else None
            policy = policies.in_force(db, board_id)
            apply.apply(db, policy, rules(policy, snapshot, recorded.event, now), now=now)
            if isinstance(recorded.event, StopOrdered | StopLifted):
                _spread(db, policy, recorded.event, now)
            if isinstance(recorded.event, AccessLost | AccessRegained | RepositoryMoved):
                _spread_access(db, policy, recorded.event, now)
            if isinstance(recorded.event, PolicyLoaded | BoardSeen):
                _spread_columns(db, policy, board_id, now)
            if card_id and _frees(recorded.event):
                _tell_dependents(db, card_id, now)
    except SQLAlchemyError:
        raise  # the ledger's trouble, not the event's: nothing is decided, and all of it is tried again
    except Exception as error:  # told, and not raised: whoever read the log next would stop at it as well
        kind = type(recorded.event).__name__
        log.exception("rules failed event=%s kind=%s", recorded.seq, kind)
        if not isinstance(recorded.event, DecisionFailed):
            because = f"{type(error).__name__}: {error}"[:2000]
            told = DecisionFailed(card_id or CardId(board_id), recorded.seq, kind, because)
            event_store.append(db, told, at=now)


def _spread(db: Connection, policy: Policy, event: StopOrdered | StopLifted, now: datetime) -> None:
    """Let a kill switch reach every live run under it."""
    for run in (*runs.held(db), *runs.parked(db)):
        snapshot = snapshots.of_card(db, run.card_id)
        if snapshot is not None:
            apply.apply(db, policy, spread(snapshot, event), now=now)


def _spread_access(
    db: Connection, policy: Policy, event: AccessLost | AccessRegained | RepositoryMoved, now: datetime
) -> None:
    """Let a change of access reach the cards that it concerns.

    Of a whole organisation these are the cards with a live run, and those that are blocked: what is out of
    reach cannot be told on every card, and need not be.
    """
    target = event.after if isinstance(event, RepositoryMoved) else event.target
    if "/" in target:
        concerned = [card.card_id for card in placements.cards_in(db, target)]
    else:
        live = [run.card_id for run in (*runs.held(db, event.board_id), *runs.parked(db))]
        concerned = [*live, *card_queries.in_state(db, event.board_id, CardState.BLOCKED)]
    for card_id in dict.fromkeys(concerned):
        snapshot = snapshots.of_card(db, card_id)
        if snapshot is not None and snapshot.board_id == event.board_id:
            apply.apply(db, policy, access.spread(policy, snapshot), now=now)


def _spread_columns(db: Connection, policy: Policy, board_id: BoardId, now: datetime) -> None:
    """Let the cards whose column is of another kind now say how they stand; it starts nothing."""
    board = boards.get(db, board_id)
    served = (one.name for one in (board.columns if board else ()) if policy.column(one.name))
    legal = {name: CARD_STATES[policy.archetype(name)] for name in served}
    for card_id in card_queries.out_of_place(db, board_id, legal, MAX_TOLD):
        snapshot = snapshots.of_card(db, card_id)
        if snapshot is not None and not snapshot.foreign:
            apply.apply(db, policy, settle(policy, snapshot), now=now)


def _frees(event: Event) -> bool:
    """Tell whether the event may let other cards go on, or hold them back again."""
    if isinstance(event, CardStateChanged):
        return CardState.DONE in (event.before, event.after)
    return isinstance(event, IssueClosed | IssueReopened)


def _tell_dependents(db: Connection, card_id: CardId, now: datetime) -> None:
    """Let the cards say what they wait for now; whether one may start, the dispatch asks the views anyway."""
    card = cards.get(db, card_id)
    if card is None or card.repository is None or card.number is None:
        return
    for dependent in run_queue.queued_dependents(db, card.repository, card.number, MAX_TOLD):
        snapshot = snapshots.of_card(db, dependent)
        if snapshot is not None:
            policy = policies.in_force(db, snapshot.board_id)
            apply.apply(db, policy, told(policy, snapshot), now=now)


def _about(db: Connection, event: Event) -> tuple[CardId | None, BoardId | None]:
    match event:
        case BoardEvent():
            return None, event.board_id
        case CardEvent():
            card_id = event.card_id
        case RunEvent():
            run = runs.get(db, event.run_id)
            if run is None:
                return None, None
            card_id = run.card_id
        case _:
            return None, None
    card = cards.get(db, card_id)
    return (card_id, card.board_id) if card else (None, None)
