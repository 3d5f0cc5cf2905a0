"""Files that hold secrets: for their owner alone, and never half written."""

import os
from pathlib import Path

from ledger.lifecycle.in_place import put_in_place
from ledger.lifecycle.private_files import FILE_MODE, FOLDER_MODE, make_file, make_folder

__all__ = ["make_folder", "open_or_make", "write"]


def open_or_make(path: Path) -> int:
    """Return the number of the file, open to read and write; it and its folder are made where missing."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, FILE_MODE)
    except FileNotFoundError:
        make_folder(path.parent)
        return os.open(path, flags, FILE_MODE)


def write(path: Path, text: str) -> None:
    """Put `text` in the place of the file: after a crash it is the old one or the new one, never a part.

    The folder is made where it is missing; raises OSError.
    """
    make_folder(path.parent)
    if path.parent.stat().st_uid == os.geteuid():
        path.parent.chmod(FOLDER_MODE)  # it may have been there, for everybody to read
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    make_file(draft)
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
    put_in_place(draft, path)
