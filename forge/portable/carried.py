"""`python -m forge.portable.carried`: the forge's part of `cardinal export`, `import` and `try --move-to`.

Secrets stay: whoever takes a board in makes new ones. Git comes as bundles, for a repository brings hooks and
settings along that git would obey.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from forge.git.repository import GitError
from forge.portable.saved import SavedForge, StateError
from forge.portable.world import OWNER
from forge.seed.world import World
from forge.store import Store
from forge.store.authorizations import Authorizations
from forge.store.board import Item
from forge.store.deliveries import Deliveries
from forge.store.manifests import Manifests
from forge.store.models import Issue, Pull, Repo, User, UserType
from forge.store.repos import NAME

FILE = "cards.json"
WORK = "cardinal/"


def write(root: Path, target: Path) -> None:
    """Write what the forge at `root` has into the folder `target`. Raises StateError, GitError."""
    opened = SavedForge(root).read()
    if opened is None:
        raise StateError("the board was never started")
    (target / FILE).write_text(json.dumps(list_cards(*opened[:2])), encoding="utf-8")


def list_cards(store: Store, world: World) -> dict[str, Any]:
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
            for comment in thread.comments:
                yield {**_who(comment.author, comment.created_at), "text": f"{thread.path}: {comment.body}"}


def _pulls(repo: Repo, number: int) -> Iterator[Pull]:
    for issue in repo.issues.values():
        if issue.pull is not None and issue.pull.head_ref.startswith(f"{WORK}{number}-"):
            yield issue.pull


def _who(author: User, at: datetime) -> dict[str, str]:
    return {"author": author.login, "at": at.isoformat()}


FETCH = ("-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-write-fetch-head", "--no-auto-maintenance")


def give(root: Path, target: Path) -> None:
    """Write the state of the forge at `root` and its repositories into the folder `target`, without secrets.

    Raises StateError, GitError.
    """
    opened = SavedForge(root).read()
    if opened is None:
        raise StateError("the board was never started")
    store, world, _ = opened
    _forget(store)
    store.apps.renew(world.app)
    world.app.webhook_secret = world.app.client_secret = ""
    SavedForge(target).write(store, replace(world, private_key=""), {})
    (target / "git").mkdir()
    for repo in store.repos.all():
        git, bundle = store.repos.git(repo), (target / "git" / f"{repo.name}.bundle").resolve()
        if git.refs():  # git makes no empty bundle
            git.run("bundle", "create", "--quiet", str(bundle), "--all")


def take(source: Path, root: Path) -> None:
    """Make a forge at `root`, which is empty, from what `give` has written; it may be anybody's.

    Raises StateError, GitError.
    """
    try:
        store, world, _, refs = SavedForge(source).load()
        _require_sound(store, world)
        _forget(store)
        store.root = root
        for repo in store.repos.all():
            _unpack(store, repo, source / "git" / f"{repo.name}.bundle", refs[repo.full_name])
        renewed = replace(world, private_key=store.apps.renew(world.app))
        SavedForge(root).write(store, renewed, {})
    except (StateError, GitError):
        raise
    except Exception as error:  # a torn or foreign pickle raises whatever its bytes say
        raise StateError(f"{type(error).__name__}: {error}") from error


def _require_sound(store: Store, world: World) -> None:
    """Raise StateError where a name leads out of the store, or somebody else than the board's App listens."""
    if type(store) is not Store or type(world) is not World or store.apps.all() != [world.app]:
        raise StateError("it is no board of `cardinal try`")
    for repo in store.repos.all():
        known = repo.owner.login == OWNER and NAME.fullmatch(repo.name) and repo.name not in {".", ".."}
        if type(repo) is not Repo or not known:
            raise StateError("a repository in it has a name that none can have")


def _forget(store: Store) -> None:
    """Leave out tokens, sign-ins and deliveries: they are secrets, or are sent to whom they name."""
    store.authorizations, store.manifests = Authorizations(store), Manifests(store)
    store.deliveries = Deliveries(store)


def _unpack(store: Store, repo: Repo, bundle: Path, refs: dict[str, str]) -> None:
    git = store.repos.git(repo)
    git.create(repo.default_branch)
    if refs:
        git.run(*FETCH, str(bundle.resolve()), "+refs/*:refs/*")
    if git.refs() != refs:
        raise StateError(f"the branches of {repo.full_name} are not those that it names")
    for branch, reviews in list(repo.protected.items()):
        store.repos.protect(repo, branch, reviews=reviews)
    for branch in list(repo.signed_branches):
        store.repos.want_signatures(repo, branch)
    for pattern, rules in list(repo.rules.items()):
        store.repos.set_rules(repo, pattern, *rules, bypass=pattern in repo.bypassed)


def main() -> int:
    """Run `give FORGE FOLDER`, `list FORGE FOLDER` or `take FOLDER FORGE`; return the exit status."""
    verb, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    target.mkdir(mode=0o700, exist_ok=True)
    try:
        {"give": give, "list": write, "take": take}[verb](source, target)
    except (StateError, GitError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
