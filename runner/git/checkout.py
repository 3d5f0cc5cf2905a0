"""Cardinal's own git commands inside a workspace: they run where the agent runs, never on the host."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from runner.errors import WorkspaceError
from runner.exec.child import Ran, finish
from runner.git import checkout_scripts as scripts
from runner.git.cli import judge
from runner.git.commits import unquote_path
from runner.git.mirror import Heads, Mirror
from runner.run.run_spec import Committer
from runner.workspaces.contract import Workspace

# The usual names of lock files and manifests, at any depth.
_NAMES_DEPENDENCIES = re.compile(
    r"(?:^|[ /])(?:[^/ ]*\.lock|[^/ ]*-lock\.(?:json|yaml)|[^/ ]*requirements[^/]*\.txt|constraints[^/]*\.txt"
    r"|pyproject\.toml|setup\.(?:py|cfg)|package\.json|npm-shrinkwrap\.json|go\.(?:mod|sum)|Cargo\.toml|Gemfile"
    r"|pom\.xml|build\.gradle(?:\.kts)?|composer\.json|mix\.exs)$"
)
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_COMMITS = re.compile(r"[0-9a-f]{40,64} [0-9a-f]{40,64}")
_ROW = re.compile(r":\d{6} \d{6} [0-9a-f]{40,64} [0-9a-f]{40,64} [A-Z]\t.+")
_GIT_S = 600.0  # for commands that share a start
_OUTPUT_BYTES = 16_000_000
_NAME_CHARS = 100_000  # of one line; no file system has such a path, only an object that git made
_PACK, _PATCH = "branch.pack", "aside.patch"
Beat = Callable[[], None]


def identity(committer: Committer) -> dict[str, str]:
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", committer.name), ("EMAIL", committer.email))
    }


@dataclass(frozen=True, slots=True)
class PathList:
    """Names as git lists them, one per line. `more`: further ones could not be read."""

    names: tuple[str, ...]
    more: bool = False


class KeptFiles(NamedTuple):
    """HEAD and the commit of all files, both empty where `.git` cannot be read. `whole`: all files could be
    read. `uncommitted` are the first names of so many files.
    """

    head: str
    files: str
    whole: bool
    uncommitted: tuple[str, ...]
    uncommitted_files: int


class Checkout:
    """The repository in one workspace. Its methods raise WorkspaceError."""

    def __init__(self, workspace: Workspace, mirror: Mirror, committer: Committer, beat: Beat) -> None:
        self._workspace, self._mirror, self._beat = workspace, mirror.path, beat
        self._clean_head = (-1, "")  # HEAD without uncommitted changes, after so many commands
        self._packed: tuple[tuple[int, str, str], frozenset[str]] | None = None  # what lies on the way out
        self._env = identity(committer) | {
            "LC_ALL": "C",
            "GIT_DIR": ".git",  # wherever a broken one, or its config, points
            "GIT_WORK_TREE": ".",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            # It wins over the agent's settings, which may rewrite an address to one that runs commands.
            "GIT_ALLOW_PROTOCOL": "file",
            "GIT_NO_REPLACE_OBJECTS": "1",  # as on the host: a commit has its own files
            scripts.ORIGIN: mirror.web_address,
        }

    def clone(self, branch: str, base_branch: str, heads: Heads) -> None:
        """Check out `branch` from the mirror, or start it at the base."""
        self._take("clone", scripts.CLONE, branch, base_branch, heads)

    def clone_from(self, ref: str, branch: str, base_branch: str) -> None:
        """Check out a ref of the mirror, and nothing else, as `branch` of an empty workspace."""
        arguments = (self._workspace.mirror_at(self._mirror), ref, branch, base_branch)
        self._must("clone", self._script("clone", scripts.CLONE_FROM, *arguments, mirrored=True))

    def fetch(self, branch: str, base_branch: str, heads: Heads) -> None:
        """Set the remote-tracking refs of both branches to `heads`, from the mirror.

        It is a command of its own, since it sees the mirror: other git commands may run programs that the
        agent configured.
        """
        self._take("fetch", scripts.FETCH, branch, base_branch, heads)

    def commit(self, ref: str = "HEAD") -> str:
        """Return the commit that `ref` names, or empty."""
        if ref == "HEAD" and (head := self._stands()):
            return head
        ran = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return ran.out.strip() if ran.exit_code == 0 else ""

    def lock_files(self) -> PathList:
        """Return object id and path of every file of HEAD that names dependencies, in order."""
        listed = self._list_lines("ls-tree", "-r", "--format=%(objectname) %(path)", "HEAD")
        rows = (f"{row[: row.index(' ')]} {unquote_path(row[row.index(' ') + 1 :])}" for row in listed.names)
        return PathList(tuple(sorted(row for row in rows if _NAMES_DEPENDENCIES.search(row))), listed.more)

    def commits_since(self, base: str) -> int:
        """Return how many commits HEAD has beyond `base`; 0 when either is missing."""
        counted = self._git("rev-list", "--count", f"{base}..HEAD")
        return int(counted.out.strip()) if counted.exit_code == 0 and base else 0

    def commit_leftovers(self, message: str, base: str = "", *unwanted: str) -> str:
        """Commit uncommitted changes, and return the commit of HEAD, or empty.

        With a `base` the next `export` of HEAD onto it has its pack already, unless HEAD is unwanted.
        """
        if self._stands():
            return self._stands()
        arguments = (self._pack_inside, base, " ".join(unwanted)) if base else ()
        ran = self._script("commit", scripts.LEFTOVERS, message, *arguments, exporting=bool(base))
        self._must("commit", ran)
        said, *rows = ran.out.splitlines() or [""]
        if said and not _COMMIT.fullmatch(said):
            raise WorkspaceError("git rev-parse", said)
        if base and said not in unwanted:
            self._packed = (self._workspace.changes, said, base), frozenset(filter(_ROW.fullmatch, rows))
        return self._stand(said)

    def commit_files(self, files: Mapping[str, str], message: str) -> None:
        """Write files, and commit them with all uncommitted changes."""
        given = (word for file in files.items() for word in file)
        self._must("commit", self._script("commit", scripts.COMMIT_FILES, message, *given))

    def put_on(self, onto: str, message: str, *dropped: str) -> tuple[str, ...]:
        """Commit uncommitted changes and rebase HEAD on `onto`; return the conflicting paths.

        With a conflict, everything stays committed as it was. `dropped` are the commit that `onto` was
        rewritten from, and the base: their commits are left out.
        """
        ran = self._script("rebase", scripts.PUT_ON, message, onto, *dropped)
        if ran.exit_code != scripts.CONFLICT:
            self._must("rebase", ran)
            return ()
        paths = tuple(map(unquote_path, ran.out.splitlines()))
        if not paths:
            raise WorkspaceError("git rebase", ran.tail)
        return paths

    def mark(self, ref: str, message: str) -> None:
        """Commit uncommitted changes and point `ref`, a full name, at them."""
        self.commit_leftovers(message)
        self._must("update-ref", self._git("update-ref", ref, "HEAD"))

    def list_changed_since(self, ref: str, message: str) -> PathList:
        """Commit uncommitted changes and return the paths that differ from `ref`."""
        self.commit_leftovers(message)
        args = ("--name-only", "--no-renames", "--no-ext-diff", "--no-textconv")
        listed = self._list_lines("diff", *args, "--ignore-submodules=none", ref, "HEAD", "--")
        return PathList(tuple(map(unquote_path, listed.names)), listed.more)

    def adopt(self, head: str) -> None:
        """Take a commit out of the mirror, and move HEAD to it: it has the same work. No file is touched."""
        arguments = (self._workspace.mirror_at(self._mirror), head)
        self._must("reset", self._script("reset", scripts.ADOPT, *arguments, mirrored=True))
        self._stand(head)

    def restore(self, commit: str) -> None:
        """Go back to `commit` and the leftovers of set-up: changes of validation commands are nobody's."""
        self._must("reset", self._script("reset", scripts.RESTORE, commit))
        self._stand(commit)

    def note_set_up(self, branch: str) -> int:
        """Note all files as set-up left them, with HEAD where it found that; return how many it changed."""
        ran = self._script("add", scripts.NOTE_SET_UP, branch)
        self._must("add", ran)
        return int(ran.out.strip() or 0)

    def export(self, target: Path, head: str, base: str, cap_bytes: int) -> frozenset[str]:
        """Write a pack of `head` without the history of `base` to `target` on the host.

        Return set-up's changes, as rows of `git diff-tree --raw`. Raises OversizedRepositoryError too.
        """
        packed, self._packed = self._packed, None
        if packed is None or packed[0] != (self._workspace.changes, head, base):
            stands = self._stands()
            ran = self._script("pack-objects", scripts.EXPORT, self._pack_inside, head, base, exporting=True)
            self._must("pack-objects", ran)
            self._stand(stands)
            packed = (0, "", ""), frozenset(filter(_ROW.fullmatch, ran.out.splitlines()))
        self._workspace.collect(_PACK, target, cap_bytes)
        return packed[1]

    @property
    def _pack_inside(self) -> str:
        return f"{self._workspace.layout.out}/{_PACK}"

    def export_apart(
        self, target: Path, base: str, unwanted: Sequence[str], cap_bytes: int
    ) -> tuple[str, frozenset[str]]:
        """Write a pack of HEAD as `export` does, while an agent may be at work; return its id and those rows.

        Empty, and nothing is written, where HEAD is unwanted, on no branch, or cannot be read.
        """
        arguments = (self._workspace.layout.out, _PACK, base, " ".join(unwanted), str(cap_bytes // 512))
        ran = self._run(
            "pack-objects", scripts.command(scripts.EXPORT_APART, *arguments, prologue=""), exporting=True
        )
        self._must("pack-objects", ran)
        head, *rows = ran.out.splitlines() or [""]
        if not _COMMIT.fullmatch(head):
            return "", frozenset()
        self._workspace.collect(_PACK, target, cap_bytes)
        return head, frozenset(filter(_ROW.fullmatch, rows))

    def set_aside(self, commit: str, target: Path, cap_bytes: int) -> None:
        """Write the difference of these files to `commit` as a patch to `target` on the host.

        It does not read `.git`. Raises OversizedRepositoryError too.
        """
        arguments = (self._workspace.layout.out, _PATCH, self._workspace.mirror_at(self._mirror), commit)
        command = scripts.command(scripts.SET_ASIDE, *arguments, prologue="")
        self._must("diff", self._run("diff", command, mirrored=True, exporting=True))
        self._workspace.collect(_PATCH, target, cap_bytes)

    def _stands(self) -> str:
        """Return HEAD, where nothing is uncommitted and no command has run since; else nothing."""
        changes, head = self._clean_head
        return head if changes == self._workspace.changes else ""

    def _stand(self, head: str) -> str:
        self._clean_head = (self._workspace.changes, head)
        return head

    def keep(self, base: str, known: str, patterns: Sequence[str], cap_bytes: int) -> KeptFiles:
        """Leave bundle, patch and session archive in `layout.out`; no bundle of the `known` commits."""
        blocks = str(cap_bytes // 512)
        arguments = (self._workspace.layout.out, base, known, " ".join(patterns), blocks)
        command = scripts.command(scripts.KEEP, *arguments, prologue="")
        ran = self._run("bundle", command, exporting=True, writable=False)
        self._must("bundle", ran)
        rows = ran.out.split("\n")
        commits = next((row for row in rows if _COMMITS.fullmatch(row)), " ")
        head, _, files = commits.partition(" ")
        facts = [row.partition(" ") for row in rows]
        names = tuple(unquote_path(name) for word, _, name in facts if word == "uncommitted")
        numbers = (text.strip() for word, _, text in facts if word == "uncommitted-files")
        counts = (int(number) for number in numbers if number.isdecimal())
        return KeptFiles(head, files, "incomplete" not in rows, names, next(counts, 0))

    def uncommit(self, ref: str) -> None:
        """Bring the files of a ref of the mirror, as changes that are not committed."""
        arguments = (self._workspace.mirror_at(self._mirror), ref)
        self._must("read-tree", self._script("read-tree", scripts.UNCOMMIT, *arguments, mirrored=True))

    def unpack_home(self, folder: Path) -> None:
        """Unpack `session.tar.gz` of a folder of the host into the home."""
        command = scripts.command(scripts.UNPACK, self._workspace.mirror_at(folder), prologue="")
        child = self._workspace.start(command, env={}, writable=True, cap_bytes=_OUTPUT_BYTES, mirror=folder)
        self._must("tar", finish(child, what="the session", timeout_s=_GIT_S, beat=self._beat))

    def _take(self, what: str, script: str, branch: str, base_branch: str, heads: Heads) -> None:
        """Fetch both commits by id: other cards may move the mirror's branches meanwhile."""
        arguments = (self._workspace.mirror_at(self._mirror), branch, base_branch, heads.branch, heads.base)
        self._must(what, self._script(what, script, *arguments, mirrored=True))

    def _script(
        self, what: str, script: str, *arguments: str, mirrored: bool = False, exporting: bool = False
    ) -> Ran:
        return self._run(what, scripts.command(script, *arguments), mirrored=mirrored, exporting=exporting)

    def _git(self, *args: str) -> Ran:
        return self._run(args[0], scripts.git_command(*args))

    def _list_lines(self, *args: str) -> PathList:
        """Return the lines of a git command, without truncated ones, which are longer than any name."""
        ran = self._git(*args)
        if not ran.flooded:
            self._must(args[0], ran)
        lines = ran.out.splitlines()
        names = tuple(line for line in lines if len(line) <= _NAME_CHARS)
        return PathList(names, ran.flooded or ran.cut or len(names) < len(lines))

    def _run(
        self,
        what: str,
        command: tuple[str, ...],
        *,
        mirrored: bool = False,
        exporting: bool = False,
        writable: bool = True,
    ) -> Ran:
        child = self._workspace.start(
            command,
            env=self._env,
            writable=writable,
            cap_bytes=_OUTPUT_BYTES,
            mirror=self._mirror if mirrored else None,
            export=exporting,
        )
        ran = finish(child, what=f"git {what}", timeout_s=_GIT_S, beat=self._beat, out_bytes=_OUTPUT_BYTES)
        if ran.exit_code != 0 and child.fate:
            raise WorkspaceError(f"git {what}", child.fate)
        if not ran.flooded:
            judge(what, ran, scripts.BOUNDS)
        return ran

    @staticmethod
    def _must(what: str, ran: Ran) -> None:
        if ran.exit_code != 0:
            raise WorkspaceError(scripts.name_failed_command(ran.exit_code, what), ran.tail)
