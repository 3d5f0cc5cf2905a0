"""Scrubbing of logs and bundles: secrets by their place, in addresses, headers and named values."""

import re
from collections.abc import Iterable

from runner.text.plain import REDACTED, redact

_USER = re.compile(r"(?<=://)[^\s/?#\"'<>`\\]+(?=@)")  # to the last @, as addresses are read
_QUERY = re.compile(r"(?<=[?&;#])([A-Za-z0-9_.%\[\]~-]{1,60}=)[^\s&;#\"'<>`\\]+")
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z0-9-]{0,40}(?:key|token|secret|signature)[a-z0-9-]{0,40})"
    r"(\\?[\"']?\s*[:=]\s*(?:\\?(?P<quote>[\"']))?)(?(quote)[^\r\n\"'\\]+|[^\r\n]+)"
)
_NAME = (
    r"(?i)((?:(?:secret|passw(?:or)?d|passphrase|credential|(?:api|private|access|signing)[_-]?key)[a-z0-9_-]{0,40}"
    r"|token[a-z0-9_-]{0,40}(?!\W{0,6}\d+\b))\\?[\"']?\s{0,9}[:=]\s{0,9}"  # a number of tokens is none
)
_VALUE = r"(?!secret\(|\[redacted)"
_QUOTED = re.compile(rf"{_NAME}b?\\?[\"']){_VALUE}[^\"'\\\r\n]{{3,}}")
_NAMED = re.compile(rf"{_NAME}){_VALUE}[^\s\"'&;\\]{{3,}}")


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without these secrets, look-alikes, and values in the place of one: before the `@` and
    after the `?` of an address, in a header, after a name such as `token=`.
    """
    clean = _USER.sub(REDACTED, redact(text, secrets))
    clean = _HEADER.sub(rf"\1\2{REDACTED}", _QUERY.sub(rf"\1{REDACTED}", clean))
    return _NAMED.sub(rf"\1{REDACTED}", _QUOTED.sub(rf"\1{REDACTED}", clean))
