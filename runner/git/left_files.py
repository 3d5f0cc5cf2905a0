"""Files in a workspace that are nobody's work: leftovers of tools, and all that set-up made or changed.

Shell functions of Cardinal's own git commands, and the same rule for commits on the host.
Which paths the `.gitignore` files of a commit ignore is asked of git, in a folder that has nothing else.
"""

import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from runner.errors import GitError
from runner.git.cli import run_git
from runner.git.commits import Commit, unquote_path
from runner.git.mirror import Mirror
from runner.git.tree_entries import EMPTY_TREE
from runner.text.plain import one_line, redact

_NAME = ".gitignore"
_MAX_FILES = 1_000
_MAX_BYTES = 5_000_000
_QUERY_S = 60.0
MAX_FILES = 20_000  # as many as a change may have, whoever made it
# What interpreters, package managers, test runners and editors write by themselves: nobody means it to be
# committed, and a repository may have forgotten to say so. Source: the templates of github/gitignore.
TOOLS_LEAVE = (
    *("__pycache__/", "*.py[co]", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/", ".tox/"),
    *(".nox/", ".venv/", "venv/", "*.egg-info/", ".eggs/", ".ipynb_checkpoints/", ".coverage", ".coverage.*"),
    *("htmlcov/", "node_modules/", ".nyc_output/", "*.tsbuildinfo", ".eslintcache", ".stylelintcache"),
    *(".parcel-cache/", ".turbo/", ".next/", ".nuxt/", ".svelte-kit/", ".angular/", ".gradle/"),
    *("**/coverage/lcov-report/", "**/coverage/lcov.info", "**/coverage/clover.xml"),
    *("**/coverage/coverage-final.json", ".phpunit.result.cache", ".phpunit.cache/", ".terraform/"),
    *("npm-debug.log*", "yarn-error.log", ".DS_Store", "Thumbs.db", "*.swp", "*.swo", "*~"),
)
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55"  # bford.info/cachedir: caches of cargo, uv, pip and others
)
# The patterns count where the repository keeps no such file: asked of the index, which is the commit's.
PASS_OVER = rf"""
pass_over() {{
  names=$GIT_DIR/info/exclude
  set -- {" ".join(f"'{pattern}'" for pattern in TOOLS_LEAVE)}
  mkdir -p "$GIT_DIR/info" && rm -rf "$names" && printf '%s\n' "$@" > "$names" || return
  [ -n "$(g ls-files --cached --ignored --exclude-from="$names" | head -c 1)" ] || return 0
  for each; do
    [ -n "$(g ls-files --cached --ignored --exclude="$each" | head -c 1)" ] || printf '%s\n' "$each"
  done > "$names"
}}
pass_over_caches() {{
  g ls-files --others --exclude-standard -- ':(glob)**/CACHEDIR.TAG' | while IFS= read -r tag; do
    folder=${{tag%/CACHEDIR.TAG}}
    case $tag in '"'*) continue;; esac
    [ -f "$tag" ] && [ "$(head -c {len(_TAG)} "$tag")" = '{_TAG}' ] || continue
    [ -n "$(g ls-files --cached -- ":(literal)$folder" | head -c 1)" ] ||
      printf '/%s/\n' "$folder" | sed 's/[][*?\\]/\\&/g'
  done >> "$GIT_DIR/info/exclude"
}}
"""
# `set_up` is a commit with all files as set-up left them, on the one that it found. `there` has the same of
# another host, as rows: from where files were kept. A row is one of `git diff-tree --raw`. A change with such
# a row, from the same content to the same, is not the agent's.
SET_UP = r"""
set_up=$(g rev-parse --verify --quiet 'refs/cardinal/set-up^{commit}')
there=$(g rev-parse --verify --quiet 'refs/cardinal/files^{commit}')
compare() { g diff-tree -r --raw --no-renames --no-abbrev --ignore-submodules=none "$1" "$2"; }
rows() {
  [ -z "$set_up" ] || compare --no-commit-id "$set_up" || return
  [ -z "$there" ] || g log -1 --format=%b "$there" | sed -n '/^:/p'
}
exchange() ( # side other tree old new: prints the tree with that side of all rows that lead from old to new
  # `other` is the side that the tree has. Its other changes win: a folder of theirs may be in a file's place.
  GIT_INDEX_FILE=$GIT_DIR/cardinal-index
  export GIT_INDEX_FILE
  trap 'rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE".?' EXIT
  rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE".? && g read-tree "$3" || exit
  rows > "$GIT_INDEX_FILE.r" && compare "$4" "$5" > "$GIT_INDEX_FILE.c" || exit
  for each in r c; do sort -u "$GIT_INDEX_FILE.$each" -o "$GIT_INDEX_FILE.$each" || exit; done
  entries() { # of an index, on a side of rows; removals first
    sed "s/^:\([0-7]*\) \([0-7]*\) \([0-9a-f]*\) \([0-9a-f]*\) [A-Z]/$1/" | sort
  }
  {
    comm -12 "$GIT_INDEX_FILE.r" "$GIT_INDEX_FILE.c" | entries "$1"
    comm -13 "$GIT_INDEX_FILE.r" "$GIT_INDEX_FILE.c" | entries "$2"
  } | g update-index --index-info && g write-tree
)
own_work() { # head tree
  if [ -z "$set_up$there" ]; then echo "$2"; else exchange '\1 \3' '\2 \4' "$2" "$1" "$2"; fi
}
join_rows() { # set-up here found what an agent had committed of set-up there: neither is the agent's
  [ -n "$set_up" ] && fork=$(g merge-base HEAD refs/remotes/origin/HEAD) || return 0
  found=$(exchange '\1 \3' '\2 \4' HEAD "$fork" HEAD) &&
    found=$(g commit-tree -m 'What set-up found' -p HEAD "$found") &&
    set_up=$(g commit-tree -m 'What set-up left' -p "$found" "$set_up^{tree}") &&
    g update-ref refs/cardinal/set-up "$set_up"
}
bring_back() { # commit: the work tree has its files, and what set-up made of those; they are not committed
  tree=$1
  [ -z "$set_up" ] || tree=$(exchange '\2 \4' '\1 \3' "$1" "$1" "$set_up") || return
  g read-tree --reset -u "$tree" && g read-tree HEAD
}
"""
# branch: what is here becomes `set_up`, and HEAD is again where set-up found it; says how many files differ
NOTE_SET_UP = r"""
began=$(g rev-parse --verify refs/cardinal/began) || exit
must symbolic-ref HEAD "refs/heads/$1"
must reset --quiet "$began"
must add --all
left=$(g write-tree) && g read-tree "$began" || exit
g update-ref -d refs/cardinal/set-up
[ "$left" != "$(g rev-parse "$began^{tree}")" ] || exit 0
set_up=$(g commit-tree -m 'What set-up left' -p "$began" "$left") || exit
g update-ref refs/cardinal/set-up "$set_up" && rows | wc -l
"""


