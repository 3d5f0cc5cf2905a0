"""What concerns a whole board: its columns' descriptions, its policy file, its ticker."""

from datetime import datetime

from ledger.events.board import BoardEvent, BoardSeen
from ledger.events.policy import PolicyLoaded, PolicyRejected
from ledger.ids import CardId
from rules.intents import Decision, DescribeColumns, Intent, ReportPolicy, UpdateTicker
from rules.policy import Policy


def shaped(policy: Policy, event: BoardSeen | PolicyLoaded, now: datetime) -> Decision:
    """Write the consequence of a drag into each column, and say on the commit that its policy is in force."""
    board = CardId(event.board_id)
    commit = event.commit if isinstance(event, PolicyLoaded) else ""
    report: tuple[Intent, ...] = (ReportPolicy(board, commit),) if commit else ()
    return Decision((DescribeColumns(board), *report))


def rejected(policy: Policy, event: PolicyRejected, now: datetime) -> Decision:
    """Say on the commit what is wrong with its policy; the last good one stays in force."""
    report: tuple[Intent, ...] = (ReportPolicy(CardId(event.board_id), event.commit),) if event.commit else ()
    return Decision(report, event.problems)


def ticked(policy: Policy, event: BoardEvent, now: datetime) -> Decision:
    """Bring the board's status up to date."""
    return Decision((UpdateTicker(CardId(event.board_id)),))
