"""The whole output of one check, as it goes into the store: evidence names it by its digest."""

from collections import deque

from runner.artifacts.store import CAP_BYTES, Store, Stored
from runner.text.redact import redact

GAP_BYTES = 1_000  # for the line that tells what is left out


class CheckLog:
    """Collects lines; of an output over the cap the beginning and the end are kept, and the gap is told."""

    def __init__(self, cap_bytes: int = CAP_BYTES) -> None:
        self._half = cap_bytes // 2
        self._begun: list[str] = []
        self._last: deque[str] = deque()
        self._begun_bytes = self._last_bytes = self._cut_bytes = 0
        self._text: str | None = None

    def add(self, line: str) -> None:
        """Take one more line."""
        self._text = None
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

    def text(self) -> str:
        """Return what was collected, redacted."""
        if self._text is None:
            gap = [f"[{self._cut_bytes} bytes are left out]"] if self._cut_bytes else []
            self._text = redact("\n".join((*self._begun, *gap, *self._last, "")))
        return self._text

    def keep(self, store: Store) -> Stored:
        """Put the output into the store, without what looks like a secret, and return what it is there:
        `sha256sum` of the file gives the digest that is evidence.
        """
        return store.keep(self.text(), CAP_BYTES + GAP_BYTES)
