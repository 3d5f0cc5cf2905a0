"""Writes the consequence of a drag into each column's description, if it differs."""

from bot.github.api import projects
from bot.outbox.contract import Act, ActResult
from bot.render.markdown.marker import text_digest
from bot.state.outbox_context import OutboxContext
from ledger.ids import BoardId
from ledger.queue.outbox import Entry
from ledger.views import boards
from rules.card.column_actions import UNSERVED, consequence
from rules.intents.outbound import DescribeColumns

# Each board has one set of columns.
ACT = Act("columns:{card_id}", priority=2, coalesce=True, wait_s=2.0)


def carry_out(context: OutboxContext, intent: DescribeColumns, _entry: Entry) -> ActResult:
    """Describe the policy's columns; others keep people's texts, but lose Cardinal's."""
    board_id = BoardId(intent.card_id)
    with context.reading() as db:
        board = boards.get(db, board_id)
    if board is None:
        return ActResult()
    policy = context.policy(board_id)
    ours = {UNSERVED, *(consequence(column) for column in policy.board.columns.values())}
    wanted = {}
    for column in board.columns:
        column_policy = policy.column(column.name)
        if column_policy is not None:
            wanted[column.name] = consequence(column_policy)
        elif column.description in ours:  # the column was served before somebody renamed it
            wanted[column.name] = UNSERVED
    projects.describe_columns(context.hub, board.status_field_id, wanted)
    return ActResult(
        board.status_field_id, text_digest("\n".join(f"{k}: {v}" for k, v in sorted(wanted.items())))
    )
