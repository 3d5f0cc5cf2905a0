"""Events of a whole board: its columns' descriptions, its policy file, its ticker."""

from datetime import datetime

from ledger.events.access import AccessLost, AccessRegained, RepositoryMoved
from ledger.events.board import (
    BoardEvent,
    BoardHalted,
    BoardSeen,
    ColumnsChanged,
    DiskWasFull,
    HaltLifted,
    StatusFound,
    StatusLost,
    StopLifted,
    StopOrdered,
    WorkStalled,
)
from ledger.events.policy import PolicyLoaded, PolicyProposed, PolicyRejected
from ledger.ids import CardId
from rules.answers import answers
from rules.intents.outbound import (
    Decision,
    DescribeColumns,
    Intent,
    PreviewPolicy,
    ReportPolicy,
    UpdateTicker,
)
from rules.policy.model import Policy


@answers(BoardSeen)
def describe_drags(policy: Policy, event: BoardSeen, now: datetime) -> Decision:
    return Decision((DescribeColumns(CardId(event.board_id)),))


@answers(PolicyLoaded)
def apply_policy(policy: Policy, event: PolicyLoaded, now: datetime) -> Decision:
    """Describe the columns anew, report on the policy's commit, and update a status that waited for it."""
    board = CardId(event.board_id)
    report: tuple[Intent, ...] = (ReportPolicy(board, event.commit),) if event.commit else ()
    return Decision((DescribeColumns(board), UpdateTicker(board), *report))


@answers(PolicyRejected)
def report_rejection(policy: Policy, event: PolicyRejected, now: datetime) -> Decision:
    """Report the policy's problems on its commit; the last good policy stays in force."""
    report: tuple[Intent, ...] = (ReportPolicy(CardId(event.board_id), event.commit),) if event.commit else ()
    return Decision(report, event.problems)


@answers(PolicyProposed)
def report_proposal(policy: Policy, event: PolicyProposed, now: datetime) -> Decision:
    """Report on a branch's commit the changes by its policy file."""
    return Decision((PreviewPolicy(CardId(event.board_id), event.commit),))


@answers(ColumnsChanged, StatusLost, StatusFound, StopOrdered, StopLifted, BoardHalted, HaltLifted)
@answers(WorkStalled, DiskWasFull, AccessLost, AccessRegained, RepositoryMoved)
def update_ticker(policy: Policy, event: BoardEvent, now: datetime) -> Decision:
    """Bring the board's status up to date."""
    return Decision((UpdateTicker(CardId(event.board_id)),))
