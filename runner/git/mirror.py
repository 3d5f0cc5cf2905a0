"""Bare mirrors on the host: the only place where the host reads an agent's work, and pushes from."""

import hashlib
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from runner import errors
from runner.exec.child import Ran
from runner.git import commits
from runner.git.cli import run_git
from runner.git.commits import Commit, unquoted
from runner.git.tree_entries import check_entries
from runner.run.run_spec import Remote
from runner.text.plain import one_line, redact

_FETCH_S = 600.0
_LOOK_S = 60.0
_SIZE_CAP_BYTES = 4_000_000_000
_FILE_BYTES = 4_000_000
_MAX_LINES = 1_000_000_000
_MAX_COMMITS = 1_000
_GONE = re.compile(
    r"not found|does not appear to be a git repository|could not read (?:Username|from remote)|does not exist"
    r"|Authentication failed|returned error: (?:401|403|404|410)|Could not resolve host|unable to access",
    re.IGNORECASE,
)
_MOVED = re.compile(r"stale info|non-fast-forward|fetch first|cannot lock ref", re.IGNORECASE)
_UNSOUND = re.compile(
    r"fsck|badObject|bad object|malformed|hasDot|index-pack failed|unresolved deltas", re.IGNORECASE
)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?=\s)")
Beat = Callable[[], None]


