"""Repositories: themselves, their collaborators, branches, refs, files, commits."""

import base64
import binascii
import hashlib

from flask import Response, request
from flask.typing import ResponseReturnValue

from forge.errors import ConflictError, ForbiddenError, NotFoundError, UnprocessableError
from forge.git.merging import ahead_behind, commits_between, diff, list_changed_files, merge_base
from forge.git.repository import Git
from forge.git.rulesets import WORKFLOWS
from forge.payloads import account, commit
from forge.payloads.view import Json
from forge.rest.access import may_change_workflows
from forge.rest.context import (
    RepositoryRoutes,
    actor,
    answer_page,
    body,
    caller,
    require_text,
    require_texts,
    store,
    view,
)
from forge.store.base import existing
from forge.store.models import Repo, Role, UserType

# GitHub lists a submodule as a file. Source: docs.github.com/rest/repos/contents#get-repository-content.
_KINDS = {"tree": "dir", "link": "symlink"}
blueprint = RepositoryRoutes("repos")


@blueprint.on("GET", "", "metadata")
def show_repository(repo: Repo) -> ResponseReturnValue:
    user = caller().user
    role = Role.READ if user is None else store().repos.role_of(repo, user)
    return account.full_repository(view(), repo, role)


@blueprint.on("GET", "/collaborators/<login>/permission", "metadata", Role.WRITE)
def collaborator_permission(repo: Repo, login: str) -> ResponseReturnValue:
    """Answer with a person's permission; maintain reads as write and triage as read, `role_name` is exact."""
    user = store().users.get(login)
    # A bot has no role there, not even in a public repository: its App has permissions.
    is_bot = user.type is UserType.BOT
    role = Role.NONE if is_bot else store().repos.role_of(repo, user)
    permission = {Role.MAINTAIN: "write", Role.TRIAGE: "read"}.get(role, role.value)
    shown = {
        **account.user(view(), user),
        "role_name": role.value,
        "permissions": account.permissions(role),
    }
    return {"permission": permission, "role_name": role.value, "user": shown}


@blueprint.on("GET", "/branches", "contents")
def list_branches(repo: Repo) -> ResponseReturnValue:
    branches = store().repos.git(repo).branches()
    return answer_page(sorted(branches), lambda here, name: commit.branch(here, repo, name, branches[name]))


@blueprint.on("GET", "/branches/<path:branch>", "contents")
def show_branch(repo: Repo, branch: str) -> ResponseReturnValue:
    git = store().repos.git(repo)
    sha = existing(git.branches().get(branch), "Branch not found")
    url = view().repo_api(repo, f"/branches/{branch}")
    required = list(repo.required_checks.get(branch, ()))
    protection = {
        "enabled": branch in repo.protected or bool(required),
        "required_status_checks": {
            "enforcement_level": "non_admins" if required else "off",
            "contexts": required,
            "checks": [{"context": name, "app_id": None} for name in required],
        },
    }
    return {
        **commit.branch(view(), repo, branch, sha),
        "commit": commit.commit(view(), repo, git.commit(sha)),
        "_links": {"self": url, "html": view().repo_html(repo, f"/tree/{branch}")},
        "protection": protection,
        "protection_url": f"{url}/protection",
    }


@blueprint.on("GET", "/rules/branches/<path:branch>", "metadata")
def branch_rules(repo: Repo, branch: str) -> ResponseReturnValue:
    """Answer with the rules of rulesets for a branch; classic branch protection is not among them."""
    rules = repo.rules_of(branch)
    wanted = repo.ruleset_checks.get(branch, ())
    if wanted:
        parameters = {
            "strict_required_status_checks_policy": False,
            "required_status_checks": [{"context": context} for context in wanted],
        }
        rules.append({"type": "required_status_checks", "parameters": parameters})
    source = {
        "ruleset_source_type": "Repository",
        "ruleset_source": repo.full_name,
    }
    return [{"ruleset_id": 0, **rule, **source} for rule in rules]


