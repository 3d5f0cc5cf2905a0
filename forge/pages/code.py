"""Code: branches, folders, files, commits."""

from dataclasses import dataclass

from flask import render_template
from flask.typing import ResponseReturnValue

from forge.errors import NotFoundError
from forge.git.repository import Git, GitError
from forge.pages.changes import files_of_commit
from forge.pages.site import pages
from forge.rest.context import store
from forge.store.base import existing
from forge.store.models import Repo

SHOWN_COMMITS = 10
MAX_SHOWN_BYTES = 400_000


@dataclass(frozen=True, slots=True)
class Place:
    """A path at a branch, tag or commit."""

    ref: str
    sha: str
    path: str


def place_in(git: Git, wanted: str) -> Place:
    """Return the place of `ref/path`; a ref may have slashes. Raises NotFoundError."""
    parts = wanted.split("/")
    for length in range(1, len(parts) + 1):
        ref = "/".join(parts[:length])
        sha = git.resolve(ref)
        if sha is not None:
            return Place(ref, sha, "/".join(parts[length:]))
    raise NotFoundError("There is no such branch, tag or commit.")


def readme(git: Git, place: Place) -> tuple[str, str] | None:
    """Return the name and the text of the readme in a folder; `None` without one."""
    for kind, _, path in git.entries(place.sha, place.path):
        if kind == "blob" and path.rsplit("/", 1)[-1].casefold() in {"readme.md", "readme"}:
            return path, (git.read(place.sha, path) or b"").decode(errors="replace")
    return None


def folder(repo: Repo, place: Place | None) -> ResponseReturnValue:
    """Render a folder; without a place, a repository without commits."""
    git = store().repos.git(repo)
    entries = git.entries(place.sha, place.path) if place else []
    if place is not None and place.path and not entries:
        raise NotFoundError("There is no such folder.")
    return render_template(
        "code.html",
        repo=repo,
        place=place,
        branches=list(git.branches()),
        entries=sorted(entries, key=lambda entry: (entry[0] != "tree", entry[2])),
        commits=git.log(place.sha, SHOWN_COMMITS) if place else [],
        readme=readme(git, place) if place else None,
    )


@pages.below_repo("")
def code(repo: Repo) -> ResponseReturnValue:
    sha = store().repos.git(repo).resolve(repo.default_branch)
    return folder(repo, Place(repo.default_branch, sha, "") if sha else None)


@pages.below_repo("/tree/<path:wanted>")
def tree(repo: Repo, wanted: str) -> ResponseReturnValue:
    return folder(repo, place_in(store().repos.git(repo), wanted.strip("/")))


@pages.below_repo("/blob/<path:wanted>")
def blob(repo: Repo, wanted: str) -> ResponseReturnValue:
    git = store().repos.git(repo)
    place = place_in(git, wanted.strip("/"))
    content = existing(git.read(place.sha, place.path), "There is no such file.")
    text = "" if b"\0" in content[:8000] else content[:MAX_SHOWN_BYTES].decode(errors="replace")
    return render_template("blob.html", repo=repo, place=place, text=text, size=len(content))


@pages.below_repo("/commit/<sha>")
def commit(repo: Repo, sha: str) -> ResponseReturnValue:
    git = store().repos.git(repo)
    full = existing(git.resolve(sha), "There is no such commit.")
    try:
        shown = git.commit(full)
        return render_template("commit.html", repo=repo, commit=shown, files=files_of_commit(git, shown))
    except GitError as error:
        raise NotFoundError("This commit cannot be shown.") from error
