"""Finished files get their names here: what was not synced is lost in a power cut, or is there and empty."""

import os
from pathlib import Path


def put_in_place(draft: Path, place: Path) -> None:
    """Give a finished file or folder its name: after a power cut the one before is there, or all of this.

    Raises OSError, also where a folder that is not empty has the name.
    """
    if draft.is_dir():
        for part in draft.rglob("*"):
            if part.is_dir() or part.is_file():
                _sync(part)
    _sync(draft)
    draft.replace(place)
    _sync(place.parent)


def _sync(path: Path) -> None:
    """Return once the disk has the file, or the names in the folder."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
