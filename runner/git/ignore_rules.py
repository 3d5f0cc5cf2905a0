"""Which paths the `.gitignore` files of a commit ignore: asked of git, in a folder that has nothing else."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from runner.errors import GitError
from runner.git.cli import run_git
from runner.git.commits import unquote_path
from runner.git.mirror import Mirror
from runner.text.plain import one_line, redact

_NAME = ".gitignore"
_MAX_FILES = 1_000
_MAX_BYTES = 5_000_000
_FILES_AT_ONCE = 100  # their paths are arguments
_QUERY_S = 60.0


def list_ignored(mirror: Mirror, commit: str, files: frozenset[str], paths: frozenset[str]) -> frozenset[str]:
    """Return those of the paths that the commit's own rules ignore. `files` are all paths of the commit.

    Raises GitError, also where more rules apply to the paths than are read.
    """
    rules = tuple(_entries(mirror, commit, sorted(files & {*_rule_files(paths)})))
    if not rules:
        return frozenset()
    with tempfile.TemporaryDirectory(prefix="cardinal-ignore.") as name:
        folder = Path(name, "files")
        folder.mkdir()
        # Links are left out: git reads no rules behind one.
        ask_with_index(mirror, folder, "update-index", "--index-info", given="".join(rules))
        ask_with_index(mirror, folder, "checkout-index", "--all", "--force")
        given = "".join(
            f"{_quote_path(f'./{path}')}\n" for path in paths
        )  # `./`: nothing begins like an order
        said = ask_with_index(
            mirror, folder, "check-ignore", "--no-index", "--stdin", given=given, fine=(0, 1)
        )
    return frozenset(unquote_path(row).removeprefix("./") for row in said.splitlines())


def _rule_files(paths: Iterable[str]) -> Iterator[str]:
    """Yield the names of all files whose rules could be about the paths."""
    folders = {""}
    for path in paths:
        above = path.rpartition("/")[0]
        while above not in folders:
            folders.add(above)
            above = above.rpartition("/")[0]
    yield from (f"{folder}/{_NAME}".removeprefix("/") for folder in folders)


def _entries(mirror: Mirror, commit: str, files: list[str]) -> Iterator[str]:
    if len(files) > _MAX_FILES:
        problem = f"{len(files):,} are about this change, more than {_MAX_FILES:,}: split the change"
        raise GitError("read the .gitignore files", problem)
    size = 0
    for start in range(0, len(files), _FILES_AT_ONCE):
        batch = files[start : start + _FILES_AT_ONCE]
        for row in mirror.query("ls-tree", "--long", "--full-tree", commit, "--", *batch).splitlines():
            entry, _, path = row.partition("\t")
            mode, _, name, size_bytes = entry.split()
            if mode.startswith("100"):
                size += int(size_bytes)
                yield f"{mode} {name}\t{path}\n"
    if size > _MAX_BYTES:
        problem = f"{size:,} bytes are more than {_MAX_BYTES:,}: shorten them on the default branch"
        raise GitError("read the .gitignore files", problem)


def ask_with_index(
    mirror: Mirror, folder: Path, *words: str, given: str = "", fine: tuple[int, ...] = (0,)
) -> str:
    """Return git's answer about the folder, with an index beside it and the mirror's objects.

    Raises GitError.
    """
    env = {"GIT_DIR": str(mirror.path.resolve()), "GIT_WORK_TREE": ".", "GIT_INDEX_FILE": f"{folder}.index"}
    ran = run_git(
        words, folder=folder, beat=mirror.beat, timeout_s=_QUERY_S, more_env=env, given=given.encode()
    )
    if ran.exit_code not in fine or ran.cut:
        raise GitError(words[0], one_line(redact(ran.tail), 600))
    return ran.out


def _quote_path(path: str) -> str:
    """Return a path as git reads it back, with any characters in it. Source: git-check-ignore(1)."""
    plain = (chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\{byte:03o}" for byte in path.encode())
    return f'"{"".join(plain)}"'
