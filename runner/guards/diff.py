"""The change of a push, read on the host's mirror: the end state, and every commit on the way."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from runner.errors import GitError
from runner.git.commits import Commit, unquoted
from runner.git.mirror import Mirror
from runner.guards.ci_files import has_sections
from runner.guards.contract import LINK, Change, Message, Touched

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_RAW = re.compile(r":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*\t(.*)", re.DOTALL)
_HUNK = re.compile(r"@@ -\d+(?:,(?P<gone>\d+))? \+(?P<at>\d+)(?:,(?P<new>\d+))? @@")
_READ_BYTES = 5_000_000  # of one file; a larger one is not searched
_READ_ALL_BYTES = 20_000_000
_READ_FILES = 200  # each costs a start of git; nobody reviews a change of more
_READ_WHOLE = 50  # files that are judged by their sections
_WHOLE_BYTES = 1_000_000
_MAX_PATHS = 20_000
_TARGET_CHARS = 4_000
_OBJECTS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Known:
    """GitHub's state: `published` commits, `seen` as the head that the work is based on, `peoples` commits.

    `seen` is empty without a branch.
    """

    published: tuple[str, ...]
    seen: str
    peoples: tuple[Commit, ...]


def change_of(mirror: Mirror, base: str, head: str, known: Known) -> Change:
    """Return the change that a push of `head` would publish, each content once in each place.

    People's pushes are left out: unchanged paths at the end, and contents that they put in that very place on
    the way. Raises GitError or LongHistoryError.
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
    fork = mirror.fork(base, head)
    words = ("-r", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    for row in mirror.look("diff-tree", *words, fork, head).splitlines():
        one = _parsed(row, "")
        if differing is None or one.path in differing:
            yield one


def _compared(mirror: Mirror, commits: Iterable[Commit]) -> Iterator[Touched]:
    """Yield the changes of each commit against all of its parents; the merged part of a merge is none."""
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
    """Return the differences of each pair of trees. Source: git-diff-tree(1), on --stdin with trees."""
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
    """Yield each path with size, lines and link target, as far as they may be read.

    Removed files have a quota of their own: they leave no new file unread.
    """
    if len(touched) > _MAX_PATHS:
        raise GitError("read the change", f"{len(touched):,} changed files are more than {_MAX_PATHS:,}")
    sizes = _sizes(mirror, set(_wanted(touched)))
    new, old = _Allowance(_READ_ALL_BYTES, _READ_FILES), _Allowance(_READ_ALL_BYTES, _READ_FILES)
    sections = _Allowance(_READ_ALL_BYTES, _READ_WHOLE)
    for one in touched:
        size = sizes.get(one.object, 0)
        read = one
        if one.mode == LINK:
            target = mirror.look("cat-file", "blob", one.object) if size < _TARGET_CHARS else "/"
            read = replace(one, size_bytes=size, target=target.removesuffix("\n"))
        elif one.is_file and size:
            fits = new.takes(size)
            read = replace(one, size_bytes=size, unread=not fits)
            read = _with_lines(mirror, read) if fits else read
        if not one.commit and one.was_file and not (one.is_file and size):
            read = _with_what_is_gone(mirror, read, old.takes(sizes.get(one.before_object, 0)))
        if not one.commit and has_sections(one.path):
            both = size, sizes.get(one.before_object, 0)
            if max(both) <= _WHOLE_BYTES and sections.takes(sum(both)):
                read = _with_both(mirror, read)
        yield read


def _wanted(touched: Iterable[Touched]) -> Iterator[str]:
    """Yield the objects to measure: all current ones, and at the end the previous ones."""
    for one in touched:
        if one.is_file or one.mode == LINK:
            yield one.object
        if one.was_file and not one.commit:
            yield one.before_object


@dataclass(slots=True)
class _Allowance:
    """A quota of bytes and files to read."""

    left_bytes: int
    files: int

    def takes(self, size_bytes: int) -> bool:
        """Spend the quota on a file, if it fits; return whether it did."""
        if size_bytes > min(_READ_BYTES, self.left_bytes) or not self.files:
            return False
        self.left_bytes, self.files = self.left_bytes - size_bytes, self.files - 1
        return True


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
    """Return it with its lines; NUL bytes of two-byte text are dropped."""
    if one.was_file:
        words = ("-U0", "--text", "--no-color", "--no-ext-diff", "--no-textconv")
        ran = mirror.read("diff", *words, one.before_object, one.object)
    else:
        ran = mirror.read("cat-file", "blob", one.object)
    if ran is None:
        return replace(one, unread=True)
    rows = ran.split("\n")
    lines, gone = _changed(rows) if one.was_file else (list(enumerate(rows, start=1)), [])
    binary = any("\0" in text for _, text in lines)
    return replace(
        one, binary=binary, lines=tuple((n, _plain(text)) for n, text in lines), gone=tuple(map(_plain, gone))
    )


def _with_what_is_gone(mirror: Mirror, one: Touched, allowed: bool) -> Touched:
    text = mirror.read("cat-file", "blob", one.before_object) if allowed else None
    return replace(one, unread=True) if text is None else replace(one, gone=tuple(_plain(text).split("\n")))


def _with_both(mirror: Mirror, one: Touched) -> Touched:
    before = mirror.read("cat-file", "blob", one.before_object) if one.was_file else ""
    after = mirror.read("cat-file", "blob", one.object) if one.is_file else ""
    return one if before is None or after is None else replace(one, whole=(before, after))


def _plain(text: str) -> str:
    return text.replace("\0", "")


def _changed(rows: list[str]) -> tuple[list[tuple[int, str]], list[str]]:
    """Return the added lines of a diff without context, with their numbers, and the removed ones.

    They are counted, since a line may look like a header.
    """
    lines: list[tuple[int, str]] = []
    taken: list[str] = []
    gone = new = at = 0
    for row in rows:
        if gone and row.startswith("-"):
            gone -= 1
            taken.append(row[1:])
        elif new and row.startswith("+"):
            new -= 1
            lines.append((at, row[1:]))
            at += 1
        elif not gone and not new and (found := _HUNK.match(row)):
            gone, new = int(found["gone"] or 1), int(found["new"] or 1)
            at = int(found["at"])
    return lines, taken


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()
