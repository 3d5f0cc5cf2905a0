"""Folders and files for this user alone, whatever the umask says."""

import os
import stat
from pathlib import Path

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def make_folder(folder: Path) -> None:
    """Make the folder and those above it that are missing, for this user alone; raises OSError."""
    if not folder.exists():
        make_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)  # with `parents` those above would be for everybody


def make_file(path: Path) -> None:
    """Make an empty file, for this user alone; raises FileExistsError and other kinds of OSError."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))


def write_file(path: Path, content: bytes) -> None:
    """Write a file that this user alone can read, also where it was there before; raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "wb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # not a terminal or a pipe
            os.fchmod(file.fileno(), FILE_MODE)
        file.write(content)
