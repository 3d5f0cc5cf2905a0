"""Cardinal's own comments: posted once, found again by their marker, edited in place, edits paced."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult, TooSoonError
from bot.outbox.handlers import MAX_RETRY_AGE
from bot.outbox.targets import CommentThread
from bot.render.markdown.marker import Marker, mark, marker_of, text_digest
from bot.state.outbox_context import OutboxContext
from bot.system.clock import CLOCK_SLACK
from ledger.ids import CardId, EntryKey
from ledger.queue.outbox import Entry
from ledger.rows.runs import RunRow
from ledger.states import RunState
from ledger.views import remotes
from ledger.views.remotes import GivenUpRow, RemoteRow

MAX_PAGES = 10  # of 100 comments each
# The longer a run takes, the rarer its progress is written: GitHub counts every edit.
SHARE_OF_CLAIM = 0.2
MAX_WAIT_S = 60.0


def publish_comment(
    context: OutboxContext,
    entry: Entry,
    thread: CommentThread,
    text: str,
    *,
    unticks: bool = False,
    reposts: bool = True,
    only_edits: bool = False,
) -> ActResult:
    """Post `text` under the entry's key, or update the comment that has this key.

    A second attempt, also one that follows a failure for good, first looks for its own marker: the first may
    have died after GitHub accepted the post.
    With `unticks` a comment with the right digest is read again: somebody may have ticked a box in it.
    Without `reposts` a comment that was deleted stays deleted; with `only_edits` none is posted.
    """
    hub, digest, body = context.hub, text_digest(text), mark(text, entry.key)
    remote = last_of(context, entry.key)
    if remote is None:
        remote = _adopt(context, thread, entry)
    if only_edits and (remote is None or not remote.remote_id):
        return ActResult("", digest)
    if remote is not None and (
        _update(hub, thread.repository, remote, digest, body, reads=unticks) or not reposts
    ):
        return ActResult(remote.remote_id, digest)
    answer = hub.rest("POST", _comments_path(thread), body={"body": body})
    return ActResult(str(answer.body["id"]), digest)


def last_of(context: OutboxContext, key: EntryKey) -> RemoteRow | None:
    with context.reading() as db:
        return remotes.get(db, key)


def failure_of(context: OutboxContext, key: EntryKey) -> GivenUpRow | None:
    """Return how the act under `key` failed for good; it may have left something on GitHub."""
    with context.reading() as db:
        return remotes.find_given_up(db, key)


def wait_for_more(context: OutboxContext, run: RunRow, last: RemoteRow) -> None:
    """Raise TooSoonError while the last edit is younger than the least wait, or a fifth of the claim."""
    began = None if run.state is RunState.QUEUED else run.claimed_at
    age_s = (context.clock() - began).total_seconds() if began else 0.0
    wait_s = min(max(context.config.progress_every_s, age_s * SHARE_OF_CLAIM), MAX_WAIT_S)
    due_at = last.at + timedelta(seconds=wait_s)
    if due_at > context.clock():
        raise TooSoonError(due_at, "only progress: the next edit can wait")


def find_earlier(
    hub: Hub,
    path: str,
    entry: Entry,
    now: datetime,
    *,
    params: Mapping[str, str] | None = None,
    most: int = MAX_PAGES,
) -> Iterator[tuple[Mapping[str, Any], Marker]]:
    """Yield the items of the listing at `path` that an earlier attempt of the entry made, with their markers.

    The listing must take `since`; `now` is by the ledger's clock.
    Source: docs.github.com/rest/issues/comments#list-issue-comments,
    docs.github.com/rest/issues/issues#list-repository-issues (`since`; ordered by ascending id).
    """
    made_at = hub.earliest(entry.created_at, now) - CLOCK_SLACK
    since = made_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for item in hub.pages(path, params={**(params or {}), "since": since}, most=most):
        marker = own_marker(hub, item)
        if marker is not None and marker.key == entry.key:
            yield item, marker


def own_marker(hub: Hub, comment: Mapping[str, Any]) -> Marker | None:
    """Return the marker of a comment that the App itself wrote, else None."""
    marker = marker_of(comment["body"] or "")
    return marker if marker is not None and (comment["user"] or {}).get("id") == hub.bot_id else None


def _adopt(context: OutboxContext, thread: CommentThread, entry: Entry) -> RemoteRow | None:
    """Return the comment that an earlier attempt left, or an earlier entry that was given up."""
    failure = failure_of(context, entry.key)
    if failure is not None:
        entry = replace(entry, created_at=min(entry.created_at, failure.at - MAX_RETRY_AGE))
    elif entry.attempts < 2:
        return None
    for comment, marker in find_earlier(context.hub, _comments_path(thread), entry, context.clock()):
        card_id = CardId(entry.card_id)
        return RemoteRow(
            key=entry.key,
            card_id=card_id,
            act=entry.act,
            remote_id=str(comment["id"]),
            digest=marker.digest,
            at=entry.created_at,
        )
    return None


def _update(hub: Hub, repository: str, remote: RemoteRow, digest: str, body: str, *, reads: bool) -> bool:
    """Edit the comment where it differs; False when somebody deleted it."""
    if remote.digest == digest:
        if not reads:
            return True
        try:
            path = f"{repository_path(repository)}/issues/comments/{remote.remote_id}"
            current = str(hub.rest("GET", path).body["body"]).replace("\r\n", "\n")
        except NotFoundError:
            return False
        if current.strip() == body.strip():
            return True
    return _edit(hub, repository, remote.remote_id, body)


def _edit(hub: Hub, repository: str, comment_id: str, body: str) -> bool:
    """Edit the comment; False when somebody deleted it."""
    try:
        hub.rest("PATCH", f"{repository_path(repository)}/issues/comments/{comment_id}", body={"body": body})
    except NotFoundError:
        return False
    return True


def _comments_path(thread: CommentThread) -> str:
    return f"{repository_path(thread.repository)}/issues/{thread.number}/comments"
