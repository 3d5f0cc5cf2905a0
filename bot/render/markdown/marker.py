"""The hidden line by which Cardinal knows its own comments again."""

import re
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

from ledger.ids import EntryKey

BEGIN = "<!-- what follows is kept up to date by Cardinal, to its next hidden line -->"
OF_DRAFT = "convert:"  # begins the keys of entries that make issues of drafts
_MARKER = re.compile(r"<!-- cardinal:(?P<key>[^\s<>]{1,500}):(?P<digest>[0-9a-f]{64}) -->")


@dataclass(frozen=True, slots=True)
class Marker:
    """Identity of a marked comment: its outbox entry, and the SHA-256 of its visible text."""

    key: EntryKey
    digest: str


def text_digest(text: str) -> str:
    """Return the SHA-256 of `text` as hexadecimal digits."""
    return sha256(text.encode(errors="replace")).hexdigest()


def mark(text: str, key: EntryKey) -> str:
    """Return `text` with the marker of `key` as its last line."""
    # Two hyphens would end an HTML comment early in some parsers.
    name = quote(key, safe=":/#._-").replace("--", "%2D%2D")
    return f"{text}\n\n<!-- cardinal:{name}:{text_digest(text)} -->"


def marker_of(body: str) -> Marker | None:
    """Return the marker that ends `body`, or None: one that stands anywhere else is somebody's quote."""
    match = _MARKER.fullmatch(body.rstrip().rpartition("\n")[2])
    return _read(match) if match else None


def draft_of(body: str) -> str:
    """Return the id of the draft whose words an issue's `body` has by Cardinal's doing; else empty."""
    marker = marker_of(body)
    return marker.key.removeprefix(OF_DRAFT) if marker and marker.key.startswith(OF_DRAFT) else ""


def words_of_draft(body: str) -> str:
    """Return an issue's `body` without the marker under the words of a draft; any other as it is."""
    return without_marker(body) if draft_of(body) else body


def without_marker(body: str) -> str:
    """Return `body` without the marker that ends it, if one does."""
    return body.rstrip().rpartition("\n")[0].removesuffix("\n") if marker_of(body) else body


def markers_in(body: str) -> tuple[Marker, ...]:
    """Return all markers of a text, wherever they stand; some may be quotes."""
    return tuple(map(_read, _MARKER.finditer(body)))


def _read(match: re.Match[str]) -> Marker:
    return Marker(EntryKey(unquote(match["key"])), match["digest"])


def put_part(body: str, part: str) -> str | None:
    """Return `body` with Cardinal's `part`, as `mark` made it, in the place of the present one.

    People's text before and after it stays. None where they removed Cardinal's part.
    """
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    last = next((at for at, line in enumerate(lines) if _MARKER.fullmatch(line.rstrip())), None)
    if last is None:
        return None
    first = lines[: last + 1].index(BEGIN) if BEGIN in lines[: last + 1] else 0
    return "\n".join([*lines[:first], *part.split("\n"), *lines[last + 1 :]])
