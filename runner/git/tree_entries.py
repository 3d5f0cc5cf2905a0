"""The files of a commit: counted without listing them, since trees within trees multiply, and listed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from runner.errors import GitLimitError

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
SUBMODULE = "160000"
_AT_ONCE = 2_000
MAX_ENTRIES = 2_000_000
MAX_LISTED = 10_000_000  # in all new trees together: each is looked at once
Query = Callable[..., str]


@dataclass(slots=True)
class _Tree:
    """A new tree: its number of files, and its subtrees among the new trees, with repetitions."""

    files: int = 0
    trees: list[str] = field(default_factory=list)


def change_entries(entries: Iterable[str], changes: Iterable[str]) -> Iterator[str]:
    """Yield the rows of `git ls-tree -r` of a commit, from those of another one and the rows of `git diff
    --raw` between the two. Sources: git-ls-tree(1), git-diff(1).
    """
    changed = dict[str, str]()
    for row in changes:
        if row.startswith(":"):
            about, _, path = row.partition("\t")
            _, mode, _, name, status = about.split(" ")
            kind = "commit" if mode == SUBMODULE else "blob"
            changed[path] = "" if status == "D" else f"{mode} {kind} {name}\t{path}"
    yield from (row for row in entries if row.partition("\t")[2] not in changed)
    yield from filter(None, changed.values())


def check_entries(query: Query, commit: str, most_listed: int = MAX_LISTED) -> None:
    """Raise GitLimitError when the new trees of `commit` name too many files.

    `query` runs git. A known folder counts as one file. Source: git-diff-tree(1), on --stdin with trees.
    """
    args = ("rev-list", "--objects", "--no-object-names", "--filter=object:type=tree")
    listed = query(*args, "--filter-provided-objects", commit, "--not", "--branches").split()
    trees = _read(query, listed, most_listed)
    counted: dict[str, int] = {}
    for start in trees:
        waiting = [start]
        while waiting:
            name = waiting[-1]
            if name in counted:  # it waited more than once; to look again takes as long as the bomb is large
                waiting.pop()
            elif uncounted := [tree for tree in dict.fromkeys(trees[name].trees) if tree not in counted]:
                waiting += uncounted
            else:
                counted[name] = trees[name].files + sum(counted[tree] for tree in trees[name].trees)
                if counted[name] > MAX_ENTRIES:
                    raise GitLimitError("diff-tree", f"{MAX_ENTRIES:,} files")


def _read(query: Query, names: list[str], most_listed: int) -> dict[str, _Tree]:
    """Return the entries of each tree. Raises GitLimitError when they do not fit into memory."""
    trees, same, listed = {name: _Tree() for name in names}, {name: name for name in names}, 0
    for start in range(0, len(names), _AT_ONCE):
        stdin = "".join(f"{EMPTY_TREE} {name}\n" for name in names[start : start + _AT_ONCE])
        tree = _Tree()
        for row in query("diff-tree", "--raw", "--no-abbrev", "--stdin", given=stdin.encode()).splitlines():
            if not row.startswith(":"):
                tree = trees[row.split(" ")[1]]
                continue
            listed += 1
            child = same.get(row.split(" ", 4)[3])
            if child is None:
                tree.files += 1
            else:
                tree.trees.append(child)
        if listed > most_listed:
            raise GitLimitError("diff-tree", f"{most_listed:,} names of files and folders")
    return trees
