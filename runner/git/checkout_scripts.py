"""Shell scripts of Cardinal's own git commands; commands that belong together share one start."""

from runner.exec.launch import ProcessLimits
from runner.git import left_files
from runner.git.mirror import MAX_TAGS

_SETTINGS = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("safe.bareRepository", "explicit"),
    ("commit.gpgSign", "false"),
    ("submodule.recurse", "false"),
    ("advice.detachedHead", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.editor", "true"),
    ("sequence.editor", "true"),
    # It would be run while the mirror is shown, for the agent may lend objects from there.
    ("core.alternateRefsCommand", "true"),
    # The mirror gives a commit by its id then, whatever its branches are by now.
    # Source: gitprotocol-v2(5), on what may be wanted.
    ("protocol.version", "2"),
    ("core.packedGitWindowSize", "64m"),
    ("core.packedGitLimit", "512m"),
)
BOUNDS = ProcessLimits(memory_bytes=4_000_000_000)  # a commit of an agent may name trees without end
_BOUND = "; ".join(BOUNDS.steps()) + "\n"
_FETCH = "fetch --quiet --no-tags --no-recurse-submodules"
_WORDS = (
    *("init", "fetch", "checkout", "status", "add", "commit", "rebase", "reset", "clean", "pack-objects"),
    *("symbolic-ref", "read-tree"),
)
_CODES = {word: code for code, word in enumerate(_WORDS, 101)}  # neither git's own nor a shell's
CONFLICT = 121
MAX_UNCOMMITTED, _NAME_BYTES = 20, 400  # names of files that a checkpoint has, each of so many bytes
_UNUSABLE = 122
ORIGIN = "CARDINAL_ORIGIN"  # the variable with the address that people know the repository by

# What a script is given reaches it as "$1" …, and never becomes a part of its text.
_GIT = (
    _BOUND + f'g() {{ git {" ".join(f"-c {name}={text}" for name, text in _SETTINGS)} "$@"; }}\n'
    'must() { g "$@" || case $1 in '
    + " ".join(f"{word}) exit {code};;" for word, code in _CODES.items())
    + " esac; }\n"
)
# `.git` is the agent's: its config is replaced, what leads git elsewhere or shortens history is removed, and
# so are locks, whose owners ended with their container. The environment names `.git`: git looks nowhere else.
_PROLOGUE = f"""{_GIT}
own_config() {{
  [ ! -L .git ] && [ -d .git ] || return
  [ -f .git/config ] && [ ! -L .git/config ] && [ -w .git/config ] || rm -rf .git/config || return
  find .git -path .git/objects -prune -o \\( -path '.git/*.lock' -o -path .git/commondir \\
    -o -path .git/shallow -o -path .git/config.worktree -o -path .git/info/grafts \\) -prune \\
    -exec rm -rf '{{}}' + || return
  printf '[core]\\n\\trepositoryformatversion = 0\\n\\tlogallrefupdates = true\\n' > .git/config || return
  [ -z "${ORIGIN}" ] || printf '[remote "origin"]\\n\\turl = "%s"\\n\\tfetch = %s\\n' \\
    "${ORIGIN}" '+refs/heads/*:refs/remotes/origin/*' >> .git/config
}}
[ ! -e .git ] && [ ! -L .git ] || own_config || exit {_UNUSABLE}
"""
_LEFT = "left=$(must status --porcelain --ignore-submodules=all) || exit"
# A commit that fails while nothing is left any more had nothing to commit.
_LEFTOVERS = f"""
message=$1
{left_files.PASS_OVER}
{left_files.SET_UP}
{_LEFT}
if [ -n "$left" ]; then
  pass_over_caches
  must add --all
  # A merge has two parents, which the host compares it with: what comes from the other one is no leftover.
  if [ -n "$set_up$there" ] && [ ! -e .git/MERGE_HEAD ] && head=$(g rev-parse --verify --quiet HEAD); then
    tree=$(g write-tree) && tree=$(own_work "$head" "$tree") || exit {_CODES["commit"]}
    must read-tree -m "$tree"
  fi
  [ ! -e .git/MERGE_HEAD ] && g diff-index --cached --quiet HEAD -- 2> /dev/null ||
    g commit --quiet --no-verify -m "$message" >&2 || {{
    {_LEFT}
    [ -z "$left" ] || exit {_CODES["commit"]}
  }}
fi
"""

