"""Replies to a review thread with the agent's words and the commit, and resolves it where it is addressed."""

from bot.github.api import reviews
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import find_earlier
from bot.outbox.targets import CommentThread, pull_of, read_row, run_of
from bot.render.markdown.marker import mark, text_digest
from bot.render.pull.body import thread_reply
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.views import threads
from rules.intents.outbound import AnswerThread

# One reply of a run to each thread.
ACT = Act("thread:{run_id}:{thread_id}", ordered=True)


def carry_out(context: OutboxContext, intent: AnswerThread, entry: Entry) -> ActResult:
    """Reply, then resolve an addressed thread; a deleted thread or pull request needs neither."""
    with context.reading() as db:
        run = run_of(db, intent.run_id)
        pull = pull_of(read_row(db, run.card_id))
        thread = threads.get(db, intent.thread_id)
    if pull is None or thread is None:
        return ActResult()
    head = run.pushed_head if thread.answered_by is not None else ""
    text = thread_reply(thread.answer, run_id=run.run_id, head=head, by=run.agent)
    reply_id = _find_reply(context, pull, entry) if entry.attempts > 1 else ""
    try:
        reply_id = reply_id or _reply(context.hub, pull, intent.thread_id, mark(text, entry.key))
        if thread.answered_by is not None:
            node_id = reviews.node_of_thread(context.hub, pull.repository, pull.number, intent.thread_id)
            reviews.resolve_thread(context.hub, pull.repository, node_id)
    except NotFoundError:
        pass
    return ActResult(reply_id, text_digest(text))


def _reply(hub: Hub, pull: CommentThread, thread_id: str, body: str) -> str:
    """Post the reply and return its id. Apps may not use the replies endpoint, but `in_reply_to` of this one.

    Source: docs.github.com/rest/pulls/comments#create-a-review-comment-for-a-pull-request.
    """
    path = f"{repository_path(pull.repository)}/pulls/{pull.number}/comments"
    answer = hub.rest("POST", path, body={"body": body, "in_reply_to": int(thread_id)})
    return str(answer.body["id"])


def _find_reply(context: OutboxContext, pull: CommentThread, entry: Entry) -> str:
    """Return the id of the reply that an earlier attempt left, or empty."""
    path = f"{repository_path(pull.repository)}/pulls/{pull.number}/comments"
    found = find_earlier(context.hub, path, entry, context.clock())
    return next((str(comment["id"]) for comment, _ in found), "")
