"""Pull requests and branches: REST calls and their answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from bot.github.api.repositories import default_branch
from bot.github.client import PAGE, Hub, repository_path
from bot.github.errors import ConflictError, NotFoundError, RefusedError, UnavailableError
from ledger.states import PullState

WORKFLOWS = ".github/workflows/"
MAX_PAGES = 30  # GitHub lists 3,000 files: docs.github.com/rest/pulls/pulls#list-pull-requests-files
BASE_KEPT_S = 300
UNREADY = "[not ready] "  # prefix of the title where there are no drafts


@dataclass(frozen=True, slots=True)
class PullReading:
    """A pull request as GitHub has it now.

    `mergeable` is None while GitHub computes it; `merge_commit` is empty before the merge.
    """

    number: int
    node_id: str
    draft: bool
    state: PullState
    mergeable: bool | None
    head: str
    merge_commit: str
    title: str = ""
    body: str = ""
    updated_at: datetime | None = None


def read(hub: Hub, repository: str, number: int) -> PullReading:
    """Return the pull request; raises NotFoundError when it is gone."""
    return _pull_of(hub.rest("GET", f"{repository_path(repository)}/pulls/{number}").body)


def find_open(hub: Hub, repository: str, branch: str) -> PullReading | None:
    """Return the open pull request from `branch` of the same repository, or None."""
    params = {"head": f"{repository.partition('/')[0]}:{branch}", "state": "open"}
    listing = hub.rest("GET", f"{repository_path(repository)}/pulls", params=params).body
    return next((_pull_of(pull) for pull in listing if _is_of(pull, repository)), None)


@dataclass(frozen=True, slots=True)
class BranchPull:
    """A pull request from a branch of the repository itself; `author_id` is the user's who opened it."""

    pull: PullReading
    branch: str
    author_id: int


def list_changed_since(hub: Hub, repository: str, since: datetime, most: int) -> Iterator[BranchPull]:
    """Yield the pull requests that changed since then, the newest changes first, of at most so many pages.

    Source: docs.github.com/rest/pulls/pulls#list-pull-requests.
    """
    newest_first = {"state": "all", "sort": "updated", "direction": "desc"}
    for pull in hub.pages(f"{repository_path(repository)}/pulls", params=newest_first, most=most):
        if datetime.fromisoformat(pull["updated_at"]) < since:
            return
        if _is_of(pull, repository):
            author_id = int((pull.get("user") or {}).get("id") or 0)
            yield BranchPull(_pull_of(pull), str(pull["head"]["ref"]), author_id)


@dataclass(frozen=True, slots=True)
class PullCommit:
    """A commit of a pull request with its author; `is_own`: the author is the App."""

    message: str
    name: str
    email: str
    is_own: bool


def commits(hub: Hub, repository: str, number: int) -> tuple[PullCommit, ...]:
    """Return the pull request's commits, the oldest first, as many as GitHub lists.

    Source: docs.github.com/rest/pulls/pulls#list-commits-on-a-pull-request (250 at most; `author` is the
    account of the author's address, null without one).
    """
    path = f"{repository_path(repository)}/pulls/{number}/commits"
    return tuple(_commit_of(hub, it) for it in hub.pages(path, most=3))


def _commit_of(hub: Hub, it: dict[str, Any]) -> PullCommit:
    by, account = it["commit"]["author"] or {}, it["author"] or {}
    email = str(by.get("email") or "")
    is_own = account.get("id") == hub.bot_id or email.startswith(f"{hub.bot_id}+{hub.bot_login}@")
    return PullCommit(str(it["commit"]["message"]), str(by.get("name") or ""), email, is_own)


