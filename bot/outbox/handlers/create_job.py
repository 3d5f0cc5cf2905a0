"""Makes the issue and the card that a program asked for."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.new_cards import make_issue, put_on_board, wait_for
from bot.outbox.targets import CommentThread
from bot.render import new_issue
from bot.render.markdown.marker import text_digest
from bot.state.outbox_context import OutboxContext
from ledger.events.job import JobMade
from ledger.ids import BoardId
from ledger.queue.outbox import Entry
from rules.intents.outbound import CreateJob

# One card per request.
ACT = Act("job:{key}")


def carry_out(context: OutboxContext, intent: CreateJob, entry: Entry) -> ActResult:
    """Make the issue, let it wait for its parents, and put it on the board."""
    text = new_issue.of_program(intent.body, by=intent.by, via=intent.via)
    title, labels = new_issue.title(intent.title), intent.labels
    number, node_id = make_issue(context, entry, intent.repository, title, text, labels=labels)
    board_id = BoardId(intent.card_id)
    thread = CommentThread(intent.repository, number)
    column = (
        intent.column if wait_for(context, entry, board_id, thread, node_id, parents=intent.parents) else ""
    )
    card_id = put_on_board(context, board_id, node_id)
    event = JobMade(
        card_id=card_id,
        board_id=board_id,
        key=intent.key,
        repository=intent.repository,
        number=number,
        column=column,
        skills=intent.skills,
        by=intent.by,
    )
    return ActResult(str(number), text_digest(text), lambda _: (event,))
