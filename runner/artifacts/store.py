"""Store of artifacts: files by the SHA-256 of their bytes, so that no change goes unnoticed."""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO, FileIO

from runner.artifacts.backend import StoreError
from runner.artifacts.blobs import BlobStore
from runner.artifacts.opening import open_store
from runner.errors import OversizedRepositoryError
from runner.run.run_spec import HostPaths
from runner.text.plain import redact

log = logging.getLogger(__name__)

CAP_BYTES = 10_000_000  # of one file; from a longer text the middle is taken out


@dataclass(frozen=True, slots=True)
class Stored:
    """A file in the store. `lost` says why it is not there; empty where it is."""

    digest: str
    size_bytes: int
    lost: str = ""


class Store:
    """Artifacts among the blobs of a store. Every method but `keep` raises StoreError."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def keep(self, content: str | bytes, cap_bytes: int = CAP_BYTES) -> Stored:
        """Write a redacted text, or bytes as they are; an existing file only gets a new date.

        A store that is away costs the file and not the run: the result says so. Raises
        OversizedRepositoryError for too many bytes; text is truncated instead.
        """
        if isinstance(content, str):
            raw = shorten(redact(content).encode("utf-8", "replace"), cap_bytes)
        elif len(content) <= cap_bytes:
            raw = content
        else:
            raise OversizedRepositoryError("a file that the run leaves", cap_bytes)
        digest = hashlib.sha256(raw).hexdigest()
        try:
            self._blobs.put(BytesIO(raw), digest)
        except StoreError as error:
            log.warning("artifact not stored digest=%s reason=%s", digest, error)
            return Stored(digest, len(raw), str(error))
        return Stored(digest, len(raw))

    def read(self, digest: str) -> bytes | None:
        """Return a file's bytes; None for a missing or damaged file."""
        file = self._blobs.get(digest)
        if file is None:
            return None
        with file:
            return file.read()

    def opened(self, digest: str) -> FileIO | None:
        """Return a file at its beginning, for the caller to close; None as for `read`. It is not loaded."""
        return self._blobs.get(digest)

    def remove(self, digest: str) -> None:
        """Remove a file, if it exists."""
        self._blobs.delete(digest)

    def young(self, digest: str, age_s: float) -> bool:
        """Return whether the file was written within that time; False for a missing one."""
        known_s = self._blobs.age_s(digest)
        return known_s is not None and known_s < age_s

    def older_than(self, age_s: float) -> Iterator[str]:
        """Yield the names of all older files, half-written ones included."""
        return (blob.name for blob in self._blobs.listing() if blob.age_s >= age_s)


def store_of(places: HostPaths) -> Store:
    """Return the artifacts in the store of a host."""
    return Store(open_store(places.store, places.artifacts))


def shorten(raw: bytes, cap_bytes: int) -> bytes:
    """Return a text over the cap as its beginning and end, with the gap marked."""
    if len(raw) <= cap_bytes:
        return raw
    half = cap_bytes // 2
    gap = f"\n[{len(raw) - 2 * half} bytes are left out]\n".encode()
    return raw[:half] + gap + raw[-half:]
