"""Blobs by the SHA-256 of their bytes: never changed, checked when they are read, encrypted where wanted."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from io import FileIO
from typing import BinaryIO

from runner.artifacts import sealing
from runner.artifacts.backend import DIGEST, Beat, BlobBackend, Listed, StoreError, pieces, unheard

_OTHER_KEY = "give this host the CARDINAL_STORE_ENCRYPTION_KEY of the one that wrote it"


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
