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
    """Return the folder's entries by name; nothing if it is missing or no folder."""
    found = _asked(hub, repository, folder, commit)
    if not isinstance(found, list):
        return ()
    listed = (
        FolderEntry(str(one.get("name", "")), str(one.get("type", "")), int(one.get("size") or 0))
        for one in found[:MAX_ENTRIES]
        if isinstance(one, dict)
    )
    return tuple(sorted(listed))


def content(hub: Hub, repository: str, path: str, commit: str, *, most_bytes: int) -> bytes | None:
    """Return the file's bytes; None if it is missing, no plain file, or larger than `most_bytes`.

    GitHub follows a link to a file, so call this only for files of `entries`.
    """
    found = _asked(hub, repository, path, commit)
    if not isinstance(found, dict) or found.get("type") != "file" or found.get("encoding") != "base64":
        return None
    try:
        raw = base64.b64decode(str(found.get("content", "")))
    except binascii.Error:
        return None
    return raw if len(raw) <= most_bytes else None


def _asked(hub: Hub, repository: str, path: str, commit: str) -> object:
    where = f"{repository_path(repository)}/contents/{quote(path)}"
    try:
        found: object = hub.rest("GET", where, params={"ref": commit}).body
    except NotFoundError:
        return None
    return found
