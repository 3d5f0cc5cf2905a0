"""What a pull request or a commit changes, line by line, for reading and commenting."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import TypeVar

from forge.diffs import HUNK
from forge.git import EMPTY_TREE, Commit, FileChange, Git, GitError
from forge.merging import changed_files, commits_between
from forge.store import Store
from forge.store.models import Pull, Repo, Thread

T = TypeVar("T")
KEPT = 64
MAX_LINES_OF_FILE = 2000


class Mark(StrEnum):
    """What a line of a diff is."""

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


class Recent:
    """The answers of git that were asked for last; what a commit holds never changes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], object] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[object, ...], find: Callable[[], T]) -> T:
        """Return the kept answer, or find it and keep it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]  # type: ignore[return-value]
            self._kept[key] = found = find()
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found


RECENT = Recent()


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
    found = []
    for change in changes:
        lines = lines_of(change.patch)
        found.append(
            FileDiff(change, tuple(lines[:MAX_LINES_OF_FILE]), max(0, len(lines) - MAX_LINES_OF_FILE))
        )
    return found


def _git(store: Store, repo: Repo) -> Git:
    return store.repos.git(repo)


def files_of(store: Store, pull: Pull) -> list[FileDiff]:
    """Return the changed files of a pull request; none when its commits are gone."""
    git = _git(store, pull.repo)

    def find() -> list[FileDiff]:
        try:
            return _diffs(changed_files(git, pull.base_sha, pull.head_sha))
        except GitError:
            return []

    return RECENT.get(("files", str(git.path), pull.base_sha, pull.head_sha), find)


def commits_of(store: Store, pull: Pull) -> list[Commit]:
    """Return the commits of a pull request, oldest first; none when they are gone."""
    git = _git(store, pull.repo)

    def find() -> list[Commit]:
        try:
            return commits_between(git, pull.base_sha, pull.head_sha)
        except GitError:
            return []

    return RECENT.get(("commits", str(git.path), pull.base_sha, pull.head_sha), find)


def files_of_commit(git: Git, commit: Commit) -> list[FileDiff]:
    """Return what one commit changes against its first parent."""
    start = commit.parents[0] if commit.parents else EMPTY_TREE
    return _diffs(changed_files(git, start, commit.sha, from_merge_base=False))
