"""Chooses an option of a project field that is empty, as a rule's model answered."""

from bot.github.api import projects
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.targets import read_row
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.views import boards
from rules.intents.rule_results import FillField
from rules.text import code

# Once per `about`.
ACT = Act("field:{card_id}:{about}", ordered=True)
SINGLE_SELECT = "SINGLE_SELECT"


def carry_out(context: OutboxContext, intent: FillField, _entry: Entry) -> ActResult:
    """Choose the option, unless somebody chose one; raises GivenUpError without such a field or option."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        board = boards.get(db, card.board_id)
    if board is None or card.archived:
        return ActResult()
    # Read now: fields and options that people make on the board are no news to Cardinal.
    fields = projects.read_board(context.hub, board.owner, board.number).fields
    field_id = next(
        (it.field_id for it in fields if it.name == intent.field and it.kind == SINGLE_SELECT), None
    )
    if field_id is None:
        raise GivenUpError(f"the project has no single-select field {code(intent.field)}: make it there")
    options = projects.options_of(context.hub, field_id)
    if intent.option not in options:
        raise GivenUpError(
            f"the field {code(intent.field)} has no option {code(intent.option)}: add it in the project, or"
            " take it out of `options` of the rule"
        )
    if not projects.option_of_card(context.hub, card.card_id, intent.field):
        projects.move_card(context.hub, board.board_id, card.card_id, field_id, options[intent.option])
    return ActResult(card.card_id)
