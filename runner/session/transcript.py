"""The debug log of a run: every line of its agent, redacted and capped, in a file that only people read."""

import re
from pathlib import Path

from runner.text.redact import REDACTED, redact
from runner.text.truncate import cut

_CAP_BYTES = 10_000_000
_LINE_BYTES = 4_000
# Words that are streamed piece by piece: the whole follows, and a secret in pieces has no shape.
_PIECE = re.compile(r'("delta":\s*)"(?:[^"\\]|\\.)*+"')
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?!.*-----END )", re.DOTALL)
_KEY_GOES_ON = re.compile(r"[\w+/=:,. -]*")


class Transcript:
    """Appends to `<logs>/<run>.log`; past its cap it writes one last line and then nothing."""

    def __init__(self, logs: Path, run_id: str) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._file = (logs / f"{run_id}.log").open("ab")
        self._left = _CAP_BYTES - self._file.tell()
        self._within_key: set[str] = set()

    def write(self, mark: str, text: str) -> None:
        """Write one line, led by a mark: `>` stdout, `!` stderr, `#` Cardinal's own words."""
        if self._left <= 0:
            return
        line = f"{mark} {cut(self._clean(mark, text), _LINE_BYTES)}\n".encode()
        self._left -= len(line)
        self._file.write(line if self._left > 0 else b"# the log is full\n")

    def _clean(self, mark: str, text: str) -> str:
        """Take secrets out, also a private key that has a line of the log for each of its own."""
        if mark in self._within_key:
            if "-----END " not in text and _KEY_GOES_ON.fullmatch(text):
                return REDACTED
            self._within_key.discard(mark)
        if _KEY_BEGINS.search(text):
            self._within_key.add(mark)
        return redact(_PIECE.sub(r'\1"…"', text))

    def close(self) -> None:
        """Write out and close the file."""
        self._file.close()
