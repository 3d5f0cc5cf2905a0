"""New issues put on their board."""

from bot.github.api import projects
from bot.outbox.contract import OutboxContext
from ledger.ids import BoardId, CardId
from ledger.views import boards


def put_on_board(context: OutboxContext, board_id: BoardId, issue_id: str, column: str = "") -> CardId:
    """Put the issue of that node id on the board, into `column`; without it into the first inbox, if any.

    Returns its card.
    """
    card_id = projects.add_card(context.hub, board_id, issue_id)
    with context.reading() as db:
        known = boards.get(db, board_id)
    if known is None:
        return card_id
    policy = context.policy(board_id)
    for option in known.columns:
        takes = policy.column(option.name) and policy.archetype(option.name).TAKES_NEW_CARDS
        if option.name.casefold() == column.casefold() if column else takes:
            projects.move_card(context.hub, board_id, card_id, known.status_field_id, option.option_id)
            break
    return card_id
