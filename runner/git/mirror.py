"""Bare mirrors on the host: the only place where the host looks at what an agent made, and pushes from."""

import hashlib
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.errors import (
    EmptyRepositoryError,
    GitError,
    GoneRepositoryError,
    LongHistoryError,
    MissingBaseError,
    MovedBranchError,
    OversizedRepositoryError,
    PushRefusedError,
    RepositoryError,
    UnsoundObjectsError,
)
from runner.exec.child import Ran
from runner.git import commits
from runner.git.cli import run_git
from runner.git.commits import Commit, unquoted
from runner.git.tree_entries import check_entries
from runner.run.run_spec import Remote
from runner.text.redact import redact
from runner.text.truncate import one_line

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
    """How much a branch changes against its base; a binary file counts as one line, which is added.

    `added_bytes` are those of all new objects as they are stored, also of what a later commit takes away.
    """

    files_changed: int
    lines_changed: int
    added_bytes: int
    commits: int
    paths: tuple[str, ...]
    lines_added: int = 0


@dataclass(frozen=True, slots=True)
class Heads:
    """Where GitHub's branch and base stood when a claim looked; `branch` is empty when it was not there."""

    branch: str
    base: str


class Mirror:
    """The host's bare copy of one repository. Branches of GitHub are under refs/heads, runs under
    refs/cardinal.
    """

    def __init__(self, folder: Path, repository: str, remote: Remote, beat: Beat) -> None:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", repository)
        mark = hashlib.sha256(repository.encode()).hexdigest()[:8]  # two names never share a folder
        self.path = folder / f"{name}-{mark}.git"
        self._repository, self._remote, self._beat = repository, remote, beat

    def fetch(self, base_branch: str) -> str:
        """Bring all branches up to date and return the head of the base.

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
            found = self._git("for-each-ref", "--count=1", "refs/heads")
            raise (
                MissingBaseError(self._repository, base_branch)
                if found.out.strip()
                else EmptyRepositoryError(self._repository)
            )
        return base

    def head(self, branch: str) -> str:
        """Return the commit of a branch as GitHub had it at the last fetch; empty when there is none."""
        return self._ref(f"refs/heads/{branch}")

    def fetch_heads(self, branch: str, base_branch: str) -> Heads:
        """Bring all branches up to date and return where these two stand. Raises what `fetch` does."""
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
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
        return found.exit_code == 0

    def goes_on_from(self, head: str, commit: str) -> bool:
        """Whether `commit` is in the history of `head`; one that is not here is in none."""
        return self._git("merge-base", "--is-ancestor", "--", commit, head).exit_code == 0

    def fork(self, base: str, head: str) -> str:
        """Return the newest commit that both go on from. Raises GitError where there is none."""
        found = self._git("merge-base", base, head)
        if found.exit_code == 1:
            raise GitError("compare the branch with its base", "no commit is in the history of both")
        self._must("merge-base", found)
        return found.out.strip()

    def tree(self, commit: str) -> str:
        """Return the name of all the files of a commit together: the same files have the same."""
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")
        self._must("read a commit's files", found)
        return found.out.strip()

    def remember(self, name: str, commit: str) -> None:
        """Point refs/cardinal/`name` at a commit, so that it stays and is known later."""
        self._must("write a ref", self._git("update-ref", f"refs/cardinal/{name}", commit))

    def recall(self, name: str) -> str:
        """Return what `remember` was told, or empty."""
        return self._ref(f"refs/cardinal/{name}")

    def take_bundle(self, bundle: Path, name: str) -> str:
        """Bring HEAD of a bundle into refs/cardinal/`name`, checking every object; return the commit.

        Raises UnsoundObjectsError, GitLimitError or GitError. A bundle is unpacked in a quarantine first: git
        2.39 does not check the objects of a bundle, whatever fetch.fsckObjects says, but those of a
        repository it does.
        """
        quarantine = bundle.with_suffix(".quarantine")
        try:
            self._must("make a quarantine", self._git("init", "--bare", "--quiet", str(quarantine)))
            borrowed = quarantine / "objects" / "info" / "alternates"
            borrowed.write_text(f"{(self.path / 'objects').resolve()}\n", encoding="utf-8")
            self._take(str(bundle), "+HEAD:refs/heads/export", quarantine)
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
            detail = self._said(fetched)
            raise (
                UnsoundObjectsError(detail)
                if _UNSOUND.search(fetched.tail)
                else GitError("take the export", detail)
            )

    def diff(self, base: str, head: str) -> DiffStat:
        """Return what `head` changes since it left `base`. Raises GitError when they share no history."""
        counted = self._git("rev-list", "--count", f"{base}..{head}")
        self._must("count commits", counted)
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
        stored = self._git("rev-list", "--disk-usage", "--objects", head, f"^{base}")
        self._must("measure the branch", stored)
        sizes = (new + gone, int(stored.out.strip()), int(counted.out.strip()))
        return DiffStat(len(paths), *sizes, tuple(paths), new)

    def patch(self, base: str, head: str) -> str:
        """Return what `head` changes since it left `base`, as git shows it; of binary files the names."""
        shown = self._git("diff", "--no-color", "--no-ext-diff", "--no-textconv", f"{base}...{head}", "--")
        self._must("show the change", shown)
        return shown.out

    def lines_of(self, commit: str, path: str) -> int | None:
        """Return how many lines a file has at a commit; None where there is no file of that name.

        One that is larger than _FILE_BYTES counts as having as many lines as anybody says.
        """
        name = f"{commit}:{path}"
        size = self._git("cat-file", "-s", name)
        kind = self._git("cat-file", "-t", name)
        if size.exit_code != 0 or kind.out.strip() != "blob":
            return None
        if int(size.out.strip()) > _FILE_BYTES:
            return _MAX_LINES
        text = self._git("cat-file", "blob", name)
        self._must("read a file", text)
        return len(text.out.removesuffix("\n").split("\n")) if text.out else 0

    def differing(self, one: str, other: str) -> frozenset[str]:
        """Return the paths at which two commits differ."""
        words = ("--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
        return frozenset(map(unquoted, self.look("diff", *words, one, other, "--").splitlines()))

    def commits(self, head: str, *known: str) -> tuple[Commit, ...]:
        """Return the commits of `head` that none of `known` has, the oldest first. Raises LongHistoryError
        for more than a thousand.
        """
        wanted = (head, *(f"^{commit}" for commit in known if commit))
        listed = self.look("rev-list", "--topo-order", "--reverse", *wanted, "--").split()
        if len(listed) > _MAX_COMMITS:
            raise LongHistoryError(len(listed), _MAX_COMMITS)
        return tuple(commits.parsed(one, self.look("cat-file", "commit", one)) for one in listed)

    def change_digest(self, commit: str) -> str:
        """Return the digest of the lines that a commit changes, wherever they stand; of one that cannot be
        read it is the commit itself, which is like no other.
        """
        words = (
            "-p",
            "-U0",
            "--root",
            "--text",
            "--no-color",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        )
        shown = self.read("diff-tree", *words, "--no-commit-id", commit)
        if shown is None:
            return commit
        rows = (row for row in shown.split("\n") if not row.startswith(("@@ ", "index ")))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def make_commit(self, commit: Commit) -> str:
        """Store a commit as it is described, and return its id: the same for the same description."""
        return self.look(
            "hash-object", "-t", "commit", "-w", "--stdin", given=commits.written(commit)
        ).strip()

    def look(self, *words: str, given: bytes = b"") -> str:
        """Return what one git command says here, whole. Raises GitError when it fails or says too much."""
        ran = self._git(*words, given=given)
        self._must(words[0], ran)
        if ran.cut:
            raise GitError(words[0], "a line is too long to be read")
        return ran.out

    def read(self, *words: str) -> str | None:
        """Return what one git command shows of a file; None for one with lines that are too long to be read.

        Raises GitError when it fails.
        """
        ran = self._git(*words)
        self._must(words[0], ran)
        return None if ran.cut else ran.out

    def push(self, head: str, branch: str, known: str) -> None:
        """Put `branch` on GitHub at `head`, only if it still stands at `known` (empty: is not there).

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
            raise MovedBranchError(branch)
        if "[remote rejected]" in said or "GH006" in said or "GH013" in said:
            raise PushRefusedError(branch, self._said(pushed))
        raise self._named("push", pushed)

    def _check_size(self) -> None:
        size = sum(pack.stat().st_size for pack in (self.path / "objects").glob("pack/*.pack"))
        if size > _SIZE_CAP_BYTES:
            raise OversizedRepositoryError(self._repository, _SIZE_CAP_BYTES)

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

    def _named(self, what: str, ran: Ran) -> RepositoryError:
        detail = self._said(ran)
        if _GONE.search(ran.tail):
            return GoneRepositoryError(self._repository, detail)
        return UnsoundObjectsError(detail) if _UNSOUND.search(ran.tail) else GitError(what, detail)

    def _must(self, what: str, ran: Ran) -> None:
        if ran.exit_code != 0:
            raise GitError(what, self._said(ran))

    @staticmethod
    def _said(ran: Ran) -> str:
        return one_line(redact(ran.tail), 600)


def _commit_in(row: str) -> str:
    found = _COMMIT.match(row)
    return found[0] if found else ""
