"""Replies to a review thread with the agent's words and the commit, then resolves it."""

from datetime import UTC
from typing import TYPE_CHECKING

from bot.github.api import reviews
from bot.github.client import repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult
from bot.outbox.posting import CLOCK_SLACK, MAX_PAGES, own_marker
from bot.outbox.targets import Talk, card_of, pull_of, run_of
from bot.render.markdown.marker import digest_of, mark
from bot.render.pull import thread_reply
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import threads
from rules.intents.outbound import AnswerThread

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: AnswerThread) -> EntryKey:
    """Return the key: one reply of a run to each thread."""
    return EntryKey(f"thread:{intent.run_id}:{intent.thread_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: AnswerThread, entry: Entry) -> ActResult:
    """Reply, then resolve; a thread or pull request that is gone needs neither."""
    with event_store.reading(context.engine) as db:
        run = run_of(db, intent.run_id)
        pull = pull_of(card_of(db, run.card_id))
        thread = threads.get(db, intent.thread_id)
    if pull is None or thread is None:
        return ActResult("", "")
    text = thread_reply.write(thread.answer, run_id=run.run_id, head=run.pushed_head, by=run.agent)
    reply_id = _adopt(hub, pull, entry) if entry.attempts > 1 else ""
    try:
        reply_id = reply_id or _reply(hub, pull, intent.thread_id, mark(text, entry.key))
        node_id = reviews.node_of_thread(hub, pull.repository, pull.number, intent.thread_id)
        reviews.resolve_thread(hub, pull.repository, node_id)
    except NotFoundError:
        return ActResult(reply_id, digest_of(text))
    return ActResult(reply_id, digest_of(text))


def _reply(hub: "Hub", pull: Talk, thread_id: str, body: str) -> str:
    """Return the reply's id. Apps may not use the replies endpoint, but `in_reply_to` of this one.

    Source: docs.github.com/rest/pulls/comments#create-a-review-comment-for-a-pull-request.
    """
    path = f"{repository_path(pull.repository)}/pulls/{pull.number}/comments"
    answer = hub.rest("POST", path, body={"body": body, "in_reply_to": int(thread_id)})
    return str(answer.body["id"])


def _adopt(hub: "Hub", pull: Talk, entry: Entry) -> str:
    """Return the id of the reply that an earlier attempt left, or empty."""
    since = (entry.created_at - CLOCK_SLACK).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = f"{repository_path(pull.repository)}/pulls/{pull.number}/comments"
    for comment in hub.pages(path, params={"since": since}, most=MAX_PAGES):
        marker = own_marker(hub, comment)
        if marker is not None and marker.key == entry.key:
            return str(comment["id"])
    return ""
