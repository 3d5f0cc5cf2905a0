"""A store in a folder of this machine, or in one that hosts share.

A shared one has a mark. A folder without it is where the store was mounted, and will be again.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ledger.lifecycle.in_place import put_in_place
from runner.artifacts.backend import Beat, Listed, StoreError, pieces, unheard

MARK = ".cardinal-store"
_REMEDY = "let this user write there and make room on its disk, or set CARDINAL_STORE"


class FolderStore:
    """Files at `<root>/<two digits>/<digest>`, readable by this user alone; a `mark` is demanded."""

    def __init__(self, root: Path, mark: str = "") -> None:
        self._root, self._mark = root, mark

    @property
    def address(self) -> str:
        return str(self._root)

    def put(self, source: BinaryIO, name: str, *, beat: Beat = unheard) -> None:
        """Write a file beside and move it into place, also of one that is there: it may be damaged."""
        with self._report_errors("written"), ExitStack() as unless_moved:
            self._demand_mark("written")
            folder = self._root / name[:2]
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The first digits again: so a half-written file is found by its name, too.
            descriptor, fresh = tempfile.mkstemp(dir=folder, prefix=name[:2], suffix=".new")
            unless_moved.callback(Path(fresh).unlink, missing_ok=True)
            source.seek(0)
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(pieces(source, self.address, "written", beat))
            put_in_place(Path(fresh), folder / name)  # before the event that names it
            unless_moved.pop_all()

    def get(self, name: str, *, beat: Beat = unheard) -> FileIO | None:  # noqa: ARG002 - the contract's
        with self._report_errors("read"):
            try:
                return self._file(name).open("rb", buffering=0)
            except FileNotFoundError:
                self._demand_mark("read")
                return None

    def age_s(self, name: str) -> float | None:
        """Return the seconds since the file was written, by the clock of whoever keeps the folder's files."""
        with self._report_errors("read"):
            try:
                written = self._file(name).stat().st_mtime
            except FileNotFoundError:
                self._demand_mark("read")
                return None
            return self._now() - written

    def listing(self) -> Iterator[Listed]:
        """Yield the files, half-written ones included."""
        with self._report_errors("read"):
            self._demand_mark("read")
            now = self._now() if self._root.exists() else 0.0
            for file in sorted(self._root.glob("??/*")):
                with suppress(FileNotFoundError):
                    yield Listed(file.name, now - file.stat().st_mtime)

    def delete(self, name: str) -> None:
        with self._report_errors("written"):
            self._demand_mark("written")
            self._file(name).unlink(missing_ok=True)

    def mark(self) -> str:
        """Return the mark of the folder, which gets one where it has none. Raises StoreError.

        No two hosts may call it at the same time.
        """
        with self._report_errors("written"):
            mark = self._read_mark()
            if not mark:
                self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
                mark = uuid4().hex
                fresh = self._root / f"{MARK}.new"
                fresh.write_text(f"{mark}\n", encoding="utf-8")
                put_in_place(fresh, self._root / MARK)
            return mark

    def _read_mark(self) -> str:
        try:
            return (self._root / MARK).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    def _demand_mark(self, what: str) -> None:
        if not self._mark or (there := self._read_mark()) == self._mark:
            return
        why = f"its file {MARK} is {'that of another store' if there else 'not there'}"
        remedy = (
            "mount the store there again; only where another folder is to be the store from now on:"
            f" echo {self._mark} > {self._root / MARK}"
        )
        raise StoreError(self.address, what, why, remedy, away=True)

    def _now(self) -> float:
        """Return the Unix time that a file written now gets: a server's, where hosts share the folder."""
        with tempfile.TemporaryFile(dir=self._root) as file:
            return os.fstat(file.fileno()).st_mtime

    def _file(self, name: str) -> Path:
        return self._root / name[:2] / name

    @contextmanager
    def _report_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(self.address, what, error.strerror or str(error), _REMEDY) from error