# mirror branch base, and what is to be fetched beside the tags. The tags become those of GitHub, whatever an
# agent made of them, but for names that git would take for a branch. The mirror is shallow where a person's
# clone was.
_TAKE = f"""
take() {{
  mirror=$1 branch=$2 base=$3
  shift 3
  [ "$(g --git-dir="$mirror" for-each-ref --count={MAX_TAGS + 1} refs/tags | wc -l)" -gt {MAX_TAGS} ] ||
    set -- "$@" '+refs/tags/*:refs/tags/*' ^refs/tags/HEAD ^refs/tags/origin '^refs/tags/origin/*' \
      "^refs/tags/$branch" "^refs/tags/$base"
  must {_FETCH} --prune --update-shallow "$mirror" "$@"
  must symbolic-ref refs/remotes/origin/HEAD "refs/remotes/origin/$base"
}}
"""
_INIT = f"""
must init --quiet --initial-branch="$base" .
own_config || exit {_UNUSABLE}
"""
_BEGIN = f"""
{left_files.PASS_OVER}
pass_over && g update-ref refs/cardinal/began HEAD || exit
"""
# mirror branch base, and the commits of both; that of the branch is empty where it is not there
FETCH = f"""
{_TAKE}
take "$1" "$2" "$3" "+$5:refs/remotes/origin/$3" ${{4:+"+$4:refs/remotes/origin/$2"}}
"""
CLONE = f"""
base=$3
{_INIT}
{FETCH}
must checkout --quiet --force --no-track -B "$2" "${{4:-$5}}"
{_BEGIN}
"""
# mirror ref branch base
CLONE_FROM = f"""
base=$4
{_INIT}
{_TAKE}
take "$1" "$3" "$4" "+$2:refs/cardinal/head" "+refs/heads/$4:refs/remotes/origin/$4"
must checkout --quiet --force --no-track -B "$3" refs/cardinal/head
{_BEGIN}
"""
# message commit, and for a branch that people wrote anew: where it stood before, and the base; says which
# paths are in conflict. What any of the three has, as it is or rebased, is no work to be put on the commit:
# `rebase` leaves it out for an upstream that has them all behind it.
PUT_ON = f"""
{_LEFTOVERS}
upstream=$2
if [ -n "$3" ] && g cat-file -e "$3^{{commit}}"; then
  upstream=$(g commit-tree -m upstream -p "$2" -p "$3" -p "$4" "$2^{{tree}}") || exit
elif g merge-base --is-ancestor "$2" HEAD; then
  exit 0
fi
if [ -n "$set_up" ]; then  # what it left is in nobody's way meanwhile
  must add --all
  must reset --quiet --hard
fi
if g rebase --quiet --no-autostash --onto "$2" "$upstream" >&2; then
  code=0
else
  code={CONFLICT}
  g diff --name-only --diff-filter=U --no-ext-diff
  g rebase --abort >&2
fi
[ -z "$set_up" ] || bring_back HEAD || exit {_CODES["read-tree"]}
exit "$code"
"""
# mirror commit: that comes from there, with whatever it has that HEAD does not
ADOPT = f"""
printf '%s\\n' "$2" ^HEAD |
  GIT_ALTERNATE_OBJECT_DIRECTORIES=$1/objects g pack-objects --quiet --revs --stdout |
  g unpack-objects -q || exit {_CODES["fetch"]}
must reset --quiet --soft "$2"
must read-tree -m "$2"
"""
# commit
RESTORE = f"""
{left_files.SET_UP}
must reset --quiet --hard "$1"
must clean --quiet -f -d
[ -z "$set_up" ] || bring_back HEAD || exit {_CODES["read-tree"]}
"""
# branch
NOTE_SET_UP = left_files.SET_UP + left_files.NOTE_SET_UP
# file commit base; without `base` when the agent rewrote history so that it is not in it
_PACK = f"""
pack() {{ printf '%s\\n' "$@" | g pack-objects --quiet --revs --stdout --delta-base-offset > "$file"; }}
pack "$head" "^$base" || pack "$head" || exit {_CODES["pack-objects"]}
"""
EXPORT = f"""
{left_files.SET_UP}
file=$1 head=$2 base=$3
{_PACK}
rows
"""
# message, and path and content of each file
COMMIT_FILES = f"""
said=$1
shift
while [ $# -gt 0 ]; do
  mkdir -p "$(dirname "./$1")" && printf %s "$2" > "./$1" || exit {_CODES["add"]}
  shift 2
done
set -- "$said"
{_LEFTOVERS}
"""
# message; prints the commit of HEAD. With file, base and unwanted commits EXPORT follows, but for those
LEFTOVERS = f"""
{_LEFTOVERS}
head=$(g rev-parse --verify --quiet --end-of-options "HEAD^{{commit}}") || exit 0
echo "$head"
file=$2 base=$3
case " $4 " in *" $head "*) file='' ;; esac
[ -n "$file" ] || exit 0
{_PACK}
rows
"""
# folder of the way out, name of the patch, mirror, commit: the difference between the commit and the files
# that lie here, without `.git`, which may be broken
SET_ASIDE = f"""
{_GIT}
GIT_DIR=$(mktemp -d "$1/aside.XXXXXX") || exit
export GIT_DIR GIT_ALTERNATE_OBJECT_DIRECTORIES="$3/objects"
trap 'rm -rf "$GIT_DIR"' EXIT
must init --quiet
{left_files.PASS_OVER}
g read-tree "$4" && pass_over || exit
g add --all --ignore-errors || :  # what git cannot take, a pipe say, keeps nothing else from being kept
g diff --cached --no-color --no-ext-diff --no-textconv "$4" -- > "$1/$2"
"""

