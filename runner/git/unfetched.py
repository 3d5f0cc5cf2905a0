"""Missing parts of every checkout of a commit: submodules, and the content of files in Git LFS.

Source: gitmodules(5), gitattributes(5), and the specification of Git LFS, on pointer files.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from runner.errors import GitLimitError
from runner.git.commits import unquote_path
from runner.git.mirror import Mirror
from runner.git.tree_entries import SUBMODULE
from runner.text.plain import one_line

MAX_NAMED = 3
MAX_LOOKED_AT = 20_000  # small files that may be pointers
_MAX_ATTRIBUTES = 200
_ATTRIBUTES_BYTES = 100_000
_POINTER_BYTES = range(60, 1_024)  # a larger file is no pointer
_POINTER = re.compile(r"version https://git-lfs\.github\.com/spec/")  # no address to call: its first line
_LFS = re.compile(r"^(?!#).*[ \t]filter=lfs(?:\s|$)", re.MULTILINE)
_ROW = re.compile(r"(?P<mode>\d+) \w+ (?P<name>[0-9a-f]+) +(?P<size>\d+|-)\t(?P<path>.+)")


def explain_unfetched(mirror: Mirror, commit: str) -> str:
    """Return a sentence for people on each kind that the commit names, or empty.

    It is empty, too, for more files than git can list here. Raises GitError.
    """
    try:
        return " ".join(_sentences(mirror, commit))
    except GitLimitError:
        return ""


def _sentences(mirror: Mirror, commit: str) -> Iterator[str]:
    modules, attributes = [], []
    for row in mirror.list_entries(commit):
        what, _, path = row.partition("\t")
        if what.startswith(SUBMODULE):
            modules.append(unquote_path(path))
        elif path == ".gitattributes" or path.endswith(("/.gitattributes", '/.gitattributes"')):
            attributes.append(what.split(" ")[2])
    if modules:
        yield (
            f"The repository has submodules ({_name_paths(modules)}): Cardinal does not fetch them, and a"
            " check that needs them fails unless `setup` fetches them (see docs/checks.md)."
        )
    if any(map(_LFS.search, _texts(mirror, attributes[:_MAX_ATTRIBUTES]))):
        pointers = _pointers(mirror, commit)
        if pointers:
            yield (
                f"The repository has files in Git LFS ({_name_paths(pointers)}): Cardinal does not fetch"
                " their content, and a check that needs it fails (see docs/checks.md)."
            )


def _pointers(mirror: Mirror, commit: str) -> list[str]:
    """Return the paths of files that stand for others in Git LFS."""
    small: dict[str, list[str]] = {}
    for row in map(_ROW.fullmatch, mirror.query("ls-tree", "-r", "-l", commit).splitlines()):
        if row is not None and row["size"] != "-" and int(row["size"]) in _POINTER_BYTES:
            small.setdefault(row["name"], []).append(unquote_path(row["path"]))
    names = list(small)[:MAX_LOOKED_AT]
    texts = zip(names, _texts(mirror, names), strict=True)
    return sorted(path for name, text in texts if _POINTER.match(text) for path in small[name])


def _texts(mirror: Mirror, names: Sequence[str]) -> Iterator[str]:
    """Yield the texts of these objects; an empty one for each that is too large."""
    if not names:
        return
    stdin = "".join(f"{name}\n" for name in names).encode()
    sizes = mirror.query("cat-file", "--batch-check=%(objectsize)", given=stdin).split()
    read = [name for name, size in zip(names, sizes, strict=True) if int(size) <= _ATTRIBUTES_BYTES]
    known = {name: text for name, _, text in mirror.read_objects(read)}
    for name in names:
        yield known.get(name, "")


def _name_paths(paths: Iterable[str]) -> str:
    """Return the first paths, and the number of the others."""
    every = tuple(paths)
    more = len(every) - MAX_NAMED
    shown = ", ".join(one_line(path, 100) for path in every[:MAX_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
