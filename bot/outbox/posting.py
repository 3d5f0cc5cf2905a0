"""Comments of Cardinal's own: posted once, found again by their marker, edited in place."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bot.github.client import repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult
from bot.outbox.targets import Talk
from bot.render.markdown.marker import Marker, digest_of, mark, marker_of
from ledger.ids import CardId, EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import remotes
from ledger.views.remotes import RemoteRow

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

MAX_PAGES = 10  # of 100 comments each
CLOCK_SLACK = timedelta(minutes=10)  # between GitHub's clock and ours


def publish(
    hub: "Hub", context: "OutboxContext", entry: Entry, talk: Talk, text: str, *, unticks: bool = False
) -> ActResult:
    """Post `text` under the entry's key, or bring the comment that carries it up to date.

    A second attempt looks for its own marker first, because the first may have died after GitHub accepted it.
    With `unticks` a comment that should say the same is read again: somebody may have ticked a box in it.
    """
    digest, body = digest_of(text), mark(text, entry.key)
    known = last_of(context, entry.key)
    if known is None and entry.attempts > 1:
        known = _adopt(hub, talk, entry)
    if known is not None and _bring_up_to_date(hub, talk.repository, known, digest, body, reads=unticks):
        return ActResult(known.remote_id, digest)
    path = f"{repository_path(talk.repository)}/issues/{talk.number}/comments"
    answer = hub.rest("POST", path, body={"body": body})
    return ActResult(str(answer.body["id"]), digest)


def _bring_up_to_date(
    hub: "Hub", repository: str, known: RemoteRow, digest: str, body: str, *, reads: bool
) -> bool:
    """Edit the comment where it differs; False when somebody deleted it."""
    if known.digest == digest:
        if not reads:
            return True
        try:
            path = f"{repository_path(repository)}/issues/comments/{known.remote_id}"
            there = str(hub.rest("GET", path).body["body"]).replace("\r\n", "\n")
        except NotFoundError:
            return False
        if there.strip() == body.strip():
            return True
    return _edit(hub, repository, known.remote_id, body)


def settle(hub: "Hub", context: "OutboxContext", key: EntryKey, repository: str, text: str) -> ActResult:
    """Edit the comment posted under `key`; one that was never posted or is gone needs nothing."""
    known = last_of(context, key)
    digest = digest_of(text)
    if known is None or not known.remote_id:
        return ActResult("", digest)
    if known.digest != digest:
        _edit(hub, repository, known.remote_id, mark(text, key))
    return ActResult(known.remote_id, digest)


def last_of(context: "OutboxContext", key: EntryKey) -> RemoteRow | None:
    """Return what was last published under `key`."""
    with event_store.reading(context.engine) as db:
        return remotes.get(db, key)


def _edit(hub: "Hub", repository: str, comment_id: str, body: str) -> bool:
    """Edit the comment; False when somebody deleted it."""
    try:
        hub.rest("PATCH", f"{repository_path(repository)}/issues/comments/{comment_id}", body={"body": body})
    except NotFoundError:
        return False
    return True


def _adopt(hub: "Hub", talk: Talk, entry: Entry) -> RemoteRow | None:
    """Return the comment that an earlier attempt left, by its marker and the App's own bot id."""
    for comment_id, marker in _own_comments(hub, talk, since=entry.created_at - CLOCK_SLACK):
        if marker.key == entry.key:
            card_id = CardId(entry.card_id)
            return RemoteRow(entry.key, card_id, entry.act, str(comment_id), marker.digest, entry.created_at)
    return None


def _own_comments(hub: "Hub", talk: Talk, *, since: datetime) -> Iterator[tuple[int, Marker]]:
    """Yield ids and markers of our comments changed after `since`, oldest first.

    Source: docs.github.com/rest/issues/comments#list-issue-comments (`since`; ordered by ascending id).
    """
    params = {"since": since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    path = f"{repository_path(talk.repository)}/issues/{talk.number}/comments"
    for comment in hub.pages(path, params=params, most=MAX_PAGES):
        marker = own_marker(hub, comment)
        if marker is not None:
            yield comment["id"], marker


def own_marker(hub: "Hub", comment: Mapping[str, Any]) -> Marker | None:
    """Return the marker of a comment that the App itself wrote, else None."""
    marker = marker_of(comment["body"] or "")
    return marker if marker is not None and (comment["user"] or {}).get("id") == hub.bot_id else None
