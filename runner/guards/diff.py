"""The change of a push, read on the host's mirror: the end state, and every commit on the way."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.errors import GitError
from runner.git.commits import Commit, unquote_path
from runner.git.left_files import list_ignored
from runner.git.mirror import Mirror
from runner.git.tree_entries import EMPTY_TREE
from runner.guards.ci_files import has_sections
from runner.guards.contract import LINK, Change, Message, Touched

_RAW = re.compile(r":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*\t(.*)", re.DOTALL)
_PAIR = re.compile(r"diff --git a/(\d+) ")
_HUNK = re.compile(r"@@ -\d+(?:,(?P<gone>\d+))? \+(?P<at>\d+)(?:,(?P<new>\d+))? @@")
_READ_BYTES = 5_000_000  # of one file; a larger one is not searched
_READ_ALL_BYTES = 20_000_000
_READ_FILES = 200  # nobody reviews a change of more
_READ_WHOLE = 50  # files that are judged by their sections
_WHOLE_BYTES = 1_000_000
_MAX_PATHS = 20_000
_TARGET_CHARS = 4_000
_OBJECTS_AT_ONCE = 2_000
Pair = tuple[str, str]
Lines = tuple[list[tuple[int, str]], list[str]]  # added ones with their numbers, and removed ones
Differences = dict[Pair, list[Touched]]


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
    new, fork = mirror.commits(head, *known.published), mirror.fork(base, head)
    raw = (row for row in mirror.compare(fork, head) if row.startswith(":"))
    rows = _compare(mirror, (*new, *known.peoples), {(fork, head): list(map(_parse_row, raw))})
    theirs = {_place(touched) for touched in _on_the_way(rows, known.peoples)}
    differing = mirror.differing(known.seen, head) if known.seen else None
    at_the_end = (last for last in rows[fork, head] if differing is None or last.path in differing)
    by_place = {_place(touched): touched for touched in at_the_end}
    for touched in _on_the_way(rows, new):
        if _place(touched) not in theirs:
            by_place.setdefault(_place(touched), touched)
    messages = tuple(Message(commit.commit, commit.message) for commit in new)
    new_paths = frozenset(entry.path for entry in by_place.values() if entry.is_new)
    before = mirror.files(fork) if fork and new_paths else frozenset()
    ignored = list_ignored(mirror, fork, before, new_paths - before)
    entries = tuple(_read(mirror, tuple(by_place.values())))
    return Change(base=base, head=head, touched=entries, messages=messages, before=before, ignored=ignored)


def _place(touched: Touched) -> tuple[str, str, str]:
    return touched.path, touched.mode, touched.object


def _on_the_way(rows: Differences, commits: Iterable[Commit]) -> Iterator[Touched]:
    """Yield the changes of each commit against all of its parents; the merged part of a merge is none."""
    for commit in commits:
        sides = [rows[parent, commit.commit] for parent in dict.fromkeys(commit.parents or ("",))]
        common = set.intersection(*({touched.path for touched in side} for side in sides))
        yield from (replace(touched, commit=commit.commit) for touched in sides[0] if touched.path in common)


def _compare(mirror: Mirror, commits: Sequence[Commit], known: Differences) -> Differences:
    """Return the known differences, and those of commits to their parents; "" is an empty tree."""
    pairs = {(parent, commit.commit) for commit in commits for parent in commit.parents or ("",)} - {*known}
    names = tuple({name for pair in pairs for name in pair} - {""})
    trees = {name: commit.tree for name, commit in zip(names, mirror.read_commits(names), strict=True)}
    trees[""] = EMPTY_TREE
    rows = _diffs(mirror, sorted({(trees[old], trees[new]) for old, new in pairs}))
    return known | {(old, new): rows[trees[old], trees[new]] for old, new in pairs}


def _diffs(mirror: Mirror, pairs: list[tuple[str, str]]) -> Differences:
    """Return the differences of each pair of trees. Source: git-diff-tree(1), on --stdin with trees."""
    rows: Differences = {pair: [] for pair in pairs}
    args = ("-r", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", "--stdin")
    for start in range(0, len(pairs), _OBJECTS_AT_ONCE):
        some = pairs[start : start + _OBJECTS_AT_ONCE]
        said = mirror.query("diff-tree", *args, given=_lines(f"{old} {new}" for old, new in some))
        shown: set[tuple[str, str]] = set()
        pair = ("", "")
        for row in said.splitlines():
            if row.startswith(":"):
                rows[pair].append(_parse_row(row))
            else:
                old, _, new = row.partition(" ")
                pair = (old, new)
                shown.add(pair)
        if shown != set(some):
            raise GitError("diff-tree", "not every pair of trees was compared")
    return rows


def _parse_row(row: str) -> Touched:
    match = _RAW.fullmatch(row)
    if match is None:
        raise GitError("diff-tree", f"an odd answer: {row[:100]}")
    before_mode, mode, before, after, path = match.groups()
    return Touched(
        path=unquote_path(path),
        before_mode=before_mode,
        mode=mode,
        before_object=before,
        object=after,
    )


def _read(mirror: Mirror, touched: tuple[Touched, ...]) -> Iterator[Touched]:
    """Yield each path with size, lines and link target, as far as they may be read.

    Removed files have a quota of their own: they leave no new file unread.
    """
    if len(touched) > _MAX_PATHS:
        raise GitError("read the change", f"{len(touched):,} changed files are more than {_MAX_PATHS:,}")
    sizes = _sizes(mirror, set(_list_objects(touched)))
    lines = _read_lines(mirror, tuple(dict.fromkeys(_choose_contents(touched, sizes))), sizes)
    sections = _Allowance(_READ_ALL_BYTES, _READ_WHOLE)
    for entry in touched:
        size, before_size = sizes.get(entry.object, 0), sizes.get(entry.before_object, 0)
        read = entry
        if entry.mode == LINK:
            target = mirror.query("cat-file", "blob", entry.object) if size < _TARGET_CHARS else "/"
            read = replace(entry, size_bytes=size, target=target.removesuffix("\n"))
        elif entry.is_file:
            read = replace(entry, size_bytes=size)
        if (pair := _contents_of(entry, sizes)) is not None:
            read = _with_lines(read, lines.get(pair))
        whole = not entry.commit and has_sections(entry.path) and max(size, before_size) <= _WHOLE_BYTES
        if whole and sections.takes(size + before_size):
            read = _with_both(mirror, read)
        yield read


def _contents_of(entry: Touched, sizes: Mapping[str, int]) -> Pair | None:
    """Return the objects whose lines are compared: an empty name for a side that is none of a file."""
    before = entry.before_object if entry.was_file else ""
    if entry.is_file and sizes.get(entry.object):
        return before, entry.object
    return (before, "") if before and not entry.commit else None


def _choose_contents(touched: Iterable[Touched], sizes: Mapping[str, int]) -> Iterator[Pair]:
    """Yield the pairs of objects that may be read."""
    new, old = _Allowance(_READ_ALL_BYTES, _READ_FILES), _Allowance(_READ_ALL_BYTES, _READ_FILES)
    for entry in touched:
        pair = _contents_of(entry, sizes)
        if pair is not None and (new.takes(sizes[pair[1]]) if pair[1] else old.takes(sizes[pair[0]])):
            yield pair


def _list_objects(touched: Iterable[Touched]) -> Iterator[str]:
    """Yield the objects to measure: the current ones, and the previous ones."""
    for entry in touched:
        if entry.is_file or entry.mode == LINK:
            yield entry.object
        if entry.was_file:
            yield entry.before_object


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
        said = mirror.query("cat-file", "--batch-check=%(objectname) %(objectsize)", given=_lines(some))
        sizes |= {name: int(size) for name, size in (row.split() for row in said.splitlines())}
    if len(sizes) != len(wanted):
        raise GitError("cat-file", "not every object was measured")
    return sizes


def _read_lines(mirror: Mirror, pairs: Sequence[Pair], sizes: Mapping[str, int]) -> dict[Pair, Lines]:
    """Return the lines that differ in each pair of objects; nothing for one with a line that is too long."""
    lines: dict[Pair, Lines] = {}
    some: list[Pair] = []
    left_bytes = _READ_ALL_BYTES
    for pair in pairs:
        left_bytes -= sum(sizes.get(name, 0) for name in pair)
        if left_bytes < 0 and some:
            lines |= _compare_contents(mirror, some)
            some, left_bytes = [], _READ_ALL_BYTES
        some.append(pair)
    return lines | _compare_contents(mirror, some)


def _compare_contents(mirror: Mirror, pairs: Sequence[Pair]) -> dict[Pair, Lines]:
    said = mirror.diff_contents(pairs) if pairs else ""
    if said is None:
        half = len(pairs) // 2
        return (
            _compare_contents(mirror, pairs[:half]) | _compare_contents(mirror, pairs[half:]) if half else {}
        )
    lines: dict[Pair, Lines] = {pair: ([], []) for pair in pairs}
    return lines | {pairs[number]: some for number, some in _split_lines(said.split("\n"))}


def _with_lines(entry: Touched, some: Lines | None) -> Touched:
    """Return it with its lines; NUL bytes of two-byte text are dropped. None: they are unread."""
    if some is None:
        return replace(entry, unread=True)
    lines, gone = some
    return replace(
        entry,
        binary=any("\0" in text for _, text in lines),
        lines=tuple((n, _plain(text)) for n, text in lines),
        gone=tuple(map(_plain, gone)),
    )


def _with_both(mirror: Mirror, entry: Touched) -> Touched:
    before = mirror.read("cat-file", "blob", entry.before_object) if entry.was_file else ""
    after = mirror.read("cat-file", "blob", entry.object) if entry.is_file else ""
    return entry if before is None or after is None else replace(entry, whole=(before, after))


def _plain(text: str) -> str:
    return text.replace("\0", "")


def _split_lines(rows: Iterable[str]) -> Iterator[tuple[int, Lines]]:
    """Yield the number of each pair in a diff without context, and its lines.

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
        elif not gone and not new and (match := _HUNK.match(row)):
            gone, new = int(match["gone"] or 1), int(match["new"] or 1)
            at = int(match["at"])
        elif not gone and not new and (match := _PAIR.match(row)):
            lines, taken = [], []
            yield int(match[1]), (lines, taken)


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()
