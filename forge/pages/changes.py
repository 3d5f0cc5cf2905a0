"""Changes of a pull request or a commit, line by line, for reading and commenting."""

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from forge.diffs import HUNK
from forge.git import EMPTY_TREE, Commit, FileChange, Git, GitError
from forge.merging import changed_files, commits_between
from forge.store import Store
from forge.store.models import Pull, Thread

KEPT = 64
MAX_LINES_OF_FILE = 2000


class Mark(StrEnum):
    """Kind of a line of a diff."""

    HUNK = "hunk"
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff with its number before and after."""

    mark: Mark
    old: int | None
    new: int | None
    text: str

    @property
    def side(self) -> str:
        """Return the side that a comment on this line belongs to, in GitHub's words."""
        return "LEFT" if self.mark is Mark.REMOVED else "RIGHT"

    @property
    def number(self) -> int | None:
        """Return the line's number on its side."""
        return self.old if self.mark is Mark.REMOVED else self.new


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One changed file; `omitted` lines of a long diff are not shown."""

    change: FileChange
    lines: tuple[Line, ...]
    omitted: int

    def threads_at(self, line: Line, threads: list[Thread]) -> list[Thread]:
        """Return the threads that belong under a line."""
        return [
            one
            for one in threads
            if one.path == self.change.path
            and not one.outdated
            and line.number is not None
            and (one.line, one.side) == (line.number, line.side)
        ]


def lines_of(patch: str) -> list[Line]:
    """Return the lines of a unified diff's hunks."""
    lines: list[Line] = []
    old = new = 0
    for text in patch.split("\n") if patch else []:
        hunk = HUNK.match(text)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            lines.append(Line(Mark.HUNK, None, None, text))
        elif text.startswith("+"):
            lines.append(Line(Mark.ADDED, None, new, text[1:]))
            new += 1
        elif text.startswith("-"):
            lines.append(Line(Mark.REMOVED, old, None, text[1:]))
            old += 1
        elif not text.startswith("\\"):
            lines.append(Line(Mark.SAME, old, new, text[1:]))
            old, new = old + 1, new + 1
    return lines


def tail_of_hunk(hunk: str, lines: int = 4) -> list[Line]:
    """Return the last lines of the hunk that a thread is about."""
    return [line for line in lines_of(hunk) if line.mark is not Mark.HUNK][-lines:]


def _diffs(changes: list[FileChange]) -> list[FileDiff]:
    return [_diff(change, lines_of(change.patch)) for change in changes]


def _diff(change: FileChange, lines: list[Line]) -> FileDiff:
    return FileDiff(change, tuple(lines[:MAX_LINES_OF_FILE]), max(0, len(lines) - MAX_LINES_OF_FILE))


# A commit never changes, so the newest answers of git are kept. They are empty when the commits are gone.
@lru_cache(maxsize=KEPT)
def _files(git: Git, base: str, head: str) -> list[FileDiff]:
    with suppress(GitError):
        return _diffs(changed_files(git, base, head))
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
    """Return what one commit changes against its first parent."""
    start = commit.parents[0] if commit.parents else EMPTY_TREE
    return _diffs(changed_files(git, start, commit.sha, from_merge_base=False))