def list_ignored(mirror: Mirror, commit: str, files: frozenset[str], paths: frozenset[str]) -> frozenset[str]:
    """Return those of the paths that the commit's own rules ignore. `files` are all paths of the commit.

    Raises GitError, also where more rules apply to the paths than are read.
    """
    if (commit, paths) not in mirror.ignored:
        mirror.ignored[commit, paths] = _ask_ignored(mirror, commit, files, paths)
    return mirror.ignored[commit, paths]


def _ask_ignored(mirror: Mirror, commit: str, files: frozenset[str], paths: frozenset[str]) -> frozenset[str]:
    rules = _read_rules(mirror, commit, files & {*_rule_files(paths)})
    if not rules:
        return frozenset()
    with tempfile.TemporaryDirectory(prefix="cardinal-ignore.") as name:
        folder = Path(name, "files")
        for path, text in rules.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="")
        stdin = "".join(
            f"{_quote_path(f'./{path}')}\n" for path in paths
        )  # `./`: nothing begins like an order
        said = ask_with_index(
            mirror, folder, "check-ignore", "--no-index", "--stdin", given=stdin, fine=(0, 1)
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


def _read_rules(mirror: Mirror, commit: str, files: frozenset[str]) -> dict[str, str]:
    """Return the texts of these files of the commit, but for links: git reads no rules behind one."""
    if len(files) > _MAX_FILES:
        problem = f"{len(files):,} are about this change, more than {_MAX_FILES:,}: split the change"
        raise GitError("read the .gitignore files", problem)
    names: dict[str, str] = {}
    for row in mirror.list_entries(commit) if files else ():
        what, _, quoted = row.partition("\t")
        path = unquote_path(quoted)
        if what.startswith("100") and path in files and ".." not in path.split("/"):
            names[path] = what.split(" ")[2]
    texts = {name: text for name, _, text in mirror.read_objects(sorted(set(names.values())))}
    size = sum(len(texts[name].encode()) - 1 for name in names.values())  # git adds the end of a line
    if size > _MAX_BYTES:
        problem = f"{size:,} bytes are more than {_MAX_BYTES:,}: shorten them on the default branch"
        raise GitError("read the .gitignore files", problem)
    return {path: texts[name] for path, name in names.items()}


def ask_with_index(
    mirror: Mirror, folder: Path, *args: str, given: str = "", fine: tuple[int, ...] = (0,)
) -> str:
    """Return git's answer about the folder, with an index beside it and the mirror's objects.

    Raises GitError.
    """
    env = {"GIT_DIR": str(mirror.path.resolve()), "GIT_WORK_TREE": ".", "GIT_INDEX_FILE": f"{folder}.index"}
    ran = run_git(
        args, folder=folder, beat=mirror.beat, timeout_s=_QUERY_S, more_env=env, given=given.encode()
    )
    if ran.exit_code not in fine or ran.cut:
        raise GitError(args[0], one_line(redact(ran.tail), 600))
    return ran.out


def _quote_path(path: str) -> str:
    """Return a path as git reads it back, with any characters in it. Source: git-check-ignore(1)."""
    plain = (chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\{byte:03o}" for byte in path.encode())
    return f'"{"".join(plain)}"'


def without_set_up(
    mirror: Mirror, commit: Commit, parents: tuple[str, ...], rows: Collection[str], *, is_own: bool = True
) -> str:
    """Return the tree of an agent's commit, on these parents, without the leftovers of set-up.

    `rows` are set-up's changes, as `git diff-tree --raw` has them. The own changes of another's commit
    stay. Raises GitError.
    """
    if not rows:
        return commit.tree
    changes = [_rows(mirror, parent, commit.tree) for parent in parents or (EMPTY_TREE,)]
    known = set(rows).intersection(*changes)
    if not is_own:
        known = known.difference(*(_rows(mirror, parent, commit.tree) for parent in commit.parents))
    if not known:
        return commit.tree
    # Removals first: a folder may stand where a file was. Other changes win: so may a folder of theirs.
    others = changes[0] - known
    entries = [*sorted(_entry(row, 0) for row in known), *sorted(_entry(row, 1) for row in others)]
    with tempfile.TemporaryDirectory(prefix="cardinal-set-up.") as name:
        folder = Path(name, "files")
        folder.mkdir()
        ask_with_index(mirror, folder, "read-tree", commit.tree)
        ask_with_index(mirror, folder, "update-index", "--index-info", given="".join(entries))
        return ask_with_index(mirror, folder, "write-tree").strip()


def _rows(mirror: Mirror, before: str, after: str) -> set[str]:
    args = ("-r", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    return {*mirror.query("diff-tree", *args, before, after).splitlines()}


def _entry(row: str, side: int) -> str:
    """Return the old side (0) or the new one (1) of a row, as a row of an index."""
    modes, path = row.split("\t", 1)
    fields = modes.removeprefix(":").split(" ")
    return f"{fields[side]} {fields[2 + side]}\t{path}\n"