# What runs while an agent may be at work changes nothing of `.git`, and reads no config of it.
_APART = f"""
{left_files.SET_UP}
both=$(g rev-parse 'HEAD^{{commit}}' 'HEAD^{{tree}}' 2> /dev/null) || exit 0
head=${{both%%[!0-9a-f]*}} committed=${{both##*[!0-9a-f]}}
GIT_ALTERNATE_OBJECT_DIRECTORIES="$PWD/.git/objects" GIT_DIR="$place/git"
export GIT_DIR GIT_ALTERNATE_OBJECT_DIRECTORIES
# As `git init` would, in less time.
mkdir -p "$GIT_DIR/objects" "$GIT_DIR/info" "$GIT_DIR/refs/cardinal" &&
  echo ref: refs/heads/none > "$GIT_DIR/HEAD" || exit {_CODES["init"]}
"""
# folder of the way out, name of the pack, base, commits that are not wanted, blocks of a file
EXPORT_APART = f"""
{_GIT}
file=$1/$2 base=$3
rm -rf "$1"/apart.* "$file"
ulimit -f "$5"
# Off its branch the agent only looks at a commit, or is in the middle of a rebase.
g symbolic-ref --quiet HEAD > /dev/null || exit 0
place=$(mktemp -d "$1/apart.XXXXXX") || exit
trap 'rm -rf "$place"' EXIT
{_APART}
case " $4 " in *" $head "*) exit 0;; esac
{_PACK}
echo "$head"
rows
"""
# folder of the way out, base, commits known already, patterns of session files in the home, blocks of a file
KEEP = f"""
{_GIT}
rm -rf "$1"/kept.*
ulimit -f "$5"
place=$(mktemp -d "$1/kept.XXXXXX") || exit
trap 'rm -rf "$place"' EXIT
(cd "$HOME" && for file in $4; do [ ! -f "$file" ] || printf '%s\\n' "$file"; done) > "$place/names"
# Lines may be added meanwhile: the last whole one counts. A database must not change while it is read.
grep -qv '\\.jsonl$' "$place/names" && tries='1 2 3' || tries=''
[ ! -s "$place/names" ] || for try in 0 $tries; do
  tar --create --file="$1/kept.tar" --directory="$HOME" --files-from="$place/names" || rm -f "$1/kept.tar"
  [ -z "$tries" ] || ! tar --compare --file="$1/kept.tar" --directory="$HOME" > /dev/null 2>&1 || break
  [ "$try" != 3 ] || rm -f "$1/kept.tar"
done
{_APART}
{left_files.PASS_OVER}
files=$head
add() {{ g add --all --ignore-errors; }}
g read-tree "$head" && pass_over || exit 0
# Again for a file that was there a moment ago. What git cannot take keeps nothing else from being kept.
add || add || echo incomplete
if tree=$(g write-tree) && tree=$(own_work "$head" "$tree") && rows > "$place/rows"; then
  [ "$tree" = "$committed" ] && [ ! -s "$place/rows" ] ||
    files=$( (echo 'Uncommitted files'; echo; cat "$place/rows") | GIT_AUTHOR_DATE='@0 +0000' \\
      GIT_COMMITTER_DATE='@0 +0000' g commit-tree -F - -p "$head" "$tree") || files=$head
else
  echo incomplete
fi
echo "$head $files"
[ "$files" = "$head" ] || g diff-tree -r --name-only "$head" "$files" > "$place/changed"
[ ! -s "$place/changed" ] || {{
  echo "uncommitted-files $(wc -l < "$place/changed")"
  head -n {MAX_UNCOMMITTED} "$place/changed" | cut -b 1-{_NAME_BYTES} | sed 's/^/uncommitted /'
}}
[ "$head $files" != "$3" ] || exit 0
echo "$head" > "$GIT_DIR/refs/cardinal/head" && echo "$files" > "$GIT_DIR/refs/cardinal/files" || exit
if [ "$(g rev-list --count "$files" --not "$2")" != 0 ]; then
  must bundle create --quiet "$1/kept.bundle" refs/cardinal/head refs/cardinal/files --not "$2"
  g diff --no-color --no-ext-diff --no-textconv "$2...$files" -- > "$1/kept.patch" || rm -f "$1/kept.patch"
fi
"""
# mirror, ref of the files: as they were, and not committed
UNCOMMIT = f"""
must {_FETCH} "$1" "+$2:refs/cardinal/files"
{left_files.SET_UP}
join_rows && bring_back refs/cardinal/files
"""
# folder with the archive: it was made anew on the host, of plain files alone
UNPACK = """
tar --extract --gzip --file="$1/session.tar.gz" --directory="$HOME" --no-same-owner
"""


def command(script: str, *arguments: str, prologue: str = _PROLOGUE) -> tuple[str, ...]:
    return ("/bin/sh", "-c", prologue + script, "cardinal", *arguments)


def git_command(*args: str) -> tuple[str, ...]:
    return command('g "$@"', *args)


def name_failed_command(exit_code: int, what: str) -> str:
    """Return the git command at which a script ended; `what` for none of them."""
    if exit_code == _UNUSABLE:
        return "opening .git"
    return f"git {next((word for word, code in _CODES.items() if code == exit_code), what)}"
