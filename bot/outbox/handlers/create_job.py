"""Makes the issue and the card that a program asked for."""

from bot.github.client import repository_path
from bot.outbox.contract import Act, ActResult, OutboxContext
from bot.outbox.new_cards import come_after, put_on_board
from bot.outbox.posting import made_before
from bot.render import new_issue
from bot.render.markdown.marker import digest_of, mark
from ledger.events.job import JobMade
from ledger.ids import BoardId
from ledger.queue.outbox import Entry
from rules.intents.outbound import CreateJob

# One card per request.
ACT = Act("job:{key}")
MAX_PAGES = 3  # of 100 issues each, that were changed since the entry was made


def carry_out(context: OutboxContext, intent: CreateJob, entry: Entry) -> ActResult:
    """Make the issue, let it wait for its parents, and put it on the board.

    The marker finds an earlier attempt's issue.
    """
    path = f"{repository_path(intent.repository)}/issues"
    text = new_issue.of_program(intent.body, by=intent.by, via=intent.via)
    left = made_before(context.hub, path, entry, params={"state": "all"}, most=MAX_PAGES)
    made, _ = next(left, (None, None)) if entry.attempts > 1 else (None, None)
    if made is None:
        title = new_issue.title(intent.title)
        body = {"title": title, "body": mark(text, entry.key), "labels": list(intent.labels)}
        made = context.hub.rest("POST", path, body=body).body
    board_id, number, node_id = BoardId(intent.card_id), int(made["number"]), str(made["node_id"])
    for parent in intent.parents:
        come_after(context, board_id, node_id, parent)
    card_id = put_on_board(context, board_id, node_id)
    done = JobMade(
        card_id, board_id, intent.key, intent.repository, number, intent.column, intent.skills, intent.by
    )
    return ActResult(str(number), digest_of(text), lambda _: (done,))
