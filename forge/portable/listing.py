"""What `cardinal try --move-to` carries over: cards, what was said about them, branches; as one JSON file."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from forge.portable.saved import SavedForge, StateError
from forge.seed.world import World
from forge.store import Store
from forge.store.board import Item
from forge.store.models import Issue, Pull, Repo, User, UserType

FILE = "cards.json"
WORK = "cardinal/"


def write(root: Path, target: Path) -> None:
    """Write what the forge at `root` has into the folder `target`. Raises StateError, GitError."""
    opened = SavedForge(root).read()
    if opened is None:
        raise StateError("the board was never started")
    (target / FILE).write_text(json.dumps(listing(*opened[:2])), encoding="utf-8")


def listing(store: Store, world: World) -> dict[str, Any]:
    """Return the board's name among all boards, its cards without the archived ones, and its branches."""
    project = world.project
    name = f"{project.node_id} {project.created_at.isoformat()} {project.creator.login}"
    cards = [
        item for item in project.items if item.archived_at is None and not isinstance(item.content, Pull)
    ]
    branches = {
        repo.name: {ref: sha for ref, sha in store.repos.git(repo).branches().items() if ref.startswith(WORK)}
        for repo in store.repos.all()
    }
    return {
        "board": hashlib.sha256(name.encode()).hexdigest()[:16],
        "cards": [_card(item, cards) for item in sorted(cards, key=lambda item: item.created_at)],
        "branches": branches,
    }


def _card(item: Item, cards: Sequence[Item]) -> dict[str, Any]:
    content, column = item.content, item.column()
    assert not isinstance(content, Pull)
    issue = content if isinstance(content, Issue) else None
    author = issue.author if issue else item.creator
    return {
        "card": item.node_id,
        "column": column.name if column else "",
        "repository": issue.repo.name if issue else "",
        "number": issue.number if issue else 0,
        "title": content.title,
        "body": content.body or "",
        "labels": [label.name for label in issue.labels] if issue else [],
        "closed": (issue.state_reason or "completed") if issue and issue.state == "closed" else "",
        "is_assigned": any(user.type is UserType.USER for user in issue.assignees) if issue else False,
        "sub_issues": _cards_of(issue.sub_issues, cards) if issue else [],
        "blocked_by": _cards_of(issue.blocked_by, cards) if issue else [],
        **_who(author, content.created_at),
        "remarks": sorted(_remarks(issue), key=lambda remark: str(remark["at"])) if issue else [],
    }


def _cards_of(issues: Sequence[Issue], cards: Sequence[Item]) -> list[str]:
    return [item.node_id for issue in issues for item in cards if item.content is issue]


def _remarks(issue: Issue) -> Iterator[dict[str, Any]]:
    """Yield what was said on the issue, and on pull requests of its branches."""
    talks = [issue, *(pull.issue for pull in _pulls(issue.repo, issue.number))]
    for talk in talks:
        yield from ({**_who(it.author, it.created_at), "text": it.body} for it in talk.comments)
    for pull in _pulls(issue.repo, issue.number):
        for review in pull.reviews:
            text = f"{review.state.replace('_', ' ').capitalize()}. {review.body}".strip()
            yield {**_who(review.author, review.submitted_at), "text": text}
        for thread in pull.threads:
            for said in thread.comments:
                yield {**_who(said.author, said.created_at), "text": f"{thread.path}: {said.body}"}


def _pulls(repo: Repo, number: int) -> Iterator[Pull]:
    for issue in repo.issues.values():
        if issue.pull is not None and issue.pull.head_ref.startswith(f"{WORK}{number}-"):
            yield issue.pull


def _who(author: User, at: datetime) -> dict[str, str]:
    return {"author": author.login, "at": at.isoformat()}
