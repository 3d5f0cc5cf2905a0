"""Leftovers of runs in the mirrors: refs, and files of interrupted exports."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from ledger.ids import RunId
from runner.errors import GitError
from runner.exec.child import Ran
from runner.git.cli import run_git
from runner.git.mirror import HALF_MADE
from runner.text.plain import one_line, redact

MAX_RUNS = 500  # whose refs are removed at once, of one mirror
_REFS = "refs/cardinal/"
_EXPORTS = ("*.pack", "*.quarantine")
_GIT_S = 60.0
LOCK_S = 10  # a mirror that a fetch holds for longer has its turn the next time


def exports(mirrors: Path) -> Iterator[tuple[Path, RunId, int]]:
    """Yield the files of exports, each with its run and the generation of its claim."""
    for path in sorted(path for shape in _EXPORTS for path in mirrors.glob(shape)):
        run_id, _, generation = path.stem.rpartition("-")
        yield path, RunId(run_id), int(generation) if generation.isdigit() else 0


def list_unfinished_mirrors(mirrors: Path) -> tuple[Path, ...]:
    """Return what runs left that were killed while they made a mirror, and what others make just now."""
    return tuple(sorted(mirrors.glob(f"*{HALF_MADE}")))


def remove(export: Path) -> None:
    """Remove an export, or a mirror, if it exists."""
    if export.is_dir():
        shutil.rmtree(export, ignore_errors=True)
    else:
        export.unlink(missing_ok=True)


def mirrors_in(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(head.parent for head in folder.glob("*.git/HEAD")))


def runs_in(mirror: Path) -> tuple[RunId, ...]:
    """Return the runs that have refs in a mirror, each once. Raises GitError."""
    return tuple(dict.fromkeys(run_id for run_id, _ in _refs(mirror)))


def forget(mirror: Path, run_ids: Iterable[RunId]) -> None:
    """Remove all refs of these runs, at most MAX_RUNS of them. Raises GitError."""
    gone = set(list(run_ids)[:MAX_RUNS])
    rows = "".join(f"delete {ref}\n" for run_id, ref in _refs(mirror) if run_id in gone)
    _git(mirror, "update-ref", "--stdin", given=rows.encode(), lock=mirror / "cardinal.lock")


def _refs(mirror: Path) -> Iterator[tuple[RunId, str]]:
    for ref in _git(mirror, "for-each-ref", "--format=%(refname)", _REFS).out.splitlines():
        yield RunId(ref.removeprefix(_REFS).rpartition("-")[0]), ref


def _git(mirror: Path, *args: str, given: bytes = b"", lock: Path | None = None) -> Ran:
    """Run one git command there, waiting for nobody but where it writes. Raises GitError."""
    ran = run_git(
        args,
        folder=mirror,
        beat=lambda: None,
        timeout_s=_GIT_S,
        lock=lock,
        lock_s=LOCK_S,
        given=given,
        bare=True,
    )
    if ran.exit_code != 0:
        raise GitError(args[0], one_line(redact(ran.tail)))
    return ran
