"""Repositories: themselves, their collaborators, branches, refs, files, commits."""

import base64
import binascii
import hashlib

from flask import Blueprint, Response, request

from forge.errors import ConflictError, ForgeError, NotFoundError, UnprocessableError
from forge.git import Git
from forge.merging import ahead_behind, changed_files, commits_between, diff, merge_base
from forge.payloads import account, commit
from forge.payloads.view import Json
from forge.rest.context import (
    actor,
    answer,
    body,
    caller,
    needed_text,
    no_content,
    page_of,
    repo_for,
    store,
    view,
)
from forge.store.models import Repo, Role

# A submodule is listed as a file, for old programs' sake.
# Source: docs.github.com/rest/repos/contents#get-repository-content.
_KINDS = {"tree": "dir", "link": "symlink"}
blueprint = Blueprint("repos", __name__, url_prefix="/repos/<owner>/<name>")


@blueprint.get("")
def show_repository(owner: str, name: str) -> Response:
    """Answer with a repository."""
    repo = repo_for(owner, name, "metadata")
    user = caller().user
    role = Role.READ if user is None else store().repos.role_of(repo, user)
    return answer(account.full_repository(view(), repo, role))


@blueprint.get("/collaborators/<login>/permission")
def collaborator_permission(owner: str, name: str, login: str) -> Response:
    """Answer with a person's permission; maintain reads as write and triage as read, `role_name` is exact."""
    repo = repo_for(owner, name, "metadata", role=Role.WRITE)
    user = store().users.get(login)
    role = store().repos.role_of(repo, user)
    permission = {Role.MAINTAIN: "write", Role.TRIAGE: "read"}.get(role, role.value)
    shown = {
        **account.user(view(), user),
        "role_name": role.value,
        "permissions": account.full_repository(view(), repo, role)["permissions"],
    }
    return answer({"permission": permission, "role_name": role.value, "user": shown})


@blueprint.get("/branches")
def list_branches(owner: str, name: str) -> Response:
    """Answer with the branches by name."""
    repo = repo_for(owner, name, "contents")
    refs = store().repos.git(repo).refs()
    heads = {
        ref.removeprefix("refs/heads/"): sha for ref, sha in refs.items() if ref.startswith("refs/heads/")
    }
    found, links = page_of(sorted(heads))
    return answer([_branch(repo, branch, heads[branch]) for branch in found], headers=links)


def _branch(repo: Repo, branch: str, sha: str) -> Json:
    url = view().repo_api(repo, f"/commits/{sha}")
    return {"name": branch, "commit": {"sha": sha, "url": url}, "protected": branch in repo.protected}


@blueprint.get("/branches/<path:branch>")
def show_branch(owner: str, name: str, branch: str) -> Response:
    """Answer with one branch and its commit."""
    repo = repo_for(owner, name, "contents")
    git = store().repos.git(repo)
    sha = git.refs().get(f"refs/heads/{branch}")
    if sha is None:
        raise NotFoundError("Branch not found")
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
    return answer(
        {
            **_branch(repo, branch, sha),
            "commit": commit.commit(view(), repo, git.commit(sha)),
            "_links": {"self": url, "html": view().repo_html(repo, f"/tree/{branch}")},
            "protection": protection,
            "protection_url": f"{url}/protection",
        }
    )


@blueprint.get("/rules/branches/<path:branch>")
def branch_rules(owner: str, name: str, branch: str) -> Response:
    """Answer with the rules of rulesets for a branch: those about checks are all that there are."""
    repo = repo_for(owner, name, "metadata")
    wanted = repo.ruleset_checks.get(branch, ())
    parameters = {
        "strict_required_status_checks_policy": False,
        "required_status_checks": [{"context": context} for context in wanted],
    }
    rule = {
        "type": "required_status_checks",
        "parameters": parameters,
        "ruleset_source_type": "Repository",
        "ruleset_source": repo.full_name,
        "ruleset_id": repo.id,
    }
    return answer([rule] if wanted else [])


