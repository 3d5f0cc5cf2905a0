"""What a push would put on GitHub, read on the host's mirror: the end state, and every commit on the way."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from runner.commits import Commit, unquoted
from runner.errors import GitError
from runner.guard import LINK, NOTHING, Change, Message, Touched
from runner.mirror import Mirror

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_RAW = re.compile(r":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*\t(.*)", re.DOTALL)
_HUNK = re.compile(r"@@ -\d+(?:,(?P<gone>\d+))? \+(?P<at>\d+)(?:,(?P<new>\d+))? @@")
_READ_BYTES = 5_000_000  # of one file; a larger one is not searched
_READ_ALL_BYTES = 20_000_000
_READ_FILES = 200  # each costs a start of git; nobody reviews a change of more
_MOST_PATHS = 20_000
_TARGET_CHARS = 4_000
_OBJECTS_AT_ONCE = 2_000
Pick = Callable[[Touched], bool]


@dataclass(frozen=True, slots=True)
class Known:
    """What GitHub has: `published` commits with all before them, `seen` as the head of the branch that the
    work stands on (empty: none), `peoples` commits on it.
    """

    published: tuple[str, ...]
    seen: str
    peoples: tuple[Commit, ...]


def change_of(mirror: Mirror, base: str, head: str, known: Known) -> Change:
    """Return what a push of `head` would publish, each content once in each place.

    What people pushed to the branch is left out: paths that are as they left them at the end, and on the way
    contents that they put in that very place. Raises GitError or LongHistoryError.
    """
    new = mirror.commits(head, *known.published)
    theirs = {_place(one) for one in _compared(mirror, known.peoples)}
    found = {_place(one): one for one in _at_the_end(mirror, base, head, known.seen)}
    for one in _compared(mirror, new):
        if _place(one) not in theirs:
            found.setdefault(_place(one), one)
    messages = tuple(Message(one.commit, one.message) for one in new)
    return Change(base, head, tuple(_read(mirror, tuple(found.values()))), messages)


def _place(one: Touched) -> tuple[str, str, str]:
    return one.path, one.mode, one.object


def _at_the_end(mirror: Mirror, base: str, head: str, seen: str) -> Iterator[Touched]:
    differing = mirror.differing(seen, head) if seen else None
    fork = mirror.look("merge-base", base, head).strip()
    words = ("-r", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    for row in mirror.look("diff-tree", *words, fork, head).splitlines():
        one = _parsed(row, "")
        if differing is None or one.path in differing:
            yield one


def _compared(mirror: Mirror, commits: Iterable[Commit]) -> Iterator[Touched]:
    """Yield what each commit changes against all of its parents: what a merge takes from one is no change."""
    found = tuple(commits)
    trees = {one.commit: one.tree for one in found}
    for parent in dict.fromkeys(parent for one in found for parent in one.parents):
        if parent not in trees:
            trees[parent] = mirror.look("rev-parse", f"{parent}^{{tree}}").strip()
    pairs = {
        (trees[parent] if parent else _EMPTY_TREE, one.tree)
        for one in found
        for parent in one.parents or ("",)
    }
    rows = _diffs(mirror, sorted(pairs))
    for one in found:
        sides = [rows[trees[parent] if parent else _EMPTY_TREE, one.tree] for parent in one.parents or ("",)]
        common = set.intersection(*({touched.path for touched in side} for side in sides))
        yield from (replace(touched, commit=one.commit) for touched in sides[0] if touched.path in common)


def _diffs(mirror: Mirror, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], list[Touched]]:
    """Return what differs between the trees of each pair. Source: git-diff-tree(1), on --stdin with trees."""
    rows: dict[tuple[str, str], list[Touched]] = {pair: [] for pair in pairs}
    words = ("-r", "--raw", "--no-renames", "--no-abbrev", "--stdin")
    for start in range(0, len(pairs), _OBJECTS_AT_ONCE):
        some = pairs[start : start + _OBJECTS_AT_ONCE]
        said = mirror.look("diff-tree", *words, given=_lines(f"{old} {new}" for old, new in some))
        shown: set[tuple[str, str]] = set()
        pair = ("", "")
        for row in said.splitlines():
            if row.startswith(":"):
                rows[pair].append(_parsed(row, ""))
            else:
                old, _, new = row.partition(" ")
                pair = (old, new)
                shown.add(pair)
        if shown != set(some):
            raise GitError("diff-tree", "not every pair of trees was compared")
    return rows


def _parsed(row: str, commit: str) -> Touched:
    found = _RAW.fullmatch(row)
    if found is None:
        raise GitError("diff-tree", f"an odd answer: {row[:100]}")
    before_mode, mode, before, after, path = found.groups()
    return Touched(unquoted(path), before_mode, mode, before, after, commit)


def _read(mirror: Mirror, touched: tuple[Touched, ...]) -> Iterator[Touched]:
    """Yield each with size, added lines and where it leads, as far as that may be read."""
    if len(touched) > _MOST_PATHS:
        raise GitError("read the change", f"{len(touched):,} changed files are more than {_MOST_PATHS:,}")
    sizes = _sizes(mirror, {one.object for one in touched if one.is_file or one.mode == LINK})
    left, files = _READ_ALL_BYTES, _READ_FILES
    for one in touched:
        size = sizes.get(one.object, 0)
        if one.mode == LINK:
            target = mirror.look("cat-file", "blob", one.object) if size < _TARGET_CHARS else "/"
            yield replace(one, size_bytes=size, target=target.removesuffix("\n"))
        elif not one.is_file or not size:
            yield one
        elif size > min(_READ_BYTES, left) or not files:
            yield replace(one, size_bytes=size, unread=True)
        else:
            left, files = left - size, files - 1
            yield _with_lines(mirror, replace(one, size_bytes=size))


def _sizes(mirror: Mirror, objects: set[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    wanted = sorted(objects)
    for start in range(0, len(wanted), _OBJECTS_AT_ONCE):
        some = wanted[start : start + _OBJECTS_AT_ONCE]
        said = mirror.look("cat-file", "--batch-check=%(objectname) %(objectsize)", given=_lines(some))
        sizes |= {name: int(size) for name, size in (row.split() for row in said.splitlines())}
    if len(sizes) != len(wanted):
        raise GitError("cat-file", "not every object was measured")
    return sizes


def _with_lines(mirror: Mirror, one: Touched) -> Touched:
    """Return it with its added lines; text that is stored in two bytes a letter is read without the empty."""
    was_file = one.before_mode.startswith("100") and one.before_mode != NOTHING
    if was_file:
        words = ("-U0", "--text", "--no-color", "--no-ext-diff", "--no-textconv")
        ran = mirror.read("diff", *words, one.before_object, one.object)
        lines = None if ran is None else tuple(_added(ran.split("\n")))
    else:
        ran = mirror.read("cat-file", "blob", one.object)
        lines = None if ran is None else tuple(enumerate(ran.split("\n"), start=1))
    if lines is None:
        return replace(one, unread=True)
    binary = any("\0" in text for _, text in lines)
    return replace(one, binary=binary, lines=tuple((n, text.replace("\0", "")) for n, text in lines))


def _added(rows: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the added lines of a diff without context: counted, since a line may look like a header."""
    gone = new = at = 0
    for row in rows:
        if gone and row.startswith("-"):
            gone -= 1
        elif new and row.startswith("+"):
            new -= 1
            yield at, row[1:]
            at += 1
        elif not gone and not new and (found := _HUNK.match(row)):
            gone, new = int(found["gone"] or 1), int(found["new"] or 1)
            at = int(found["at"])


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()
