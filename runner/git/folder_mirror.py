"""The host's bare repository of files that are on no GitHub: its heads are snapshots in the blob store."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path

from ledger.model.run_modes import SCRATCH_BEGINS
from ledger.rows.folders import SnapshotRow
from runner.artifacts.backend import pieces, unheard
from runner.errors import LostSnapshotError
from runner.git.commits import Commit, unquote_path
from runner.git.mirror import Beat, Mirror
from runner.git.object_files import read_ref
from runner.run.run_spec import Remote

SNAPSHOT = "snapshot"  # ends the name of a run's snapshot under refs/cardinal
_NOBODY = "Cardinal <cardinal@localhost>"  # a fixed name and time: the first commit is the same on all hosts
_THEN = "0 +0000"
_BEGINS = "_"  # no owner on GitHub begins so
_PLAIN_FILES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file of a commit that is neither a link nor a submodule."""

    path: str
    blob: str
    size_bytes: int


def is_of_folder(mirror: Path) -> bool:
    """Tell whether a mirror's folder is that of a FolderMirror: no repository's begins like it."""
    return mirror.name.startswith(_BEGINS)


class FolderMirror(Mirror):
    """Gives the snapshot in force as GitHub's `branch`; the base is the empty commit, or that as well.

    `newest` reads the ledger, `get` opens a blob of the store.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        remote: Remote,
        beat: Beat,
        *,
        branch: str,
        newest: Callable[[], SnapshotRow | None],
        get: Callable[[str], FileIO | None],
    ) -> None:
        super().__init__(folder, f"{_BEGINS}{name}", remote, beat)
        self._branch, self._newest, self._get, self._lost = branch, newest, get, ""

    @property
    def web_address(self) -> str:
        """Empty: people know no address of it."""
        return ""

    def explain_missing(self) -> str:
        """Return a sentence for people on files that are gone from the store; empty where none are."""
        return self._lost

    def fetch(self, base_branch: str) -> str:
        """Bring the snapshot in force; return the base. Raises LostSnapshotError, StoreError or GitError."""
        self.make_whole()
        self.path.touch()  # it is in use
        empty = self._make_empty_commit()
        row, self._lost = self._newest(), ""
        if row is not None and not self.has(row.commit):
            row = self._bring(row)
        if self._branch == base_branch:
            self._set(base_branch, row.commit if row else empty)
        else:
            self._set(base_branch, empty)
            self._set(self._branch, row.commit if row else "")
        return self.head(base_branch)

    def list_plain_files(self, commit: str) -> tuple[PlainFile, ...]:
        """Return the files of a commit in the order of their paths."""
        found = []
        for line in self.query("ls-tree", "-r", "-l", commit).splitlines():
            about, _, path = line.partition("\t")
            mode, _, blob, size = about.split()
            if mode in _PLAIN_FILES:
                found.append(PlainFile(unquote_path(path), blob, int(size)))
        return tuple(found)

    def read_blob(self, blob: str) -> bytes:
        """Return the bytes of a file as they are. Raises GitError."""
        file = self.path / Path(self.query("unpack-file", blob).strip()).name
        try:
            return file.read_bytes()
        finally:
            file.unlink(missing_ok=True)

    def write_bundle(self, target: Path, name: str) -> None:
        """Write refs/cardinal/`name` with its whole history to a file. Raises GitError."""
        self.query("bundle", "create", "--quiet", str(target.resolve()), f"refs/cardinal/{name}")

    def without_history(self, commit: str) -> str:
        """Return a commit of the same files that has nothing behind it."""
        return self.make_commit(replace(self.read_commits((commit,))[0], parents=()))

    def _make_empty_commit(self) -> str:
        tree = self.query("mktree").strip()
        return self.make_commit(Commit("", tree, (), _NOBODY, _THEN, _NOBODY, _THEN, "An empty place"))

    def _bring(self, row: SnapshotRow) -> SnapshotRow | None:
        """Bring a snapshot; None where that of one card is not kept any more."""
        file = self._get(row.bundle)
        if file is None and row.folder.startswith(SCRATCH_BEGINS):
            self._lost = f"What {row.run_id} left is not in the store any more: the place is empty again."
            return None
        if file is None:
            raise LostSnapshotError(row.run_id)
        bundle = self.path.parent / f"{row.run_id}-{row.seq}.bundle"
        try:
            with file, bundle.open("wb") as copy:
                for piece in pieces(file, "the store", "read", unheard):
                    copy.write(piece)
            name = f"{row.run_id}-{SNAPSHOT}"
            self.take_bundle(bundle, name, f"refs/cardinal/{name}")
        finally:
            bundle.unlink(missing_ok=True)
        return row

    def _set(self, branch: str, commit: str) -> None:
        ref = f"refs/heads/{branch}"
        known = read_ref(self.path, ref)
        if commit and commit != known:
            self.query("update-ref", ref, commit)
        elif known and not commit:
            self.query("update-ref", "-d", ref)
