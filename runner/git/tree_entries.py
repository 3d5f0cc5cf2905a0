"""How many files a commit names, counted without naming them: trees within trees multiply."""

from collections.abc import Callable

from runner.errors import GitLimitError

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_AT_ONCE = 2_000
MAX_ENTRIES = 2_000_000
Look = Callable[..., str]


def check_entries(look: Look, commit: str) -> None:
    """Raise GitLimitError when what `commit` brings to the branches of this repository names too many files.

    `look` runs git there. A folder that is there already counts as one file. Source: git-diff-tree(1), on
    --stdin with trees.
    """
    words = ("rev-list", "--objects", "--no-object-names", "--filter=object:type=tree")
    listed = look(*words, "--filter-provided-objects", commit, "--not", "--branches").split()
    children = _children(look, listed)
    counted: dict[str, int] = {}
    for start in children:
        waiting = [start]
        while waiting:
            tree = waiting[-1]
            uncounted = [one for one in children[tree] if one in children and one not in counted]
            if uncounted:
                waiting += uncounted
                continue
            counted[waiting.pop()] = sum(counted.get(one, 1) for one in children[tree])
            if counted[tree] > MAX_ENTRIES:
                raise GitLimitError("diff-tree", f"{MAX_ENTRIES:,} files")


def _children(look: Look, trees: list[str]) -> dict[str, list[str]]:
    """Return for each tree the objects that it names."""
    children: dict[str, list[str]] = {tree: [] for tree in trees}
    for start in range(0, len(trees), _AT_ONCE):
        some = trees[start : start + _AT_ONCE]
        given = "".join(f"{_EMPTY_TREE} {tree}\n" for tree in some)
        tree = ""
        for row in look("diff-tree", "--raw", "--no-abbrev", "--stdin", given=given.encode()).splitlines():
            if row.startswith(":"):
                children[tree].append(row.split(" ", 4)[3])
            else:
                tree = row.split(" ")[1]
    return children
