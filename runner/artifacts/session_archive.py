"""Archive of an agent's session: made anew on the host, of plain files alone, and without secrets."""

import gzip
import io
import json
import tarfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from runner.errors import RunnerError
from runner.text.plain import redact

MAX_FILES = 1_000
_LINES = (".jsonl", ".json")


class SessionArchiveError(RunnerError):
    """The session's files cannot be kept; the message says why."""


def rewrite(source: Path, target: Path, patterns: Sequence[str]) -> None:
    """Write the archive that a workspace left as one of only these files; the same files make the same bytes.

    Lines of JSON lose texts that look like a secret. Raises SessionArchiveError for any other file that holds
    one.
    """
    try:
        with (
            tarfile.open(source, "r:") as given,
            gzip.GzipFile(target, "wb", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as kept,
        ):
            for number, member in enumerate(given):
                if number >= MAX_FILES:
                    raise SessionArchiveError(f"it has more than {MAX_FILES:,} files")
                content = given.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is None or not _is_one_of(member.name, patterns):
                    raise SessionArchiveError("it has other files than an agent's")
                entry = tarfile.TarInfo(member.name)
                clean = _clean(member.name, content.read())
                entry.size, entry.mode = len(clean), 0o600
                kept.addfile(entry, io.BytesIO(clean))
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise SessionArchiveError(f"it cannot be read: {error}") from error


def _is_one_of(name: str, patterns: Sequence[str]) -> bool:
    return ".." not in name.split("/") and any(fnmatchcase(name, pattern) for pattern in patterns)


def _clean(name: str, raw: bytes) -> bytes:
    if not name.endswith(_LINES):
        text = raw.decode("latin-1")
        if redact(text) != text:
            raise SessionArchiveError("it holds what looks like a secret")
        return raw
    whole = raw if name.endswith(".json") else raw[: raw.rfind(b"\n") + 1]  # it may end in half a line
    return b"\n".join(map(_clean_line, whole.split(b"\n")))


def _clean_line(raw: bytes) -> bytes:
    line = raw.decode("utf-8", "replace")
    if redact(line) == line:
        return raw
    try:
        return json.dumps(_redacted(json.loads(line)), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return redact(line).encode("utf-8", "replace")


def _redacted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _redacted(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item) for item in value]
    return redact(value) if isinstance(value, str) else value