@blueprint.on("GET", "/rulesets/<int:number>", "metadata")
def show_ruleset(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer with one ruleset, and whether the caller may bypass it."""
    pattern = existing(dict(enumerate(repo.rules, 1)).get(number))
    bypass = "always" if pattern in repo.bypassed else "never"
    return {
        "id": number,
        "name": pattern,
        "target": "branch",
        "source_type": "Repository",
        "source": repo.full_name,
        "enforcement": "active",
        "current_user_can_bypass": bypass,
        "conditions": {"ref_name": {"include": [f"refs/heads/{pattern}"], "exclude": []}},
        "rules": list(repo.rules[pattern]),
    }


@blueprint.on("GET", "/git/ref/<path:ref>", "contents")
def show_ref(repo: Repo, ref: str) -> ResponseReturnValue:
    """Answer with one ref, given without `refs/`."""
    sha = existing(store().repos.git(repo).refs().get(f"refs/{ref}"))
    return commit.git_ref(view(), repo, f"refs/{ref}", sha)


@blueprint.on("POST", "/git/refs", "contents", Role.WRITE)
def create_ref(repo: Repo) -> ResponseReturnValue:
    wanted = body()
    ref, sha = require_texts(wanted, "Reference", "ref", "sha")
    store().repos.create_ref(repo, ref, sha, actor=actor())
    return commit.git_ref(view(), repo, ref, sha), 201


@blueprint.on("POST", "/git/commits", "contents", Role.WRITE)
def create_commit(repo: Repo) -> ResponseReturnValue:
    """Make a commit of a tree that is there; one of an App that names no author is signed for it."""
    wanted = body()
    message, tree = require_texts(wanted, "Commit", "message", "tree")
    parents = [str(parent) for parent in wanted.get("parents", ())]
    named = any(wanted.get(key) for key in ("author", "committer", "signature"))
    sha = store().repos.make_commit(repo, tree, parents, message, actor=actor(), signed=not named)
    return commit.plain_commit(view(), repo, store().repos.git(repo).commit(sha)), 201


@blueprint.on("PATCH", "/git/refs/<path:ref>", "contents", Role.WRITE)
def update_ref(repo: Repo, ref: str) -> ResponseReturnValue:
    sha = require_text(body(), "sha", "Reference")
    store().repos.move_ref(repo, f"refs/{ref}", sha, force=bool(body().get("force")), actor=actor())
    return commit.git_ref(view(), repo, f"refs/{ref}", sha)


@blueprint.on("DELETE", "/git/refs/<path:ref>", "contents", Role.WRITE)
def delete_ref(repo: Repo, ref: str) -> ResponseReturnValue:
    store().repos.delete_ref(repo, f"refs/{ref}", actor=actor())
    return "", 204


@blueprint.on("GET", "/commits", "contents")
def list_commits(repo: Repo) -> ResponseReturnValue:
    """Answer with the commits of a branch, newest first."""
    git = store().repos.git(repo)
    if not git.refs():
        raise ConflictError("Git Repository is empty.")
    sha = store().repos.commit_of(repo, request.args.get("sha"))
    return answer_page(git.log(sha), lambda here, entry: commit.commit(here, repo, entry))


@blueprint.on("GET", "/commits/<path:ref>", "contents")
def show_commit(repo: Repo, ref: str) -> ResponseReturnValue:
    git = store().repos.git(repo)
    sha = git.resolve(ref)
    if sha is None:
        raise UnprocessableError(f"No commit found for SHA: {ref}")
    shown = git.commit(sha)
    files = list_changed_files(git, shown.parents[0], sha, from_merge_base=False) if shown.parents else []
    added, removed = sum(file.additions for file in files), sum(file.deletions for file in files)
    return {
        **commit.commit(view(), repo, shown),
        "stats": {"additions": added, "deletions": removed, "total": added + removed},
        "files": [commit.file_change(view(), repo, sha, file) for file in files],
    }


@blueprint.on("GET", "/compare/<path:span>", "contents")
def compare(repo: Repo, span: str) -> ResponseReturnValue:
    """Answer with the changes of `head` against `base`, as JSON or as a diff."""
    git = store().repos.git(repo)
    base_name, dots, head_name = span.partition("...")
    base, head = git.resolve(base_name.split(":")[-1]), git.resolve(head_name.split(":")[-1])
    if not dots or base is None or head is None:
        raise NotFoundError()
    if "diff" in request.headers.get("Accept", ""):
        return Response(diff(git, base, head), content_type="application/vnd.github.diff; charset=utf-8")
    return _comparison(repo, git, base, head)


def _comparison(repo: Repo, git: Git, base: str, head: str) -> Json:
    start = merge_base(git, base, head)
    if start is None:
        raise NotFoundError(f"No common ancestor between {base} and {head}.")
    ahead, behind = ahead_behind(git, base, head)
    status = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}.get(
        (ahead > 0, behind > 0), "identical"
    )
    page = view().repo_html(repo, f"/compare/{base}...{head}")
    return {
        "url": view().repo_api(repo, f"/compare/{base}...{head}"),
        "html_url": page,
        "permalink_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": commit.commit(view(), repo, git.commit(base)),
        "merge_base_commit": commit.commit(view(), repo, git.commit(start)),
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": [commit.commit(view(), repo, entry) for entry in commits_between(git, base, head)],
        "files": [
            commit.file_change(view(), repo, head, change) for change in list_changed_files(git, base, head)
        ],
    }


@blueprint.on("GET", "/contents/", "contents")
@blueprint.on("GET", "/contents/<path:path>", "contents")
def show_contents(repo: Repo, path: str = "") -> ResponseReturnValue:
    """Answer with a file in base64, or with the listing of a folder."""
    git = store().repos.git(repo)
    sha = store().repos.commit_of(repo, request.args.get("ref"))
    raw = git.read(sha, path) if path else None
    if raw is not None:
        if "raw" in request.headers.get("Accept", ""):
            return Response(raw, content_type="application/vnd.github.raw; charset=utf-8")
        return _file(repo, path, raw, sha, with_content=True)
    entries = git.entries(sha, path.rstrip("/"))
    if not entries:
        raise NotFoundError()
    return [_entry(repo, kind, blob, where, sha) for kind, blob, where in entries]


def _entry(repo: Repo, kind: str, blob: str, path: str, commit_sha: str) -> Json:
    shared = _file(repo, path, b"", commit_sha, with_content=False)
    return {**shared, "sha": blob, "type": _KINDS.get(kind, "file")}


def _file(repo: Repo, path: str, raw: bytes, commit_sha: str, *, with_content: bool) -> Json:
    url = view().repo_api(repo, f"/contents/{path}?ref={commit_sha}")
    blob = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
    page = view().repo_html(repo, f"/blob/{commit_sha}/{path}")
    git_url = view().repo_api(repo, f"/git/blobs/{blob}")
    entry: Json = {
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": blob,
        "size": len(raw),
        "url": url,
        "html_url": page,
        "git_url": git_url,
        "download_url": view().repo_html(repo, f"/raw/{commit_sha}/{path}"),
        "type": "file",
        "_links": {"self": url, "git": git_url, "html": page},
    }
    if with_content:
        entry |= {"content": base64.encodebytes(raw).decode(), "encoding": "base64"}
    return entry


@blueprint.on("PUT", "/contents/<path:path>", "contents", Role.WRITE)
def write_contents(repo: Repo, path: str) -> ResponseReturnValue:
    """Write a file; an existing one needs the blob's sha, and a stale sha is 409."""
    wanted = body()
    message = require_text(wanted, "message", "Content")
    branch = wanted.get("branch") or repo.default_branch
    _require_workflows(path)
    try:
        raw = base64.b64decode(require_text(wanted, "content", "Content"))
    except binascii.Error as error:
        raise UnprocessableError("content is not valid Base64") from error
    there = _check_blob(repo, branch, path, wanted.get("sha"))
    sha = store().repos.write_files(repo, branch, {path: raw}, message, actor=actor())
    made = commit.file_commit(view(), repo, store().repos.git(repo).commit(sha))
    content = _file(repo, path, raw, sha, with_content=False)
    return {"content": content, "commit": made}, 200 if there else 201


@blueprint.on("DELETE", "/contents/<path:path>", "contents", Role.WRITE)
def delete_contents(repo: Repo, path: str) -> ResponseReturnValue:
    """Delete a file; needs the blob's sha."""
    wanted = body() or request.args.to_dict()
    branch = wanted.get("branch") or repo.default_branch
    _require_workflows(path)
    if not _check_blob(repo, branch, path, wanted.get("sha")):
        raise NotFoundError()
    message = require_text(wanted, "message", "Content")
    sha = store().repos.write_files(repo, branch, {path: None}, message, actor=actor())
    made = commit.file_commit(view(), repo, store().repos.git(repo).commit(sha))
    return {"content": None, "commit": made}


def _require_workflows(path: str) -> None:
    """Refuse a token that may not change files of CI. Source: docs.github.com/rest/repos/contents."""
    if path.startswith(WORKFLOWS) and not may_change_workflows(caller()):
        raise ForbiddenError()


def _check_blob(repo: Repo, branch: str, path: str, given: str | None) -> bool:
    """Return whether the file exists; raises when `given` is not its sha."""
    git = store().repos.git(repo)
    head = git.branches().get(branch)
    if head is None and git.refs():
        raise NotFoundError(f"Branch {branch} not found")
    there = git.blob_sha(head, path) if head else None
    if there is None:
        return False
    if given is None:
        raise UnprocessableError('Invalid request.\n\n"sha" wasn\'t supplied.')
    if given != there:
        raise ConflictError(f"{path} does not match {given}")
    return True
