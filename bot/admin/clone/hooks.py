"""Git hooks of a clone or of a git server: put in, looked at, taken out."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from os.path import lexists  # a link that leads nowhere stands there, too
from pathlib import Path

from bot.admin.clone.commit import CloneError, git_output

CLIENT = ("prepare-commit-msg", "pre-push", "post-checkout", "post-merge")
SERVER = ("pre-receive",)
BEFORE = ".before-cardinal"  # ends the name of the hook that was there, which is called first
APART = "cardinal-hooks"  # the folder in git's own where somebody else looks after the hooks
MARK = "# Cardinal's hook:"
HEAD = """\
#!/bin/sh
{mark} `cardinal hooks status` tells of it, `cardinal hooks uninstall` takes it out.
cardinal={command}
before="$0{before}"
policy_differs() {{
  git diff --quiet "$1" "$2" -- .github/cardinal.yml .github/cardinal 2>/dev/null
  [ $? = 1 ] || return 0
  echo "Cardinal: the policy is another one here. See it: git diff $1 $2 -- .github/cardinal.yml" >&2
}}
"""


class HookState(StrEnum):
    """Whose file stands at a hook's place."""

    OURS = "installed"
    THEIRS = "another's"
    NONE = "not installed"


@dataclass(frozen=True, slots=True)
class HookPlace:
    """One hook. `chained`: another one stood there, and is called first.

    `manager`: the file of husky or the like that has to call it, with the `line` to add there; None where git
    calls it.
    """

    name: str
    path: Path
    state: HookState
    chained: bool
    manager: Path | None = None
    line: str = ""


def places(folder: Path, environ: Mapping[str, str]) -> tuple[HookPlace, ...]:
    """Return the hooks of the repository around `folder`: a bare one is a server's.

    Raises CloneError outside of a repository.
    """
    words = ("rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-common-dir")
    answer = git_output(folder, *words).splitlines()
    if len(answer) != 2:
        raise CloneError(f"{folder} is in no git repository: go into your clone, or name it with -C")
    common = Path(answer[1])
    managed = _managed(folder, environ)
    if managed is not None and not managed.is_relative_to(common):
        return tuple(_managed_place(common / APART / name, managed) for name in CLIENT)
    hooks = managed or common / "hooks"
    return tuple(_place(hooks / name) for name in (SERVER if answer[0] == "true" else CLIENT))


def install(folder: Path, environ: Mapping[str, str]) -> tuple[HookPlace, ...]:
    """Put the hooks in, and return them; a hook that is there is kept, and called first."""
    for place in places(folder, environ):
        place.path.parent.mkdir(parents=True, exist_ok=True)
        if place.state is HookState.THEIRS:
            place.path.rename(_before(place.path))
        if not (place.manager and place.state is HookState.OURS):
            place.path.write_text(_text(place.name))
            place.path.chmod(0o755)
    return places(folder, environ)


def uninstall(folder: Path, environ: Mapping[str, str]) -> tuple[HookPlace, ...]:
    """Take the hooks out, and put back those that were there."""
    for place in places(folder, environ):
        if _is_ours(place.path):
            place.path.unlink()
            if place.chained:
                _before(place.path).rename(place.path)
    return places(folder, environ)


def _managed(folder: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the folder of `core.hooksPath`, if it is set, by the person's own settings, too."""
    home = Path(environ.get("HOME", "/nonexistent"))
    settings = (home / ".gitconfig", home / ".config" / "git" / "config")
    given = next((str(path) for path in settings if path.exists()), "/dev/null")
    env = {"HOME": str(home), "GIT_CONFIG_GLOBAL": given, "GIT_CONFIG_NOSYSTEM": "0"}
    rows = git_output(folder, "config", "--show-scope", "--type=path", "--get-all", "core.hooksPath", env=env)
    named = [row.partition("\t")[2] for row in rows.splitlines() if not row.startswith("command\t")]
    if not named:
        return None
    top = git_output(folder, "rev-parse", "--show-toplevel").strip()
    return Path(top or folder, named[-1])


def _place(path: Path) -> HookPlace:
    state = HookState.OURS if _is_ours(path) else HookState.THEIRS if lexists(path) else HookState.NONE
    return HookPlace(path.name, path, state, lexists(_before(path)))


def _managed_place(path: Path, managed: Path) -> HookPlace:
    manager = (managed.parent if managed.name == "_" else managed) / path.name  # husky generates its folder _
    line = f'"$(git rev-parse --git-common-dir)/{APART}/{path.name}" "$@"'
    called = manager.is_file() and f"{APART}/{path.name}" in manager.read_text(errors="replace")
    state = HookState.OURS if _is_ours(path) and called else HookState.NONE
    return HookPlace(path.name, path, state, chained=False, manager=manager, line=line)


def _is_ours(path: Path) -> bool:
    return path.is_file() and MARK in path.read_text(errors="replace")[:500]


def _before(path: Path) -> Path:
    return path.with_name(f"{path.name}{BEFORE}")


def _text(name: str) -> str:
    command = shlex.quote(str(Path(sys.executable).with_name("cardinal")))
    head = HEAD.format(mark=MARK, command=command, before=BEFORE)
    return head + (Path(__file__).with_name(f"{name}.sh")).read_text()
