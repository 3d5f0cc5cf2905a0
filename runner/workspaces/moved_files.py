"""Files moved out of a folder that an agent wrote: no link is followed, and nothing but plain files moves."""

import fnmatch
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from runner.errors import WorkspaceError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
MAX_FILES = 1000


def move_files(source: Path, target: Path, patterns: Sequence[str]) -> None:
    """Move the plain files of `source` that fit a pattern to the same place in `target`, which is empty.

    A part of a pattern fits a part of a path. Folders on the way are made anew, with the owner of `target`.
    Raises WorkspaceError.
    """
    try:
        with _folder_at(source) as here, _folder_at(target) as there:
            moved = 0
            for pattern in patterns:
                moved += _move_fitting(here, there, pattern.split("/"), MAX_FILES - moved)
    except OSError as error:
        raise WorkspaceError("keeping the session", error.strerror or str(error)) from error


def _move_fitting(here: int, there: int, parts: Sequence[str], most: int) -> int:
    """Move the files that fit, so many at most; return how many."""
    moved = 0
    for name in _names_like(here, parts[0]):
        if moved >= most:
            break
        kind = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
        if len(parts) == 1:
            if stat.S_ISREG(kind):
                os.rename(name, name, src_dir_fd=here, dst_dir_fd=there)
                os.chmod(name, stat.S_IRUSR | stat.S_IWUSR, dir_fd=there)
                moved += 1
        elif stat.S_ISDIR(kind):
            moved += _move_inside(here, there, name, parts[1:], most - moved)
    return moved


def _move_inside(here: int, there: int, name: str, parts: Sequence[str], most: int) -> int:
    os.chmod(name, stat.S_IRWXU, dir_fd=here)  # its owner may have taken that away
    with ExitStack() as stack:
        inside = stack.enter_context(_folder_at(name, here))
        made = False
        try:
            os.mkdir(name, stat.S_IRWXU, dir_fd=there)
            made = True
        except FileExistsError:
            pass
        beside = stack.enter_context(_folder_at(name, there))
        if made:
            owner = os.stat(there)
            os.chown(beside, owner.st_uid, owner.st_gid)
        return _move_fitting(inside, beside, parts, most)


def _names_like(folder: int, pattern: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if fnmatch.fnmatchcase(entry.name, pattern))


@contextmanager
def _folder_at(path: Path | str, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