@blueprint.get("/git/ref/<path:ref>")
def show_ref(owner: str, name: str, ref: str) -> Response:
    """Answer with one ref, given without `refs/`."""
    repo = repo_for(owner, name, "contents")
    sha = store().repos.git(repo).refs().get(f"refs/{ref}")
    if sha is None:
        raise NotFoundError()
    return answer(commit.git_ref(view(), repo, f"refs/{ref}", sha))


@blueprint.get("/git/matching-refs/<path:ref>")
def matching_refs(owner: str, name: str, ref: str) -> Response:
    """Answer with the refs that begin so."""
    repo = repo_for(owner, name, "contents")
    refs = store().repos.git(repo).refs()
    return answer(
        [commit.git_ref(view(), repo, key, sha) for key, sha in refs.items() if key.startswith(f"refs/{ref}")]
    )


@blueprint.post("/git/refs")
def create_ref(owner: str, name: str) -> Response:
    """Make a branch or tag."""
    repo = repo_for(owner, name, "contents", "write", Role.WRITE)
    wanted = body()
    ref, sha = needed_text(wanted, "ref", "Reference"), needed_text(wanted, "sha", "Reference")
    store().repos.create_ref(repo, ref, sha, actor=actor())
    return answer(commit.git_ref(view(), repo, ref, sha), 201)


@blueprint.patch("/git/refs/<path:ref>")
def update_ref(owner: str, name: str, ref: str) -> Response:
    """Move a branch or tag."""
    repo = repo_for(owner, name, "contents", "write", Role.WRITE)
    sha = needed_text(body(), "sha", "Reference")
    store().repos.move_ref(repo, f"refs/{ref}", sha, force=bool(body().get("force")), actor=actor())
    return answer(commit.git_ref(view(), repo, f"refs/{ref}", sha))


@blueprint.delete("/git/refs/<path:ref>")
def delete_ref(owner: str, name: str, ref: str) -> Response:
    """Delete a branch or tag."""
    repo = repo_for(owner, name, "contents", "write", Role.WRITE)
    store().repos.delete_ref(repo, f"refs/{ref}", actor=actor())
    return no_content()


@blueprint.get("/commits")
def list_commits(owner: str, name: str) -> Response:
    """Answer with the commits of a branch, newest first."""
    repo = repo_for(owner, name, "contents")
    git = store().repos.git(repo)
    if not git.refs():
        raise ConflictError("Git Repository is empty.")
    sha = store().repos.commit_of(repo, request.args.get("sha"))
    found, links = page_of(git.log(sha))
    return answer([commit.commit(view(), repo, one) for one in found], headers=links)


@blueprint.get("/commits/<path:ref>")
def show_commit(owner: str, name: str, ref: str) -> Response:
    """Answer with one commit and its files."""
    repo = repo_for(owner, name, "contents")
    git = store().repos.git(repo)
    sha = git.resolve(ref)
    if sha is None:
        raise UnprocessableError(f"No commit found for SHA: {ref}")
    one = git.commit(sha)
    files = changed_files(git, one.parents[0], sha, from_merge_base=False) if one.parents else []
    added, removed = sum(file.additions for file in files), sum(file.deletions for file in files)
    return answer(
        {
            **commit.commit(view(), repo, one),
            "stats": {"additions": added, "deletions": removed, "total": added + removed},
            "files": [commit.file_change(view(), repo, sha, file) for file in files],
        }
    )


@blueprint.get("/compare/<path:span>")
def compare(owner: str, name: str, span: str) -> Response:
    """Answer with what `head` has over `base`, as JSON or as a diff."""
    repo = repo_for(owner, name, "contents")
    git = store().repos.git(repo)
    base_name, dots, head_name = span.partition("...")
    base, head = git.resolve(base_name.split(":")[-1]), git.resolve(head_name.split(":")[-1])
    if not dots or base is None or head is None:
        raise NotFoundError()
    if "diff" in request.headers.get("Accept", ""):
        return Response(diff(git, base, head), content_type="application/vnd.github.diff; charset=utf-8")
    return answer(_comparison(repo, git, base, head))


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
        "commits": [commit.commit(view(), repo, one) for one in commits_between(git, base, head)],
        "files": [commit.file_change(view(), repo, head, one) for one in changed_files(git, base, head)],
    }


