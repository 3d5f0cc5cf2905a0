"""The conversation of an issue or a pull request, in the order in which it happened."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from forge.pages.changes import commits_of
from forge.store import Store
from forge.store.models import Issue, Pull


class Kind(StrEnum):
    """The kinds of entries in a conversation; each has its own template."""

    COMMENT = "comment"
    COMMITS = "commits"
    REVIEW = "review"
    THREAD = "thread"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `key` never changes, so that a page can follow it."""

    kind: Kind
    key: str
    at: datetime
    subject: Any


def conversation(store: Store, issue: Issue) -> list[Entry]:
    """Return everything that happened after the opening, oldest first."""
    entries = [
        Entry(Kind.COMMENT, f"comment-{comment.id}", comment.created_at, comment)
        for comment in issue.comments
    ]
    if issue.pull is not None:
        entries += _of_pull(store, issue.pull)
    if issue.closed_at is not None:
        merged = issue.pull is not None and issue.pull.merged_at is not None
        kind = Kind.MERGED if merged else Kind.CLOSED
        entries.append(Entry(kind, f"{kind}-{issue.closed_at.timestamp()}", issue.closed_at, issue))
    return sorted(entries, key=lambda entry: entry.at)


def _of_pull(store: Store, pull: Pull) -> Iterator[Entry]:
    for commit in commits_of(store, pull):
        # git knows whole seconds of the writer's clock: a commit is never shown before the opening.
        at = max(commit.committer.date, pull.issue.created_at)
        yield Entry(Kind.COMMITS, f"commit-{commit.sha}", at, commit)
    for review in pull.reviews:
        threads = [
            thread for thread in pull.threads if thread.comments and thread.comments[0].review is review
        ]
        if review.body or threads or review.state != "COMMENTED":
            yield Entry(Kind.REVIEW, f"review-{review.id}", review.submitted_at, review)
        for thread in threads:
            yield Entry(Kind.THREAD, f"thread-{thread.id}", review.submitted_at, thread)
