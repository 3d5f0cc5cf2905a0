"""Where skills lie: a repository at one commit, and the operator's private folder. Nothing of them is run."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bot.github.api import contents
from bot.github.client import Hub
from rules.policy.skill import NAME, SKILL_BYTES
from rules.runs.skills import OPERATOR, REPOSITORY

ROOT = ".github/cardinal/skills"
MAIN = "SKILL.md"
PARTS = ("references", "scripts")
MAX_SKILLS = 20  # that are looked at in one place: each costs two calls of GitHub
MAX_FILES = 20
FILE_BYTES = 64_000
MAX_BYTES = 256_000  # of all files of one skill


class Shelf(Protocol):
    """One place of skills. `source` as in an offer."""

    @property
    def source(self) -> str:
        """Return repository or operator."""

    def names(self) -> tuple[str, ...]:
        """Return the skills' names, sorted."""

    def listing(self, path: str) -> tuple[contents.FolderEntry, ...]:
        """Return what is in a folder of a skill; the path begins with its name."""

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a plain file's bytes; None where there is none, or a larger one."""


@dataclass(frozen=True, slots=True)
class RepositoryShelf:
    """The skills of a repository, on its default branch."""

    hub: Hub
    repository: str
    commit: str
    source: str = REPOSITORY

    def names(self) -> tuple[str, ...]:
        """Return the folders below `.github/cardinal/skills` that can be skills."""
        if not self.commit:
            return ()
        return _skills(contents.entries(self.hub, self.repository, ROOT, self.commit))

    def listing(self, path: str) -> tuple[contents.FolderEntry, ...]:
        """Return what GitHub lists."""
        return contents.entries(self.hub, self.repository, f"{ROOT}/{path}", self.commit)

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return the file as it is at the commit."""
        return contents.content(
            self.hub, self.repository, f"{ROOT}/{path}", self.commit, most_bytes=most_bytes
        )


@dataclass(frozen=True, slots=True)
class PrivateShelf:
    """The operator's own folder; no link in it is followed."""

    root: Path
    source: str = OPERATOR

    def names(self) -> tuple[str, ...]:
        """Return its folders that can be skills."""
        return _skills(_entries(self.root))

    def listing(self, path: str) -> tuple[contents.FolderEntry, ...]:
        """Return what is in the folder."""
        return _entries(self.root / path)

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return the file, opened without following a link and without waiting for a pipe."""
        try:
            descriptor = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            raw = opened.read(most_bytes + 1)
        return raw if len(raw) <= most_bytes else None


def files_of(shelf: Shelf, name: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield the plain files of a skill's `references/` and `scripts/` by their path in it; None: left out.

    Left out is what is too large, too much, a link, a folder, or named as no file should be.
    """
    left, count = MAX_BYTES, 0
    parts = {one.name for one in shelf.listing(name) if one.kind == "dir"}
    for part in (one for one in PARTS if one in parts):
        for entry in shelf.listing(f"{name}/{part}")[: 2 * MAX_FILES]:
            path = f"{part}/{entry.name}"
            sound = entry.kind == "file" and _is_plain(entry.name) and count < MAX_FILES
            raw = shelf.read(f"{name}/{path}", min(FILE_BYTES, left)) if sound else None
            if raw is not None:
                left, count = left - len(raw), count + 1
            yield path if _is_plain(entry.name) else f"{part}/…", raw


def main_of(shelf: Shelf, name: str) -> bytes | None:
    """Return the skill's SKILL.md, to one byte more than is read; None where it is no plain file."""
    listed = [one for one in shelf.listing(name) if one.name == MAIN]
    if not listed or listed[0].kind != "file":
        return None
    return shelf.read(f"{name}/{MAIN}", 64 * SKILL_BYTES)


def _is_plain(name: str) -> bool:
    return (
        name.isascii()
        and name[:1] not in ("", ".", "-")
        and all(char.isalnum() or char in "._-" for char in name)
        and len(name) <= 100
    )


def _skills(found: tuple[contents.FolderEntry, ...]) -> tuple[str, ...]:
    return tuple(one.name for one in found if one.kind == "dir" and NAME.fullmatch(one.name))


def _entries(place: Path) -> tuple[contents.FolderEntry, ...]:
    try:
        if place.is_symlink():
            return ()
        with os.scandir(place) as listed:
            found = [
                contents.FolderEntry(one.name, _kind(one), one.stat(follow_symlinks=False).st_size)
                for one in listed
            ]
    except OSError:
        return ()
    return tuple(sorted(found))[: contents.MAX_ENTRIES]


def _kind(one: "os.DirEntry[str]") -> str:
    if one.is_symlink():
        return "symlink"
    return "dir" if one.is_dir(follow_symlinks=False) else "file"
