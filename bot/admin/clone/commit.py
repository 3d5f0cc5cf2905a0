"""A commit of a clone, with the policy that counts for it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.admin.clone.own_git import (
    NO_REPOSITORY,
    QUARANTINE,
    CloneError,
    commit_of,
    git,
    git_output,
    quarantine,
)
from bot.state.policy_names import list_for_any_host
from ledger.model.column_names import same_column
from rules.errors import PolicyError
from rules.policy.column import ColumnPolicy
from rules.policy.locations import PATH, PROFILES_FOLDER
from rules.policy.model import DEFAULT_TEXT, Policy, parse
from runner.errors import UnverifiedCommitError
from runner.run.run_spec import MadeCommit

BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


@dataclass(frozen=True, slots=True)
class ClonedCommit:
    """A commit, and the policy that counts; `source` says which. `repository` is the clone's git folder.

    `has_file`: it is the file at `base`. `objects` are the folders that may hold the commit: a push to a
    server waits apart from the others. `packages` is the file about those installed in the clone.
    """

    name: str
    commit: str
    base: str
    source: str
    repository: Path
    objects: tuple[Path, ...]
    uncommitted: bool
    policy: Policy
    has_file: bool
    packages: Path | None = None


@dataclass(frozen=True, slots=True)
class FolderRemote:
    """A repository of this user in a folder, as a remote."""

    url: str

    def git_environment(self) -> Mapping[str, str]:
        """Return no credentials: none are needed."""
        return {}

    def make_commit(self, _tree: str, _parents: tuple[str, ...], _message: str, /) -> MadeCommit:
        """Refuse: nothing is published from a clone."""
        raise UnverifiedCommitError("a clone's own repository is not GitHub")


def find(
    folder: Path,
    commit: str,
    base: str = "",
    *,
    environ: Mapping[str, str] | None = None,
    or_default: bool = False,
) -> ClonedCommit:
    """Return `commit` of the repository around `folder`; an empty `base` is looked for.

    `environ` is that of git's own hook, if one is at work. `or_default`: a file that is no policy counts as
    none. Nothing is written. Raises CloneError, and PolicyError for the file at the base.
    """
    env = quarantine(environ or {})
    repository, objects = _git_path(folder, "--git-common-dir"), _git_path(folder, "--git-path", "objects")
    head = commit_of(folder, commit, env)
    if not head:
        raise CloneError(f"no commit {commit!r} here: fetch it, or name another")
    bases = {name: commit_of(folder, name) for name in ((base,) if base else BASES)}
    name = next((name for name, known in bases.items() if known), "")
    if base and not name:
        raise CloneError(f"no commit {base!r} to compare with: fetch it, or name another --base")
    at = bases.get(name) or head
    text = git_output(folder, "cat-file", "blob", f"{at}:{PATH}", env=env)
    own = git_output(folder, "ls-tree", "--name-only", at, f"{PROFILES_FOLDER}/", env=env).splitlines()
    profiles = tuple(Path(path).stem for path in own if path.endswith(".md"))
    incoming = (path for name in QUARANTINE for path in env.get(name, "").split(":") if path)
    return ClonedCommit(
        name=folder.resolve().name,
        commit=head,
        base=at,
        source=f"the policy at {name or commit}",
        repository=repository,
        objects=(objects, *map(Path, incoming)),
        uncommitted=head == commit_of(folder, "HEAD")
        and bool(git_output(folder, "status", "--porcelain", "-uno")),
        policy=_policy(text, profiles, or_default=or_default),
        has_file=bool(text),
    )


def _git_path(folder: Path, *args: str) -> Path:
    path = git_output(folder, "rev-parse", "--path-format=absolute", *args).removesuffix("\n")
    if not path:
        raise CloneError(NO_REPOSITORY.format(folder.resolve()))
    return Path(path)


def _policy(text: str, profiles: tuple[str, ...], *, or_default: bool) -> Policy:
    try:
        installed = list_for_any_host()
        return parse(text or DEFAULT_TEXT, home=None, installed=installed, profiles=profiles, workflows=None)
    except PolicyError:
        if not or_default:
            raise
        return parse(DEFAULT_TEXT, home=None)


def policy_column(cloned: ClonedCommit, name: str) -> tuple[str, ColumnPolicy]:
    """Return the column whose place and network are used: the first one with an agent, unless named.

    Raises CloneError.
    """
    columns = cloned.policy.board.columns
    working = [each for each, column in columns.items() if column.archetype == "execution"]
    chosen = next((each for each in working if not name or same_column(each, name)), "")
    if not chosen:
        known = ", ".join(working) or "none"
        raise CloneError(f"{cloned.source} has no column {name!r} with an agent; columns with one: {known}")
    return chosen, columns[chosen]


def borrow(path: Path, repository: Path, objects: tuple[Path, ...]) -> Path:
    """Return a new bare repository at `path` that reads these objects in place, as shallow as the other.

    Source: gitrepository-layout(5), objects/info/alternates and shallow.
    """
    git(path.parent, "init", "--quiet", "--bare", str(path))
    (path / "objects" / "info" / "alternates").write_text(
        "".join(f"{_quote(folder)}\n" for folder in objects)
    )
    if (repository / "shallow").exists():
        shutil.copy(repository / "shallow", path)
    return path


def _quote(path: Path) -> str:
    escapes: dict[str, str | int | None] = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
    return f'"{str(path).translate(str.maketrans(escapes))}"'
