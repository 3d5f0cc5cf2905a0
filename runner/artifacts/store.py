"""A host's store of artifacts: files by the SHA-256 of their bytes, so that no change goes unnoticed."""

import hashlib
import logging
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO

from runner.artifacts import sealing
from runner.artifacts.backend import DIGEST, Beat, BlobBackend, Listed, StoreError, pieces, unheard
from runner.artifacts.folder import FolderStore
from runner.artifacts.s3 import S3Store
from runner.artifacts.sealing import key_of
from runner.errors import OversizedRepositoryError
from runner.run.run_spec import HostPaths, StoreSpec
from runner.text.plain import redact

_OTHER_KEY = "give this host the CARDINAL_STORE_ENCRYPTION_KEY of the one that wrote it"
log = logging.getLogger(__name__)
CAP_BYTES = 10_000_000  # of one file; from a longer text the middle is taken out


class BlobStore:
    """A store over a backend; with a key, its files are unreadable. Every method raises StoreError."""

    def __init__(self, backend: BlobBackend, key: bytes = b"") -> None:
        self._backend, self._key = backend, key

    @property
    def address(self) -> str:
        return self._backend.address

    def put(self, source: BinaryIO, digest: str, *, beat: Beat = unheard) -> None:
        """Write all bytes of `source`, which are of that digest; again does no harm, and renews the age."""
        if not self._key:
            self._backend.put(source, digest, beat=beat)
            return
        with tempfile.TemporaryFile() as sealed:
            source.seek(0)
            sealing.seal(source, sealed, self._key, digest)
            self._backend.put(sealed, digest, beat=beat)

    def get(self, digest: str, *, beat: Beat = unheard) -> FileIO | None:
        """Return a blob as a file at its beginning, for the caller to close; None for a missing or
        damaged one.

        It is unbuffered and never loaded as a whole: a web server can send from the descriptor itself.
        """
        if not DIGEST.fullmatch(digest):
            return None
        with ExitStack() as until_sound:
            file = self._backend.get(digest, beat=beat)
            if file is None:
                return None
            until_sound.enter_context(file)
            if sealing.is_sealed(file):
                with file as sealed:
                    file = until_sound.enter_context(self._clear(sealed, digest))
            known = hashlib.sha256()
            for chunk in pieces(file, self.address, "read", beat):
                known.update(chunk)
            if known.hexdigest() != digest:
                return None
            file.seek(0)
            until_sound.pop_all()
            return file

    def age_s(self, digest: str) -> float | None:
        """Return the seconds since a blob was written; None where there is no such blob."""
        return self._backend.age_s(digest)

    def listing(self) -> Iterator[Listed]:
        return self._backend.listing()

    def delete(self, digest: str) -> None:
        """Remove a blob, if it exists."""
        self._backend.delete(digest)

    def _clear(self, sealed: FileIO, digest: str) -> FileIO:
        """Return an encrypted blob in clear, in a file without a name."""
        if not self._key:
            raise StoreError(self.address, "read", "the stored file is encrypted", _OTHER_KEY)
        with ExitStack() as until_clear:
            clear = until_clear.enter_context(tempfile.TemporaryFile(buffering=0))
            try:
                sealing.unseal(sealed, clear, self._key, digest)
            except sealing.WrongKeyError as error:
                why = "it was encrypted with another key"
                raise StoreError(self.address, "read", why, _OTHER_KEY) from error
            clear.seek(0)
            until_clear.pop_all()
            return clear


def open_store(spec: StoreSpec, own: Path) -> BlobStore:
    """Return the store; `own` is the folder of a home that shares none. Nothing is connected to yet."""
    key = key_of(spec.encryption_key)
    if spec.address.startswith("s3://"):
        return BlobStore(S3Store(spec), key)
    folder = FolderStore(Path(spec.address), spec.mark) if spec.address else FolderStore(own)
    return BlobStore(folder, key)


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
        try:
            return self.keep_work(content, cap_bytes)
        except StoreError as error:
            log.warning("artifact not stored reason=%s", error)
            raw = _as_kept(content, cap_bytes)
            return Stored(hashlib.sha256(raw).hexdigest(), len(raw), str(error))

    def keep_work(self, content: str | bytes, cap_bytes: int = CAP_BYTES) -> Stored:
        """Write what the run was for, as `keep` does a file beside it. Raises StoreError too."""
        raw = _as_kept(content, cap_bytes)
        digest = hashlib.sha256(raw).hexdigest()
        self._blobs.put(BytesIO(raw), digest)
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
        self._blobs.delete(digest)

    def young(self, digest: str, age_s: float) -> bool:
        """Return whether the file was written within that time; False for a missing one."""
        known_s = self._blobs.age_s(digest)
        return known_s is not None and known_s < age_s

    def older_than(self, age_s: float) -> Iterator[str]:
        """Yield the names of all older files, half-written ones included."""
        return (blob.name for blob in self._blobs.listing() if blob.age_s >= age_s)


def _as_kept(content: str | bytes, cap_bytes: int) -> bytes:
    """Return a text redacted and shortened, and bytes as they are. Raises OversizedRepositoryError."""
    if isinstance(content, str):
        return shorten(redact(content).encode("utf-8", "replace"), cap_bytes)
    if len(content) > cap_bytes:
        raise OversizedRepositoryError("a file that the run leaves", cap_bytes)
    return content


def store_of(places: HostPaths) -> Store:
    return Store(open_store(places.store, places.artifacts))


def shorten(raw: bytes, cap_bytes: int) -> bytes:
    """Return a text over the cap as its beginning and end, with the gap marked."""
    if len(raw) <= cap_bytes:
        return raw
    half = cap_bytes // 2
    gap = f"\n[{len(raw) - 2 * half} bytes are left out]\n".encode()
    return raw[:half] + gap + raw[-half:]
