"""Places of skills and personas: a repository at one commit, the operator's private folder.

Nothing of them is run.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.github.api import contents
from bot.github.client import Hub
from rules.policy.markdown.skill import NAME, SKILL_BYTES
from rules.runs.skills import OPERATOR, REPOSITORY

ROOT = ".github/cardinal/skills"
MAIN = "SKILL.md"
PARTS = ("references", "scripts")
MAX_SKILLS = 20  # that are looked at in one place: each costs two calls of GitHub
MAX_FILES = 20
FILE_BYTES = 64_000
MAX_BYTES = 256_000  # of all files of one skill


@dataclass(frozen=True, slots=True)
class Shelf:
    """One place of skills or personas, without any link. `source` as in an offer, or of a persona.

    `listing` returns a folder's entries. `read` returns a plain file's bytes, None where there is none or a
    larger one.
    """

    source: str
    listing: Callable[[str], tuple[contents.FolderEntry, ...]]
    read: Callable[[str, int], bytes | None]

    @property
    def is_private(self) -> bool:
        return self.source == OPERATOR

    def names(self) -> tuple[str, ...]:
        """Return the folders that can be skills, sorted."""
        folders = (entry.name for entry in self.listing("") if entry.kind == "dir")
        return tuple(name for name in folders if NAME.fullmatch(name))


def repository_shelf(
    hub: Hub, repository: str, commit: str, root: str = ROOT, source: str = REPOSITORY
) -> Shelf:
    """Return what is below a folder, that of skills by default, at a commit of the default branch."""

    def listing(path: str) -> tuple[contents.FolderEntry, ...]:
        folder = f"{root}/{path}" if path else root
        return contents.entries(hub, repository, folder, commit) if commit else ()

    def read(path: str, most_bytes: int) -> bytes | None:
        return contents.content(hub, repository, f"{root}/{path}", commit, most_bytes=most_bytes)

    return Shelf(source, listing, read)


def folder_shelf(root: Path, source: str = OPERATOR) -> Shelf:
    """Return what is in a folder of this machine, the operator's own unless `source` is another."""

    def read(path: str, most_bytes: int) -> bytes | None:
        try:  # without waiting for a pipe
            descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            raw = opened.read(most_bytes + 1)
        return raw if len(raw) <= most_bytes else None

    return Shelf(source, lambda path: _entries(root / path), read)


def files_of(shelf: Shelf, name: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield the plain files of a skill's `references/` and `scripts/` by their path in it; None: left out.

    Left out are large files, too many files, links, folders and odd names.
    """
    left, count = MAX_BYTES, 0
    parts = {entry.name for entry in shelf.listing(name) if entry.kind == "dir"}
    for part in (folder for folder in PARTS if folder in parts):
        for entry in shelf.listing(f"{name}/{part}")[: 2 * MAX_FILES]:
            path = f"{part}/{entry.name}"
            sound = entry.kind == "file" and _is_plain(entry.name) and count < MAX_FILES
            raw = shelf.read(f"{name}/{path}", min(FILE_BYTES, left)) if sound else None
            if raw is not None:
                left, count = left - len(raw), count + 1
            yield path if _is_plain(entry.name) else f"{part}/…", raw


def main_of(shelf: Shelf, name: str) -> bytes | None:
    """Return the skill's SKILL.md, to one byte more than is read; None where it is no plain file."""
    listed = [entry for entry in shelf.listing(name) if entry.name == MAIN]
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


def _entries(place: Path) -> tuple[contents.FolderEntry, ...]:
    try:
        if place.is_symlink():
            return ()
        with os.scandir(place) as listed:
            files = [
                contents.FolderEntry(entry.name, _kind(entry), entry.stat(follow_symlinks=False).st_size)
                for entry in listed
            ]
    except OSError:
        return ()
    return tuple(sorted(files))[: contents.MAX_ENTRIES]


def _kind(entry: "os.DirEntry[str]") -> str:
    if entry.is_symlink():
        return "symlink"
    return "dir" if entry.is_dir(follow_symlinks=False) else "file"
