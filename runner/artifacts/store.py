"""Store of artifacts: files by the SHA-256 of their bytes, so that no change goes unnoticed."""

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from runner.errors import OversizedRepositoryError
from runner.text.plain import redact

CAP_BYTES = 10_000_000  # of one file; from a longer text the middle is taken out
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Stored:
    """A file in the store."""

    digest: str
    size_bytes: int


class Store:
    """Files at `<root>/<two digits>/<digest>`, readable by this user alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def keep(self, content: str | bytes, cap_bytes: int = CAP_BYTES) -> Stored:
        """Write a redacted text, or bytes as they are; an existing file only gets a new date.

        Raises OversizedRepositoryError for too many bytes; text is truncated instead.
        """
        if isinstance(content, str):
            raw = shortened(redact(content).encode("utf-8", "replace"), cap_bytes)
        elif len(content) <= cap_bytes:
            raw = content
        else:
            raise OversizedRepositoryError("a file that the run leaves", cap_bytes)
        digest = hashlib.sha256(raw).hexdigest()
        folder = self._root / digest[:2]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(dir=folder, suffix=".new")
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
        # An existing file is replaced too, which repairs one that was damaged on the disk.
        Path(fresh).replace(folder / digest)
        return Stored(digest, len(raw))

    def read(self, digest: str) -> bytes | None:
        """Return a file's bytes; None for a missing or damaged file."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            raw = self._file(digest).read_bytes()
        except FileNotFoundError:
            return None
        return raw if hashlib.sha256(raw).hexdigest() == digest else None

    def opened(self, digest: str) -> FileIO | None:
        """Return a file at its beginning, for the caller to close; None as for `read`. It is not loaded.

        It is unbuffered: a web server can send from the descriptor itself.
        """
        if not _DIGEST.fullmatch(digest):
            return None
        with ExitStack() as until_sound:
            try:
                file = until_sound.enter_context(self._file(digest).open("rb", buffering=0))
            except FileNotFoundError:
                return None
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                return None
            file.seek(0)
            until_sound.pop_all()
            return file

    def remove(self, digest: str) -> None:
        """Remove a file, if it exists."""
        self._file(digest).unlink(missing_ok=True)

    def young(self, digest: str, age_s: float) -> bool:
        """Return whether the file was written within that time; False for a missing one."""
        try:
            return time.time() - self._file(digest).stat().st_mtime < age_s
        except FileNotFoundError:
            return False

    def older_than(self, age_s: float) -> Iterator[str]:
        """Yield the names of all older files, half-written ones included."""
        for file in sorted(self._root.glob("??/*")):
            try:
                if time.time() - file.stat().st_mtime >= age_s:
                    yield file.name
            except FileNotFoundError:
                continue

    def _file(self, name: str) -> Path:
        return self._root / name[:2] / name


def shortened(raw: bytes, cap_bytes: int) -> bytes:
    """Return a text over the cap as its beginning and end, with the gap marked."""
    if len(raw) <= cap_bytes:
        return raw
    half = cap_bytes // 2
    gap = f"\n[{len(raw) - 2 * half} bytes are left out]\n".encode()
    return raw[:half] + gap + raw[-half:]
