"""Makes the issue and the card of a schedule's time."""

from bot.github.client import repository_path
from bot.outbox.contract import Act, ActResult, GivenUpError, OutboxContext
from bot.outbox.new_cards import put_on_board
from bot.outbox.posting import made_before
from bot.render.markdown.marker import digest_of, mark
from ledger.events.schedule import ScheduledCardMade
from ledger.ids import BoardId
from ledger.queue.outbox import Entry
from rules.intents.outbound import CreateScheduledCard

# One card per due time of a schedule.
ACT = Act("{key}")
MAX_PAGES = 3  # of 100 issues each, that were changed since the entry was made


def carry_out(context: OutboxContext, intent: CreateScheduledCard, entry: Entry) -> ActResult:
    """Make the issue and put it on the board; the marker finds an earlier attempt's issue."""
    repository = intent.repository or context.board.home_repository
    if repository.partition("/")[0].casefold() != context.board.owner.casefold():
        raise GivenUpError(f"{repository} is not at {context.board.owner}: correct `schedule:` in the policy")
    path = f"{repository_path(repository)}/issues"
    text = f"{intent.body}\n\n_Made by the schedule {intent.schedule}._".strip()
    left = made_before(context.hub, path, entry, params={"state": "all"}, most=MAX_PAGES)
    made, _ = next(left, (None, None)) if entry.attempts > 1 else (None, None)
    if made is None:
        body = {"title": intent.title, "body": mark(text, entry.key), "labels": list(intent.labels)}
        made = context.hub.rest("POST", path, body=body).body
    board_id, number = BoardId(intent.card_id), int(made["number"])
    put_on_board(context, board_id, str(made["node_id"]), intent.column)
    done = ScheduledCardMade(board_id, intent.schedule, intent.due_at, repository, number)
    return ActResult(str(number), digest_of(text), lambda _: (done,))
