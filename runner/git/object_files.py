"""Refs and loose objects as files of a bare repository, read and written without git.

Source: gitrepository-layout(5), gitformat-loose(5).
"""

import hashlib
import os
import re
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

from ledger.lifecycle.in_place import put_in_place
from runner.errors import GitError

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?=\s)")


def read_ref(repository: Path, name: str) -> str:
    """Return the commit that a full ref name stands for, or empty."""
    if ".." in name:  # git allows no such name, see git-check-ref-format(1); here it would leave refs/
        return ""
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return _commit_in((repository / name).read_text(encoding="utf-8", errors="replace"))
    return _read_packed_refs(repository).get(name, "")  # git writes this one before it removes the other


def read_refs(repository: Path, folder: str, begin: str) -> dict[str, str]:
    """Return the commits of the refs of a folder whose names begin so, by name and in order."""
    names = {path.name for path in (repository / folder).glob("*") if path.suffix != ".lock"}
    names |= {name.removeprefix(f"{folder}/") for name in _read_packed_refs(repository)}
    names = {name for name in names if name.startswith(begin)}
    commits = {name: read_ref(repository, f"{folder}/{name}") for name in sorted(names)}
    return {name: commit for name, commit in commits.items() if commit}


def count_refs(repository: Path, folder: str) -> int:
    """Return how many refs a folder and its subfolders hold."""
    top = repository / folder
    loose = {str(path.relative_to(repository)) for path in top.rglob("*") if path.is_file()}
    return len(loose | {name for name in _read_packed_refs(repository) if name.startswith(f"{folder}/")})


def _read_packed_refs(repository: Path) -> dict[str, str]:
    try:
        packed = (repository / "packed-refs").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    return {row.partition(" ")[2]: _commit_in(row) for row in packed.splitlines()}


def write_ref(repository: Path, folder: str, name: str, commit: str) -> None:
    """Point `folder`/`name` at a commit, unless it is there. Raises GitError for a text that is no name or
    commit.

    Only one writer at a time may mean this very ref; others, and git's own, are in nobody's way.
    """
    if "/" in name or ".." in name or _commit_in(f"{commit}\n") != commit:
        raise GitError("write a ref", f"{name!r} cannot stand for {commit!r}")
    if read_ref(repository, f"{folder}/{name}") != commit:
        _put(repository / folder / name, f"{commit}\n".encode())


def write_object(objects: Path, kind: str, content: bytes) -> str:
    """Store an object in a folder of them and return its id; GitHub's repositories, and so their mirrors,
    have SHA-1 names.
    """
    whole = f"{kind} {len(content)}\0".encode() + content
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    path = objects / name[:2] / name[2:]
    if not path.exists():
        _put(path, zlib.compress(whole), mode=0o444)
    return name


def make_repository(folder: Path) -> None:
    """Make an empty bare repository, as `git init --bare` would."""
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (folder / name).mkdir(parents=True)
    (folder / "config").write_bytes(b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    (folder / "HEAD").write_bytes(b"ref: refs/heads/master\n")


def borrow_objects(objects: Path, repository: Path) -> None:
    """Let a folder of objects have those of a repository, too."""
    (objects / "info").mkdir(parents=True, exist_ok=True)
    (objects / "info" / "alternates").write_text(f"{(repository / 'objects').resolve()}\n", encoding="utf-8")


def _put(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a whole file or none; git overlooks the unfinished ones, which begin with a dot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(descriptor, mode)
        put_in_place(Path(unfinished), path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _commit_in(row: str) -> str:
    match = _COMMIT.match(row)
    return match[0] if match else ""