@dataclass(frozen=True, slots=True)
class DiffStat:
    """The size of a branch's change against its base; a binary file counts as one added line.

    `added_bytes` counts all new objects as stored, also those removed by a later commit.
    """

    files_changed: int
    lines_changed: int
    added_bytes: int
    commits: int
    paths: tuple[str, ...]
    lines_added: int = 0


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads of GitHub's branch and base at a claim's fetch; `branch` is empty when it did not exist."""

    branch: str
    base: str


class Mirror:
    """The host's bare copy of one repository; refs/heads are GitHub's, refs/cardinal those of runs."""

    def __init__(self, folder: Path, repository: str, remote: Remote, beat: Beat) -> None:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", repository)
        mark = hashlib.sha256(repository.encode()).hexdigest()[:8]  # two names never share a folder
        self.path = folder / f"{name}-{mark}.git"
        self._repository, self._remote, self._beat = repository, remote, beat

    def beating(self, beat: Beat) -> "Mirror":
        """Return the same mirror with another beat, for who must not be stopped."""
        same = copy(self)
        same._beat = beat
        return same

    def fetch(self, base_branch: str) -> str:
        """Fetch all branches and return the head of the base.

        Raises EmptyRepositoryError, MissingBaseError, GoneRepositoryError, UnsoundObjectsError or GitError.
        """
        if not (self.path / "HEAD").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self._must("make a mirror", self._git("init", "--bare", "--quiet", "."))
        fetched = self._git(
            *("fetch", "--prune", "--no-tags", "--no-write-fetch-head", "--quiet", "--"),
            *(self._remote.url, "+refs/heads/*:refs/heads/*"),
            online=True,
        )
        if fetched.exit_code != 0:
            raise self._named("fetch", fetched)
        self._check_size()
        base = self.head(base_branch)
        if not base:
            ran = self._git("for-each-ref", "--count=1", "refs/heads")
            raise (
                errors.MissingBaseError(self._repository, base_branch)
                if ran.out.strip()
                else errors.EmptyRepositoryError(self._repository)
            )
        return base

    def head(self, branch: str) -> str:
        """Return the commit of a GitHub branch at the last fetch; empty without one."""
        return self._ref(f"refs/heads/{branch}")

    def fetch_heads(self, branch: str, base_branch: str) -> Heads:
        """Fetch all branches and return these two heads. Raises the errors of `fetch`."""
        base = self.fetch(base_branch)
        return Heads(self.head(branch), base)

    def _ref(self, name: str) -> str:
        """Return the commit that a full ref name stands for, or empty.

        Read from git's own files, since a run asks for about forty. Source: gitrepository-layout(5).
        """
        if ".." in name:  # git allows no such name, see git-check-ref-format(1); here it would leave refs/
            return ""
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return _commit_in((self.path / name).read_text(encoding="utf-8", errors="replace"))
        with suppress(FileNotFoundError):  # git writes this one before it removes the other
            packed = (self.path / "packed-refs").read_text(encoding="utf-8", errors="replace")
            return next((_commit_in(row) for row in packed.splitlines() if row.partition(" ")[2] == name), "")
        return ""

    def has(self, commit: str) -> bool:
        """Whether the commit of this id is here."""
        ran = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
        return ran.exit_code == 0

    def goes_on_from(self, head: str, commit: str) -> bool:
        """Whether `commit` is in the history of `head`; a missing commit is in none."""
        return self._git("merge-base", "--is-ancestor", "--", commit, head).exit_code == 0

    def fork(self, base: str, head: str) -> str:
        """Return the newest common commit. Raises GitError without one."""
        ran = self._git("merge-base", base, head)
        if ran.exit_code == 1:
            raise errors.GitError("compare the branch with its base", "no commit is in the history of both")
        self._must("merge-base", ran)
        return ran.out.strip()

    def tree(self, commit: str) -> str:
        """Return the tree of a commit: equal for equal files."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")
        return self._output("read a commit's files", *words).strip()

    def remember(self, name: str, commit: str) -> None:
        """Point refs/cardinal/`name` at a commit."""
        self._must("write a ref", self._git("update-ref", f"refs/cardinal/{name}", commit))

    def recall(self, name: str) -> str:
        """Return the commit of refs/cardinal/`name`, or empty."""
        return self._ref(f"refs/cardinal/{name}")

    def names_of(self, run_id: str) -> tuple[str, ...]:
        """Return the run's own refs, each as its name without the run and its commit."""
        words = ("for-each-ref", "--format=%(refname) %(objectname)", f"refs/cardinal/{run_id}-*")
        listed = self._output("list refs", *words).splitlines()
        return tuple(row.removeprefix(f"refs/cardinal/{run_id}-") for row in listed)

    def take_bundle(self, bundle: Path, name: str, ref: str = "HEAD") -> str:
        """Fetch a ref of a bundle into refs/cardinal/`name`, checking every object; return the commit.

        Raises UnsoundObjectsError, GitLimitError or GitError. A bundle is unpacked in a quarantine first: git
        2.39 does not check the objects of a bundle, whatever fetch.fsckObjects says, but those of a
        repository it does.
        """
        quarantine = bundle.with_suffix(".quarantine")
        try:
            self._must("make a quarantine", self._git("init", "--bare", "--quiet", str(quarantine)))
            borrowed = quarantine / "objects" / "info" / "alternates"
            borrowed.write_text(f"{(self.path / 'objects').resolve()}\n", encoding="utf-8")
            self._take(str(bundle), f"+{ref}:refs/heads/export", quarantine)
            self._take(str(quarantine), f"+refs/heads/export:refs/cardinal/{name}", self.path)
        finally:
            shutil.rmtree(quarantine, ignore_errors=True)
        self._check_size()
        taken = self.recall(name)
        check_entries(self.look, taken)
        return taken

    def _take(self, source: str, refs: str, into: Path) -> None:
        words = ("fetch", "--no-tags", "--no-write-fetch-head", "--quiet", "--", source, refs)
        fetched = self._git(*words, folder=into, timeout_s=_FETCH_S)
        if fetched.exit_code != 0:
            detail = self._error_text(fetched)
            raise (
                errors.UnsoundObjectsError(detail)
                if _UNSOUND.search(fetched.tail)
                else errors.GitError("take the export", detail)
            )

    def diff(self, base: str, head: str) -> DiffStat:
        """Return the change of `head` since it left `base`. Raises GitError without a common history."""
        count = self._output("count commits", "rev-list", "--count", f"{base}..{head}")
        # A name a line, quoted where it must be: between NULs all of them together would be one line, cut.
        stat = self.look(
            *("diff", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"),
            *("--ignore-submodules=none", f"{base}...{head}"),
        )
        new, gone, paths = 0, 0, []
        for row in stat.splitlines():
            added, removed, path = row.split("\t", 2)
            new += 1 if added == "-" else int(added)
            gone += 0 if removed == "-" else int(removed)
            paths.append(unquoted(path))
        words = ("rev-list", "--disk-usage", "--objects", head, f"^{base}")
        sizes = (new + gone, int(self._output("measure the branch", *words)), int(count))
        return DiffStat(len(paths), *sizes, tuple(paths), new)

    def patch(self, base: str, head: str) -> str:
        """Return the diff of `head` since it left `base`; binary files appear by name."""
        words = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", f"{base}...{head}", "--")
        return self._output("show the change", *words)

    def lines_of(self, commit: str, path: str) -> int | None:
        """Return the number of lines of a file at a commit; None for a missing file.

        A file larger than _FILE_BYTES has _MAX_LINES.
        """
        name = f"{commit}:{path}"
        size = self._git("cat-file", "-s", name)
        kind = self._git("cat-file", "-t", name)
        if size.exit_code != 0 or kind.out.strip() != "blob":
            return None
        if int(size.out.strip()) > _FILE_BYTES:
            return _MAX_LINES
        text = self._output("read a file", "cat-file", "blob", name)
        return len(text.removesuffix("\n").split("\n")) if text else 0

    def differing(self, commit: str, other: str) -> frozenset[str]:
        """Return the paths at which two commits differ."""
        words = ("--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
        return frozenset(map(unquoted, self.look("diff", *words, commit, other, "--").splitlines()))

    def commits(self, head: str, *known: str) -> tuple[Commit, ...]:
        """Return the commits of `head` without those of `known`, oldest first. Raises LongHistoryError."""
        wanted = (head, *(f"^{commit}" for commit in known if commit))
        listed = self.look("rev-list", "--topo-order", "--reverse", *wanted, "--").split()
        if len(listed) > _MAX_COMMITS:
            raise errors.LongHistoryError(len(listed), _MAX_COMMITS)
        return tuple(
            commits.parsed(commit_id, self.look("cat-file", "commit", commit_id)) for commit_id in listed
        )

    def change_digest(self, commit: str) -> str:
        """Return the digest of a commit's changed lines, wherever they stand; its id if unreadable."""
        words = ("-p", "-U0", "--root", "--text", "--no-color", "--no-renames", "--no-ext-diff")
        shown = self.read("diff-tree", *words, "--no-textconv", "--no-commit-id", commit)
        if shown is None:
            return commit
        rows = (row for row in shown.split("\n") if not row.startswith(("@@ ", "index ")))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def make_commit(self, commit: Commit) -> str:
        """Store a commit and return its id."""
        return self.look(
            "hash-object", "-t", "commit", "-w", "--stdin", given=commits.written(commit)
        ).strip()

    def look(self, *words: str, given: bytes = b"") -> str:
        """Return the whole output of one git command. Raises GitError when it fails or is too long."""
        ran = self._git(*words, given=given)
        self._must(words[0], ran)
        if ran.cut:
            raise errors.GitError(words[0], "a line is too long to be read")
        return ran.out

    def read(self, *words: str) -> str | None:
        """Return the output of one git command; None where a line is too long. Raises GitError."""
        ran = self._git(*words)
        self._must(words[0], ran)
        return None if ran.cut else ran.out

    def push(self, head: str, branch: str, known: str) -> None:
        """Set GitHub's `branch` to `head`, if it is still at `known` (empty: missing).

        Raises MovedBranchError, PushRefusedError, GoneRepositoryError or GitError.
        """
        pushed = self._git(
            *("push", "--porcelain", "--no-verify", f"--force-with-lease=refs/heads/{branch}:{known}", "--"),
            *(self._remote.url, f"{head}:refs/heads/{branch}"),
            online=True,
        )
        if pushed.exit_code == 0:
            self._must("note the push", self._git("update-ref", f"refs/heads/{branch}", head))
            return
        said = pushed.out + pushed.tail
        if _MOVED.search(said):
            raise errors.MovedBranchError(branch)
        if "[remote rejected]" in said or "GH006" in said or "GH013" in said:
            raise errors.PushRefusedError(branch, self._error_text(pushed))
        raise self._named("push", pushed)

    def _check_size(self) -> None:
        size = sum(pack.stat().st_size for pack in (self.path / "objects").glob("pack/*.pack"))
        if size > _SIZE_CAP_BYTES:
            raise errors.OversizedRepositoryError(self._repository, _SIZE_CAP_BYTES)

    def _git(
        self,
        *words: str,
        online: bool = False,
        timeout_s: float = _LOOK_S,
        folder: Path | None = None,
        given: bytes = b"",
    ) -> Ran:
        writes = words[0] in ("init", "fetch", "update-ref")
        return run_git(
            words,
            folder=folder or self.path,
            beat=self._beat,
            timeout_s=_FETCH_S if online else timeout_s,
            credentials=self._remote.git_environment() if online else None,
            lock=self.path / "cardinal.lock" if writes else None,
            given=given,
            transfers=online,
        )

    def _named(self, what: str, ran: Ran) -> errors.RepositoryError:
        detail = self._error_text(ran)
        if _GONE.search(ran.tail):
            return errors.GoneRepositoryError(self._repository, detail)
        return (
            errors.UnsoundObjectsError(detail) if _UNSOUND.search(ran.tail) else errors.GitError(what, detail)
        )

    def _output(self, what: str, *words: str) -> str:
        """Return the output of a git command. Raises GitError, which says `what` failed."""
        ran = self._git(*words)
        self._must(what, ran)
        return ran.out

    def _must(self, what: str, ran: Ran) -> None:
        if ran.exit_code != 0:
            raise errors.GitError(what, self._error_text(ran))

    @staticmethod
    def _error_text(ran: Ran) -> str:
        return one_line(redact(ran.tail), 600)


def _commit_in(row: str) -> str:
    match = _COMMIT.match(row)
    return match[0] if match else ""
