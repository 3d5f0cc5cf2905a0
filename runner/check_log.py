"""The whole output of one check, kept for people: named by its digest, so that evidence can be looked up."""

import hashlib
import os
from collections import deque
from pathlib import Path

from runner.redact import redact

CAP_BYTES = 10_000_000
FOLDER = "checks"


class CheckLog:
    """Collects lines; of an output over the cap the beginning and the end are kept, and the gap is told."""

    def __init__(self, cap_bytes: int = CAP_BYTES) -> None:
        self._half = cap_bytes // 2
        self._begun: list[str] = []
        self._last: deque[str] = deque()
        self._begun_bytes = self._last_bytes = self._cut_bytes = 0

    def add(self, line: str) -> None:
        """Take one more line."""
        size = len(line.encode("utf-8", "replace")) + 1
        if not self._last and self._begun_bytes + size <= self._half:
            self._begun.append(line)
            self._begun_bytes += size
            return
        self._last.append(line)
        self._last_bytes += size
        while self._last_bytes > self._half:
            gone = len(self._last.popleft().encode("utf-8", "replace")) + 1
            self._last_bytes -= gone
            self._cut_bytes += gone

    def keep(self, logs: Path) -> str:
        """Write the redacted output to `<logs>/checks/<digest>.log` and return that digest.

        It is the SHA-256 of the file as it stands there: `sha256sum` proves that nobody changed it.
        """
        gap = [f"[{self._cut_bytes} bytes are left out]"] if self._cut_bytes else []
        text = redact("\n".join((*self._begun, *gap, *self._last, "")))
        raw = text.encode("utf-8", "replace")
        digest = hashlib.sha256(raw).hexdigest()
        folder = logs / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f"{digest}.{os.getpid()}.new"
        fresh.write_bytes(raw)
        fresh.replace(folder / f"{digest}.log")
        return digest
