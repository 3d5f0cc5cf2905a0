"""Logging: one line per record, `key=value`, without secrets, to standard error."""

import logging
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from bot.system.config import Config
from bot.system.scrub import scrub
from bot.system.secret import secrets_in

# What a terminal obeys, in the one-byte form as well; the line's own breaks are written out before.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LONGEST = 4000


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


def set_up(config: Config) -> None:
    """Send every record of at least the configured level to standard error, instead of elsewhere."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(Lines(secrets_in(config)))
    root = logging.getLogger()
    root.handlers[:] = [lines]
    root.setLevel(config.log_level.upper())
    for chatty in ("urllib3", "github", "rq", "uvicorn", "werkzeug"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