def open_draft(hub: Hub, repository: str, *, branch: str, title: str, body: str) -> PullReading:
    """Open a draft pull request into the default branch, or return the open one.

    Without drafts, UNREADY begins its title. Private repositories of some plans have no drafts; only the
    refusal tells (github.com/cli/cli, issue 520).
    """
    base = default_branch(hub, repository, for_s=BASE_KEPT_S)
    fields = {"title": title, "head": branch, "base": base, "body": body}
    path = f"{repository_path(repository)}/pulls"
    try:
        try:
            return _pull_of(hub.rest("POST", path, body={**fields, "draft": True}).body)
        except RefusedError as error:
            if "draft" not in error.because.lower():
                raise
            fields["title"] = f"{UNREADY}{title}"
            return _pull_of(hub.rest("POST", path, body={**fields, "draft": False}).body)
    except RefusedError as error:
        pull = find_open(hub, repository, branch) if "already exists" in error.because.lower() else None
        if pull is None:
            raise
        return pull


def edit(hub: Hub, repository: str, number: int, **changes: str) -> None:
    """Change the pull request's body, title or state."""
    hub.rest("PATCH", f"{repository_path(repository)}/pulls/{number}", body=changes)


def merge(hub: Hub, repository: str, number: int, *, method: str, head: str, words: dict[str, str]) -> str:
    """Merge at `head` and return the commit, also of a pull request that is merged already.

    Raises RefusedError or ConflictError with GitHub's reason, UnavailableError while GitHub computes it.
    Source: docs.github.com/rest/pulls/pulls#merge-a-pull-request (405 not mergeable, 409 the head moved).
    """
    fields = {"merge_method": method, "sha": head, **words}
    try:
        path = f"{repository_path(repository)}/pulls/{number}/merge"
        answer = hub.rest("PUT", path, body=fields, workflows=changes_workflows(hub, repository, number))
    except (RefusedError, ConflictError) as error:
        pull = read(hub, repository, number)
        if pull.state == "merged":
            return pull.merge_commit
        undecided = pull.mergeable is None or isinstance(error, ConflictError)  # the head is the right one
        if undecided and pull.state == "open" and pull.head == head:
            raise UnavailableError(error.call, error.status, error.because) from error
        raise
    return str(answer.body["sha"])


def changes_workflows(hub: Hub, repository: str, number: int) -> bool:
    """Tell whether the pull request changes files of GitHub Actions, or more files than GitHub lists."""
    seen = 0
    for file in hub.pages(f"{repository_path(repository)}/pulls/{number}/files", most=MAX_PAGES):
        paths = (file["filename"], file.get("previous_filename") or "")
        if any(path.startswith(WORKFLOWS) for path in paths):
            return True
        seen += 1
    return seen >= MAX_PAGES * PAGE


def delete_branch(hub: Hub, repository: str, branch: str) -> None:
    """Delete the branch; one that is gone counts as done."""
    try:
        hub.rest("DELETE", f"{repository_path(repository)}/git/refs/heads/{quote(branch, safe='/')}")
    except NotFoundError:
        return
    except RefusedError as error:
        if "does not exist" not in error.because.lower():
            raise


def _is_of(pull: Any, repository: str) -> bool:
    """Tell whether its branch is in the repository itself: a fork can have a branch of that name."""
    home = pull["head"].get("repo") or {}
    return str(home.get("full_name", "")).casefold() == repository.casefold()


def _state_of(pull: Any) -> PullState:
    if pull.get("merged") or pull.get("merged_at"):
        return PullState.MERGED
    return PullState.OPEN if pull["state"] == "open" else PullState.CLOSED


def _pull_of(pull: Any) -> PullReading:
    return PullReading(
        number=int(pull["number"]),
        node_id=str(pull["node_id"]),
        draft=bool(pull.get("draft")),
        state=_state_of(pull),
        mergeable=pull.get("mergeable"),
        head=str(pull["head"]["sha"]),
        merge_commit=str(pull.get("merge_commit_sha") or ""),
        title=str(pull.get("title") or ""),
        body=str(pull.get("body") or ""),
        updated_at=datetime.fromisoformat(at) if (at := pull.get("updated_at")) else None,
    )
