"""The hidden line by which Cardinal knows its own comments again."""

import re
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

from ledger.ids import EntryKey

_MARKER = re.compile(r"<!-- cardinal:(?P<key>[^\s<>]{1,500}):(?P<digest>[0-9a-f]{64}) -->")


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marked comment is: the entry that it carries out and the SHA-256 of its visible text."""

    key: EntryKey
    digest: str


def digest_of(text: str) -> str:
    """Return the SHA-256 of `text` as hexadecimal digits."""
    return sha256(text.encode(errors="replace")).hexdigest()


def mark(text: str, key: EntryKey) -> str:
    """Return `text` with the marker of `key` as its last line."""
    return f"{text}\n\n<!-- cardinal:{_escape(key)}:{digest_of(text)} -->"


def marker_of(body: str) -> Marker | None:
    """Return the marker that ends `body`, or None: one that stands anywhere else is somebody's quote."""
    found = _MARKER.fullmatch(body.rstrip().rpartition("\n")[2])
    return Marker(EntryKey(unquote(found["key"])), found["digest"]) if found else None


def _escape(key: str) -> str:
    # Two hyphens would end an HTML comment early in some parsers.
    return quote(key, safe=":/#._-").replace("--", "%2D%2D")
