"""Folders and files of a repository at one commit; links are not followed."""

import base64
import binascii
from typing import NamedTuple
from urllib.parse import quote

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError

MAX_ENTRIES = 1000  # docs.github.com/rest/repos/contents: a listing ends there


class FolderEntry(NamedTuple):
    """An entry of a folder. `kind`: file, dir, symlink or submodule."""

    name: str
    kind: str
    size_bytes: int


def entries(hub: Hub, repository: str, folder: str, commit: str) -> tuple[FolderEntry, ...]:
    """Return the folder's entries by name; nothing if it is missing or no folder.

    The folder above is read first, where there is one: its listing is kept, an absence is not.
    """
    above, _, name = folder.rpartition("/")
    siblings = entries(hub, repository, above, commit) if above else ()
    if above and len(siblings) < MAX_ENTRIES and name not in {entry.name for entry in siblings}:
        return ()
    listing = _contents(hub, repository, folder, commit)
    if not isinstance(listing, list):
        return ()
    listed = (
        FolderEntry(str(item.get("name", "")), str(item.get("type", "")), int(item.get("size") or 0))
        for item in listing[:MAX_ENTRIES]
        if isinstance(item, dict)
    )
    return tuple(sorted(listed))


def content(hub: Hub, repository: str, path: str, commit: str, *, most_bytes: int) -> bytes | None:
    """Return the file's bytes; None if it is missing, no plain file, or larger than `most_bytes`.

    GitHub follows a link to a file, so call this only for files of `entries`.
    """
    file = _contents(hub, repository, path, commit)
    if not isinstance(file, dict) or file.get("type") != "file" or file.get("encoding") != "base64":
        return None
    try:
        raw = base64.b64decode(str(file.get("content", "")))
    except binascii.Error:
        return None
    return raw if len(raw) <= most_bytes else None


def _contents(hub: Hub, repository: str, path: str, commit: str) -> object:
    where = f"{repository_path(repository)}/contents/{quote(path)}"
    try:
        answer: object = hub.at_commit(where, commit)
    except NotFoundError:
        return None
    return answer
