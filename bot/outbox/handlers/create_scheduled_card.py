"""Makes the issue and the card of a schedule's time."""

from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.new_cards import make_issue, put_on_board
from bot.render.markdown.marker import text_digest
from bot.state.outbox_context import OutboxContext
from ledger.events.schedule import ScheduledCardMade
from ledger.ids import BoardId
from ledger.queue.outbox import Entry
from rules.intents.outbound import CreateScheduledCard

# One card per due time, or event, of a schedule.
ACT = Act("{key}")


def carry_out(context: OutboxContext, intent: CreateScheduledCard, entry: Entry) -> ActResult:
    repository = intent.repository or context.board.home_repository
    if repository.partition("/")[0].casefold() != context.board.owner.casefold():
        raise GivenUpError(f"{repository} is not at {context.board.owner}: correct `schedule:` in the policy")
    text = f"{intent.body}\n\n_Made by the schedule {intent.schedule}._".strip()
    number, node_id = make_issue(context, entry, repository, intent.title, text, labels=intent.labels)
    board_id = BoardId(intent.card_id)
    put_on_board(context, board_id, node_id, intent.column)
    event = ScheduledCardMade(
        board_id=board_id,
        schedule=intent.schedule,
        due_at=intent.due_at,
        repository=repository,
        number=number,
        event=intent.event,
    )
    return ActResult(str(number), text_digest(text), lambda _: (event,))
