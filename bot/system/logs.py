"""Logging: one line per record, `key=value`, without secrets, to standard error."""

import logging
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from bot.system.config import Config
from bot.system.secret import secrets_in
from runner.text.plain import REDACTED, redact

# What a terminal obeys, in the one-byte form as well; the line's own breaks are written out before.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LONGEST = 4000
# Where a secret stands: in addresses, in headers, after a name.
_USER = re.compile(r"(?<=://)[^\s/?#\"'<>`\\]+(?=@)")  # to the last @, as addresses are read
_QUERY = re.compile(r"(?<=[?&;#])([A-Za-z0-9_.%\[\]~-]{1,60}=)[^\s&;#\"'<>`\\]+")
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z0-9-]{0,40}(?:key|token|secret|signature)[a-z0-9-]{0,40})"
    r"(\\?[\"']?\s*+[:=]\s*+(?:\\?(?P<quote>[\"']))?)(?(quote)[^\r\n\"'\\]+|[^\r\n]+)"
)
_NAME = (
    r"(?i)((?:(?:secret|passw(?:or)?d|passphrase|credential|(?:api|private|access|signing)[_-]?key)[a-z0-9_-]{0,40}"
    r"|token[a-z0-9_-]{0,40}(?!\W{0,6}\d+\b))\\?[\"']?\s{0,9}[:=]\s{0,9}"  # a number of tokens is none
)
_VALUE = r"(?!secret\(|\[redacted)"
_QUOTED = re.compile(rf"{_NAME}b?\\?[\"']){_VALUE}[^\"'\\\r\n]{{3,}}")
_NAMED = re.compile(rf"{_NAME}){_VALUE}[^\s\"'&;\\]{{3,}}")


class Lines(logging.Formatter):
    """Formats a record as one line: `time level name message`, without any of the `secrets`."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with a traceback on the same line: tools count lines."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = record.getMessage()
        if record.exc_info:
            text += f" traceback={self.formatException(record.exc_info)!r}"
        clean = scrub(text, self._secrets)
        clean = clean.replace("\r", "\\r").replace("\n", "\\n")
        clean = CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", clean)
        if len(clean) > LONGEST:
            clean = f"{clean[:LONGEST]}… cut={len(clean) - LONGEST}"
        return f"{at} {record.levelname.lower()} {record.process} {record.name} {clean}"


def set_up_logs(config: Config) -> None:
    """Send every record of at least the configured level to standard error, instead of elsewhere."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(Lines(secrets_in(config)))
    root = logging.getLogger()
    root.handlers[:] = [lines]
    root.setLevel(config.log_level.upper())
    for chatty in ("urllib3", "github", "rq", "uvicorn", "werkzeug"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without these secrets, look-alikes, and values in the place of one: before the `@` and
    after the `?` of an address, in a header, after a name such as `token=`.
    """
    clean = _USER.sub(REDACTED, redact(text, secrets))
    clean = _HEADER.sub(rf"\1\2{REDACTED}", _QUERY.sub(rf"\1{REDACTED}", clean))
    return _NAMED.sub(rf"\1{REDACTED}", _QUOTED.sub(rf"\1{REDACTED}", clean))
