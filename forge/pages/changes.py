"""Changes of a pull request or a commit, line by line, for reading and commenting."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from forge.git.diffs import Line, Mark, lines_of
from forge.git.merging import commits_between, list_changed_files
from forge.git.repository import EMPTY_TREE, Commit, FileChange, Git, GitError
from forge.store import Store
from forge.store.models import Pull, Thread

KEPT = 64
MAX_LINES_OF_FILE = 2000


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One changed file; `omitted` lines of a long diff are not shown."""

    change: FileChange
    lines: tuple[Line, ...]
    omitted: int

    def threads_at(self, line: Line, threads: list[Thread]) -> list[Thread]:
        return [
            thread
            for thread in threads
            if thread.path == self.change.path
            and not thread.outdated
            and line.number is not None
            and (thread.line, thread.side) == (line.number, line.side)
        ]


def tail_of_hunk(hunk: str, lines: int = 4) -> list[Line]:
    """Return the last lines of the hunk that a thread is about."""
    return [line for line in lines_of(hunk) if line.mark not in (Mark.HUNK, Mark.NOTE)][-lines:]


def _diffs(changes: list[FileChange]) -> list[FileDiff]:
    return [_diff(change) for change in changes]


def _diff(change: FileChange) -> FileDiff:
    lines = [line for line in lines_of(change.patch) if line.mark is not Mark.NOTE]
    return FileDiff(change, tuple(lines[:MAX_LINES_OF_FILE]), max(0, len(lines) - MAX_LINES_OF_FILE))


# A commit never changes, so the newest answers of git are kept. They are empty when the commits are gone.
@lru_cache(maxsize=KEPT)
def _files(git: Git, base: str, head: str) -> list[FileDiff]:
    with suppress(GitError):
        return _diffs(list_changed_files(git, base, head))
    return []


@lru_cache(maxsize=KEPT)
def _commits(git: Git, base: str, head: str) -> list[Commit]:
    with suppress(GitError):
        return commits_between(git, base, head)
    return []


def files_of(store: Store, pull: Pull) -> list[FileDiff]:
    """Return the changed files of a pull request; none when its commits are gone."""
    return _files(store.repos.git(pull.repo), pull.base_sha, pull.head_sha)


def commits_of(store: Store, pull: Pull) -> list[Commit]:
    """Return the commits of a pull request, oldest first; none when they are gone."""
    return _commits(store.repos.git(pull.repo), pull.base_sha, pull.head_sha)


def files_of_commit(git: Git, commit: Commit) -> list[FileDiff]:
    """Return the changes of one commit against its first parent."""
    start = commit.parents[0] if commit.parents else EMPTY_TREE
    return _diffs(list_changed_files(git, start, commit.sha, from_merge_base=False))
