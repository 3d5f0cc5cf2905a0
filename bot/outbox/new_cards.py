"""New issues: made once, put on their board, and let wait for others."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bot.github.api import issues, projects
from bot.github.client import repository_path
from bot.github.errors import RefusedError
from bot.outbox.posting import find_earlier, publish_comment
from bot.outbox.targets import CommentThread
from bot.render.markdown.escape import code
from bot.render.markdown.marker import Marker, mark, text_digest
from bot.state.outbox_context import OutboxContext
from ledger.ids import BoardId, CardId
from ledger.model.column_names import same_column
from ledger.queue.outbox import Entry
from ledger.views import boards, cards, links

log = logging.getLogger(__name__)

MISSING = (
    "This card was to wait for {}, and GitHub has no such dependency. It moves to no column on its own: "
    "add the dependency to this issue, or drag the card to continue without it."
)
MAX_PAGES = 3  # of 100 issues each, that were changed since the entry was made


def make_issue(
    context: OutboxContext,
    entry: Entry,
    repository: str,
    title: str,
    text: str,
    *,
    labels: Sequence[str] = (),
    newest: bool = False,
) -> tuple[int, str]:
    """Return the number and the node id of the entry's issue.

    The marker finds one that an earlier attempt made. `newest`: that one gets these words, if it began with
    others.
    """
    path = f"{repository_path(repository)}/issues"
    body = {"title": title, "body": mark(text, entry.key)}
    if entry.attempts > 1 and (left := _find_left(context, entry, repository)):
        made, marker = left
        if newest and (made["title"], marker.digest) != (title, text_digest(text)):
            context.hub.rest("PATCH", f"{path}/{made['number']}", body=body)
    else:
        made = context.hub.rest("POST", path, body={**body, "labels": list(labels)}).body
    return int(made["number"]), str(made["node_id"])


def find_issue(context: OutboxContext, entry: Entry, repository: str) -> tuple[int, str] | None:
    """Return the number and the node id of the issue that has the entry's marker; None without one."""
    left = _find_left(context, entry, repository)
    return (int(left[0]["number"]), str(left[0]["node_id"])) if left else None


def _find_left(
    context: OutboxContext, entry: Entry, repository: str
) -> tuple[Mapping[str, Any], Marker] | None:
    path = f"{repository_path(repository)}/issues"
    made = find_earlier(context.hub, path, entry, context.clock(), params={"state": "all"}, most=MAX_PAGES)
    return next(made, None)


def put_on_board(context: OutboxContext, board_id: BoardId, issue_id: str, column: str = "") -> CardId:
    """Put the issue of that node id on the board, into `column`; without it into the first inbox, if any.

    Returns its card.
    """
    card_id = projects.add_card(context.hub, board_id, issue_id)
    with context.reading() as db:
        board = boards.get(db, board_id)
    if board is None:
        return card_id
    policy = context.policy(board_id)
    for option in board.columns:
        takes = policy.column(option.name) and policy.archetype(option.name).TAKES_NEW_CARDS
        if same_column(option.name, column) if column else takes:
            projects.move_card(context.hub, board_id, card_id, board.status_field_id, option.option_id)
            break
    return card_id


def wait_for(
    context: OutboxContext,
    entry: Entry,
    board_id: BoardId,
    issue: CommentThread,
    issue_id: str,
    *,
    parents: Sequence[str],
) -> bool:
    """Let the new issue be blocked by its parents.

    False where GitHub does not have each as a dependency; a comment there says so.
    """
    missing = [parent for parent in parents if not _is_blocked(context, board_id, issue_id, parent)]
    if missing:
        publish_comment(
            context, entry, issue, MISSING.format(", ".join(code(parent, 150) for parent in missing))
        )
    return not missing


def _is_blocked(context: OutboxContext, board_id: BoardId, issue_id: str, parent: str) -> bool:
    issue_ref = links.issue_ref_of(parent)
    if issue_ref is None:
        return False
    repository, number = issue_ref
    with context.reading() as db:
        there = cards.of_issue(db, cards.canonical_name(db, repository), number)
    card = next((it for it in there if it.board_id == board_id), None)
    if card is None:
        return False
    try:
        issues.add_blocked_by(context.hub, issue_id, card.content_id)
    except RefusedError as error:
        log.info("no dependency issue=%s on=%s reason=%s", issue_id, parent, error.because)
        return issues.is_blocked_by(context.hub, issue_id, card.content_id)
    return True