@blueprint.get("/contents/")
@blueprint.get("/contents/<path:path>")
def show_contents(owner: str, name: str, path: str = "") -> Response:
    """Answer with a file in base64, or with the listing of a folder."""
    repo = repo_for(owner, name, "contents")
    git = store().repos.git(repo)
    sha = store().repos.commit_of(repo, request.args.get("ref"))
    raw = git.read(sha, path) if path else None
    if raw is not None:
        if "raw" in request.headers.get("Accept", ""):
            return Response(raw, content_type="application/vnd.github.raw; charset=utf-8")
        return answer(_file(repo, path, raw, sha, with_content=True))
    entries = git.entries(sha, path.rstrip("/"))
    if not entries:
        raise NotFoundError()
    return answer([_entry(repo, kind, blob, where, sha) for kind, blob, where in entries])


def _entry(repo: Repo, kind: str, blob: str, path: str, commit_sha: str) -> Json:
    shared = _file(repo, path, b"", commit_sha, with_content=False)
    return {**shared, "sha": blob, "type": _KINDS.get(kind, "file")}


def _file(repo: Repo, path: str, raw: bytes, commit_sha: str, *, with_content: bool) -> Json:
    url = view().repo_api(repo, f"/contents/{path}?ref={commit_sha}")
    blob = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
    page = view().repo_html(repo, f"/blob/{commit_sha}/{path}")
    git_url = view().repo_api(repo, f"/git/blobs/{blob}")
    found: Json = {
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
        found |= {"content": base64.encodebytes(raw).decode(), "encoding": "base64"}
    return found


@blueprint.put("/contents/<path:path>")
def write_contents(owner: str, name: str, path: str) -> Response:
    """Write a file; an existing one needs the blob's sha, and a stale sha is 409."""
    repo = repo_for(owner, name, "contents", "write", Role.WRITE)
    wanted = body()
    message = needed_text(wanted, "message", "Content")
    branch = wanted.get("branch") or repo.default_branch
    try:
        raw = base64.b64decode(needed_text(wanted, "content", "Content"))
    except binascii.Error as error:
        raise UnprocessableError("content is not valid Base64") from error
    there = _check_blob(repo, branch, path, wanted.get("sha"))
    sha = store().repos.write_files(repo, branch, {path: raw}, message, actor=actor())
    made = commit.file_commit(view(), repo, store().repos.git(repo).commit(sha))
    content = _file(repo, path, raw, sha, with_content=False)
    return answer({"content": content, "commit": made}, 200 if there else 201)


@blueprint.delete("/contents/<path:path>")
def delete_contents(owner: str, name: str, path: str) -> Response:
    """Delete a file; needs the blob's sha."""
    repo = repo_for(owner, name, "contents", "write", Role.WRITE)
    wanted = body() or request.args.to_dict()
    branch = wanted.get("branch") or repo.default_branch
    if not _check_blob(repo, branch, path, wanted.get("sha")):
        raise NotFoundError()
    message = needed_text(wanted, "message", "Content")
    sha = store().repos.write_files(repo, branch, {path: None}, message, actor=actor())
    made = commit.file_commit(view(), repo, store().repos.git(repo).commit(sha))
    return answer({"content": None, "commit": made})


def _check_blob(repo: Repo, branch: str, path: str, given: str | None) -> bool:
    """Return whether the file is there; raises when `given` is not the sha of what is there."""
    git = store().repos.git(repo)
    head = git.refs().get(f"refs/heads/{branch}")
    if head is None and git.refs():
        raise NotFoundError(f"Branch {branch} not found")
    there = git.blob_sha(head, path) if head else None
    fault: ForgeError | None = None
    if there is not None and given is None:
        fault = UnprocessableError('Invalid request.\n\n"sha" wasn\'t supplied.')
    elif there is not None and given != there:
        fault = ConflictError(f"{path} does not match {given}")
    if fault is not None:
        raise fault
    return there is not None
