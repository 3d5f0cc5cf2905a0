"""Logging: one line per record, `key=value` or JSON, without secrets, to standard error."""

import json
import logging
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from bot.system import current_work
from bot.system.config import Config
from bot.system.secret import secrets_in
from runner.text.plain import REDACTED, redact

# What a terminal obeys, in the one-byte form as well; the line's own breaks are written out before.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LONGEST = 4000
WORK = ("run", "card", "delivery")  # kinds of a process's work that programs search for
# A value in a record's fixed wording, after its name if it has one.
_VALUE_OF = re.compile(r"(?:\b([a-z_]+)=)?%(?:%|[0-9.]*[a-z])")
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
    """Formats a record as one line: `time level process name message`, without any of the `secrets`."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with a traceback on the same line: tools count lines."""
        text = record.getMessage()
        if record.exc_info:
            text += f" traceback={self.formatException(record.exc_info)!r}"
        return f"{_time(record)} {record.levelname.lower()} {record.process} {record.name} {self.clean(text)}"

    def clean(self, text: str) -> str:
        """Return the text as one line without secrets, cut where it is too long."""
        clean = scrub(text, self._secrets)
        clean = clean.replace("\r", "\\r").replace("\n", "\\n")
        clean = CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", clean)
        return clean if len(clean) <= LONGEST else f"{clean[:LONGEST]}… cut={len(clean) - LONGEST}"


class JsonLines(Lines):
    """Formats a record as one line of JSON: the same text, the values in it by name, and the process's work.

    Names and values are those of the record's fixed wording: nothing is read out of the text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; what the process works on is named by its kind: `run`, `card` or `delivery`."""
        entry: dict[str, object] = {}
        for name in current_work.list_work_names():
            kind, _, which = name.partition(":")
            if kind in WORK:
                entry[kind] = self.clean(f"{entry[kind]} {which}" if kind in entry else which)
        named = [match[1] for match in _VALUE_OF.finditer(str(record.msg)) if match[0] != "%%"]
        if isinstance(record.args, tuple) and len(named) == len(record.args):
            for name, value in zip(named, record.args, strict=True):
                if name:
                    entry[name] = self.clean(f"{name}={value}").removeprefix(f"{name}=")
        if record.exc_info:
            entry["traceback"] = self.clean(self.formatException(record.exc_info))
        head = {"time": _time(record), "level": record.levelname.lower(), "process": record.process}
        head |= {"logger": record.name, "message": self.clean(record.getMessage())}
        return json.dumps({**entry, **head})


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def set_up_logs(config: Config) -> None:
    """Send every record of at least the configured level to standard error, instead of elsewhere."""
    lines = logging.StreamHandler(sys.stderr)
    formatter = JsonLines if config.log_format == "json" else Lines
    lines.setFormatter(formatter(secrets_in(config)))
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
