"""Removes from logs and bundles what may open a door, by its place: addresses, headers, named values."""

import re
from collections.abc import Iterable

from runner.text.redact import REDACTED, redact

_USER = re.compile(r"(?<=://)[^\s/@?#\"'<>`\\]+(?=@)")
_QUERY = re.compile(r"(?<=[?&;#])([A-Za-z0-9_.%\[\]~-]{1,60}=)[^\s&;#\"'<>`\\,)]+")
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z0-9-]{0,40}(?:key|token|secret|signature)[a-z0-9-]{0,40})"
    r"(\\?[\"']?\s*[:=]\s*\\?[\"']?)[^\r\n\"'\\]+"
)
_NAMED = re.compile(
    r"(?i)([a-z0-9_-]{0,40}(?:token|secret|passw(?:or)?d|api[_-]?key|credential)[a-z0-9_-]{0,40}"
    r"\\?[\"']?\s*[:=]\s*\\?[\"']?)(?!\d+\b|secret\(|\[redacted)[^\s\"'&;,\\]{3,}"
)


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without these secrets, without what looks like one, and without what stands where one
    does: before the `@` and after the `?` of an address, in a header, after a name such as `token=`.
    """
    clean = _USER.sub(REDACTED, redact(text, secrets))
    clean = _HEADER.sub(rf"\1\2{REDACTED}", _QUERY.sub(rf"\1{REDACTED}", clean))
    return _NAMED.sub(rf"\1{REDACTED}", clean)
