"""Files that hold secrets: for their owner alone, and never half written."""

import os
from pathlib import Path

MODE, FOLDER_MODE = 0o600, 0o700


def make_folder(folder: Path) -> None:
    """Make the folder and those above it that are missing, for this user alone; raises OSError."""
    for one in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        one.mkdir(mode=FOLDER_MODE, exist_ok=True)  # with `parents` those above would be for everybody


def write(path: Path, text: str) -> None:
    """Put `text` in the place of the file: after a crash it is the old one or the new one, never a part.

    The folder is made where it is missing; raises OSError.
    """
    make_folder(path.parent)
    if path.parent.stat().st_uid == os.geteuid():
        path.parent.chmod(FOLDER_MODE)  # it may have been there, for everybody to read
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    with os.fdopen(
        os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE), "w", encoding="utf-8"
    ) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
