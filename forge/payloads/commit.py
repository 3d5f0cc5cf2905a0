"""Commits, refs, diffs and pushes as GitHub writes them."""

from datetime import UTC
from typing import Any

from forge.clock import rfc3339
from forge.git.merging import commits_between, list_changed_files
from forge.git.repository import ZERO_SHA, Commit, FileChange, Git, Signature
from forge.payloads.account import user_or_none
from forge.payloads.view import Json, View, attributes
from forge.store.models import Repo, User

MAX_PUSH_COMMITS = 2048  # docs.github.com/webhooks/webhook-events-and-payloads#push


def account_of(view: View, signature: Signature) -> User | None:
    """Return the account with the address of a signature; `None` when there is none."""
    wanted = signature.email.casefold()
    return next((account for account in view.store.users.all() if account.email.casefold() == wanted), None)


def commit(view: View, repo: Repo, commit: Commit) -> Json:
    """Return a `commit` without its files."""
    url = view.repo_api(repo, f"/commits/{commit.sha}")
    return {
        "url": url,
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "html_url": view.repo_html(repo, f"/commit/{commit.sha}"),
        "comments_url": f"{url}/comments",
        "commit": _git_commit(view, repo, commit),
        "author": user_or_none(view, account_of(view, commit.author)),
        "committer": user_or_none(view, account_of(view, commit.committer)),
        "parents": _parents(view, repo, commit, "/commits"),
    }


def _parents(view: View, repo: Repo, commit: Commit, resource: str) -> list[Json]:
    return [
        {
            "sha": parent,
            "url": view.repo_api(repo, f"{resource}/{parent}"),
            "html_url": view.repo_html(repo, f"/commit/{parent}"),
        }
        for parent in commit.parents
    ]


def _git_commit(view: View, repo: Repo, commit: Commit) -> Json:
    return {
        "url": view.repo_api(repo, f"/git/commits/{commit.sha}"),
        "author": _signature(commit.author),
        "committer": _signature(commit.committer),
        "message": commit.message,
        "comment_count": 0,
        "tree": {"sha": commit.tree, "url": view.repo_api(repo, f"/git/trees/{commit.tree}")},
        "verification": _verification(view, repo, commit),
    }


def plain_commit(view: View, repo: Repo, commit: Commit) -> Json:
    """Return a `git-commit`."""
    shown = _git_commit(view, repo, commit)
    del shown["comment_count"]
    return {
        **shown,
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "html_url": view.repo_html(repo, f"/commit/{commit.sha}"),
        "parents": _parents(view, repo, commit, "/git/commits"),
    }


def _verification(view: View, repo: Repo, commit: Commit) -> Json:
    reason = commit.verification
    signed = None if reason == "unsigned" else view.store.repos.git(repo).signature(commit.sha)
    signature, payload = signed or (None, None)
    at = rfc3339(commit.committer.date) if reason == "valid" else None
    return {
        "verified": reason == "valid",
        "reason": reason,
        "signature": signature,
        "payload": payload,
        "verified_at": at,
    }


def _signature(signature: Signature) -> Json:
    return attributes(signature, "name", "email", "date")


def file_commit(view: View, repo: Repo, commit: Commit) -> Json:
    """Return the commit of a `file-commit`."""
    answer: Json = {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "html_url": view.repo_html(repo, f"/commit/{commit.sha}"),
        "parents": _parents(view, repo, commit, "/git/commits"),
        **_git_commit(view, repo, commit),
    }
    del answer["comment_count"]
    return answer


def file_change(view: View, repo: Repo, sha: str, change: FileChange) -> Json:
    """Return a `diff-entry` of the tree at `sha`."""
    answer: Json = {
        "sha": change.blob,
        "filename": change.path,
        **attributes(change, "status", "additions", "deletions"),
        "changes": change.additions + change.deletions,
        "blob_url": view.repo_html(repo, f"/blob/{sha}/{change.path}"),
        "raw_url": view.repo_html(repo, f"/raw/{sha}/{change.path}"),
        "contents_url": view.repo_api(repo, f"/contents/{change.path}?ref={sha}"),
    }
    if change.patch:
        answer["patch"] = change.patch
    if change.previous_path is not None:
        answer["previous_filename"] = change.previous_path
    return answer


def git_ref(view: View, repo: Repo, ref: str, sha: str) -> Json:
    """Return a `git-ref`."""
    return {
        "ref": ref,
        "node_id": f"REF_{repo.id}_{ref}",
        "url": view.repo_api(repo, f"/git/{ref}"),
        "object": {"sha": sha, "type": "commit", "url": view.repo_api(repo, f"/git/commits/{sha}")},
    }


def branch(view: View, repo: Repo, name: str, sha: str) -> Json:
    """Return a `short-branch`."""
    url = view.repo_api(repo, f"/commits/{sha}")
    return {"name": name, "commit": {"sha": sha, "url": url}, "protected": name in repo.protected}


def push(view: View, repo: Repo, actor: User, moved: dict[str, Any]) -> Json:
    """Return the fields that only a `push` has; `moved` has ref, before, after and forced."""
    git = view.store.repos.git(repo)
    before, after = moved["before"], moved["after"]
    commits = _list_pushed(git, repo, moved)
    entries = [_push_commit(view, repo, git, commit) for commit in commits]
    head = None if after == ZERO_SHA else _push_commit(view, repo, git, git.commit(after))
    return {
        **moved,
        "created": before == ZERO_SHA,
        "deleted": after == ZERO_SHA,
        "base_ref": None,
        "compare": view.repo_html(repo, f"/compare/{before[:12]}...{after[:12]}"),
        "commits": entries,
        "head_commit": head,
        "pusher": {"name": actor.login, "email": actor.email},
    }


def simple_commit(git: Git, sha: str) -> Json:
    """Return a `simple-commit`."""
    commit = git.commit(sha)
    return {
        **_encode_commit(commit),
        "author": attributes(commit.author, "name", "email"),
        "committer": attributes(commit.committer, "name", "email"),
    }


def _encode_commit(commit: Commit) -> Json:
    moment = commit.committer.date.astimezone(UTC).isoformat()
    return {"id": commit.sha, "tree_id": commit.tree, "message": commit.message, "timestamp": moment}


def _list_pushed(git: Git, repo: Repo, moved: dict[str, Any]) -> list[Commit]:
    before, after = moved["before"], moved["after"]
    if after == ZERO_SHA:
        return []
    if before != ZERO_SHA:
        return commits_between(git, before, after)[:MAX_PUSH_COMMITS]
    default = git.refs().get(f"refs/heads/{repo.default_branch}")
    if default is None or default == after:
        return [git.commit(after)]
    return commits_between(git, default, after)[:MAX_PUSH_COMMITS]


def _push_commit(view: View, repo: Repo, git: Git, commit: Commit) -> Json:
    parent = commit.parents[0] if commit.parents else None
    files = list_changed_files(git, parent, commit.sha, from_merge_base=False) if parent else []
    by_status = {
        key: [file.path for file in files if file.status in statuses]
        for key, statuses in (
            ("added", {"added", "copied", "renamed"}),
            ("removed", {"removed"}),
            ("modified", {"modified", "changed"}),
        )
    }
    return {
        **_encode_commit(commit),
        "distinct": True,
        "url": view.repo_html(repo, f"/commit/{commit.sha}"),
        "author": _person(view, commit.author),
        "committer": _person(view, commit.committer),
        **by_status,
    }


def _person(view: View, signature: Signature) -> Json:
    account = account_of(view, signature)
    return {**_signature(signature), **({"username": account.login} if account else {})}
