"""The contract of a store's backend, its bounds and errors: blobs by name, streamed."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from typing import BinaryIO, Protocol

from runner.errors import RunnerError

MAX_BLOB_BYTES = 1_000_000_000
MAX_TRANSFER_S = 300.0  # of one blob, however steadily its bytes come
CHUNK_BYTES = 1 << 20
DIGEST = re.compile(r"[0-9a-f]{64}")
Beat = Callable[[], None]


def unheard() -> None:
    """Do nothing: the beat of who has nothing to keep alive."""


class StoreError(RunnerError):
    """The store could not be written or read; `away`: it may answer in a moment."""

    def __init__(self, address: str, what: str, why: str, remedy: str, *, away: bool = False) -> None:
        self.address, self.what, self.away = address, what, away
        super().__init__(f"the store at {address} could not be {what} ({why}): {remedy}")


class OversizedBlobError(StoreError):
    """A blob is larger than a store takes or gives."""

    def __init__(self, address: str, what: str) -> None:
        most = f"{MAX_BLOB_BYTES // 1_000_000} MB are the most for one blob"
        super().__init__(address, what, most, "make what the run leaves smaller")


@dataclass(frozen=True, slots=True)
class Listed:
    """A blob in a listing, and the seconds since it was written. A folder lists half-written files too."""

    name: str
    age_s: float


class ByteSource(Protocol):
    """Whatever bytes can be read from."""

    def read(self, most: int, /) -> bytes | None:
        """Return the next bytes, at most so many; nothing at the end."""


class BlobBackend(Protocol):
    """Where blobs lie. Every method raises StoreError; `beat` is called while bytes move, and may raise."""

    @property
    def address(self) -> str:
        """Where it is, for people; never with a credential."""

    def put(self, source: BinaryIO, name: str, *, beat: Beat = unheard) -> None:
        """Write all bytes of `source`; again does no harm, and renews the age."""

    def get(self, name: str, *, beat: Beat = unheard) -> FileIO | None:
        """Return a blob as an unbuffered file at its beginning, for the caller to close; None without one."""

    def age_s(self, name: str) -> float | None:
        """Return the seconds since it was written; None where there is no such blob."""

    def listing(self) -> Iterator[Listed]:
        """Yield all blobs."""

    def delete(self, name: str) -> None:
        """Remove a blob, if it exists."""


def pieces(source: ByteSource, address: str, what: str, beat: Beat = unheard) -> Iterator[bytes]:
    """Yield all bytes of a file or an answer. Raises StoreError over a bound."""
    moved, until = 0, time.monotonic() + MAX_TRANSFER_S
    while chunk := source.read(CHUNK_BYTES):
        beat()
        moved += len(chunk)
        if moved > MAX_BLOB_BYTES:
            raise OversizedBlobError(address, what)
        if time.monotonic() > until:
            raise slow(address, what)
        yield chunk


def slow(address: str, what: str) -> StoreError:
    """Return the error of a transfer that takes too long."""
    why = f"one blob took longer than {MAX_TRANSFER_S:.0f} s"
    return StoreError(address, what, why, "look at the line to it, then retry")
