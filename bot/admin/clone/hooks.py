"""Git hooks of a clone or of a git server: put in, looked at, taken out."""

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from os.path import lexists, samestat  # a link that leads nowhere stands there, too
from pathlib import Path

from bot.admin.clone.commit import NO_REPOSITORY, CloneError, git_output, personal_settings

CLIENT = ("prepare-commit-msg", "pre-push", "post-checkout", "post-merge")
SERVER = ("pre-receive",)
BEFORE = ".before-cardinal"  # ends the name of the hook that was there, which is called first
LEGACY = ".legacy"  # where pre-commit keeps the hook that it found, and calls it
NEW = ".cardinal-new"
APART = "cardinal-hooks"  # the folder in git's own where somebody else looks after the hooks
HOOKS_PATH = ("config", "--null", "--show-scope", "--type=path", "--get-all", "core.hooksPath")
# A hook of a tool is in everybody's clone: it must do nothing where Cardinal's is not installed.
LINE = 'hook="$(git rev-parse --git-common-dir)/{}"; [ ! -x "$hook" ] || "$hook" "$@"'
MARK = "# Cardinal's hook:"
HEAD = """\
#!/bin/sh
{mark} `cardinal hooks status` tells of it, `cardinal hooks uninstall` takes it out.
cardinal={command}
before="${{0%/*}}/{name}{before}"
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

    @property
    def before(self) -> Path:
        """Where the hook is kept that was there first."""
        return self.path.with_name(f"{self.name}{BEFORE}")


def places(folder: Path, environ: Mapping[str, str]) -> tuple[HookPlace, ...]:
    """Return the hooks of the repository around `folder`: a bare one is a server's.

    Raises CloneError outside of a repository.
    """
    bare, common = _git_folder(folder)
    names = SERVER if bare else CLIENT
    hooks = _managed(folder, environ) or common / "hooks"
    if hooks.resolve().is_relative_to(common.resolve()):
        return tuple(_place(hooks / name) for name in names)
    return tuple(_managed_place(common / APART / name, hooks) for name in names)


def install(folder: Path, environ: Mapping[str, str]) -> tuple[HookPlace, ...]:
    """Put the hooks in, and return them; a hook that is there is kept, and called first.

    At every moment the hook that was there, or the new one, stands in its place. Raises CloneError.
    """
    there = places(folder, environ)
    for place in there:
        _require_one_before(place)
    for place in there:
        place.path.parent.mkdir(parents=True, exist_ok=True)
        if place.state is HookState.THEIRS and not lexists(place.before):
            os.link(place.path, place.before, follow_symlinks=False)
        if not (place.manager and place.state is HookState.OURS):
            new = place.path.with_name(f"{place.name}{NEW}")
            new.unlink(missing_ok=True)  # of an install that was killed
            new.write_text(_text(place.name))
            new.chmod(0o755)
            new.replace(place.path)
    return places(folder, environ)


def uninstall(folder: Path, environ: Mapping[str, str]) -> tuple[HookPlace, ...]:
    """Take the hooks out, those that git no longer calls, too, and put back those that were there."""
    _, common = _git_folder(folder)
    own, apart = common / "hooks", common / APART
    folders = (*((own,) if own.resolve().is_relative_to(common.resolve()) else ()), apart)
    uncalled = (_place(each / name) for each in folders for name in (*CLIENT, *SERVER))
    for place in (*places(folder, environ), *uncalled):
        place.path.with_name(f"{place.name}{NEW}").unlink(missing_ok=True)
        if not lexists(place.before):
            if _is_ours(place.path):
                place.path.unlink()
        elif _is_ours(place.path) or not lexists(place.path):
            place.before.replace(place.path)
        elif _same(place.path, place.before):  # of an install that was killed
            place.before.unlink()
    if apart.is_dir() and not any(apart.iterdir()):
        apart.rmdir()
    return places(folder, environ)


def _git_folder(folder: Path) -> tuple[bool, Path]:
    """Return whether the repository is bare, and its folder, which all its worktrees share."""
    words = ("rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-common-dir")
    bare, _, common = git_output(folder, *words).partition("\n")
    if not common:
        raise CloneError(NO_REPOSITORY.format(folder))
    return bare == "true", Path(common.removesuffix("\n"))


def _require_one_before(place: HookPlace) -> None:
    if place.state is HookState.THEIRS and lexists(place.before) and not _same(place.path, place.before):
        raise CloneError(
            f"{place.path} came after Cardinal's hook, and {place.before} is the one that was there first:"
            " keep one of the two at the first place, remove the second, and install again"
        )


def _same(path: Path, other: Path) -> bool:
    return samestat(path.lstat(), other.lstat())


def _managed(folder: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the folder of `core.hooksPath`, if it is set, by the person's own settings, too."""
    named: list[str] = []
    for env in personal_settings(environ):
        rows = git_output(folder, *HOOKS_PATH, env=env).split("\0")[:-1]
        pairs = [pair for pair in zip(rows[::2], rows[1::2], strict=True) if pair[0] != "command"]
        named = [*named, *(path for _, path in pairs)]
        if pairs and pairs[-1][0] != "system":  # what follows is what counts less
            return _below(folder, pairs[-1][1])
    return _below(folder, named[-1]) if named else None


def _below(folder: Path, path: str) -> Path:
    top = git_output(folder, "rev-parse", "--show-toplevel").removesuffix("\n")
    return Path(top or folder, path)


def _place(path: Path) -> HookPlace:
    name, legacy = path.name, path.with_name(f"{path.name}{LEGACY}")
    if lexists(path) and not _is_ours(path) and _is_ours(legacy):
        path = legacy
    state = HookState.OURS if _is_ours(path) else HookState.THEIRS if lexists(path) else HookState.NONE
    place = HookPlace(name, path, state, chained=False)
    return replace(place, chained=state is HookState.OURS and lexists(place.before))


def _managed_place(path: Path, managed: Path) -> HookPlace:
    manager = (managed.parent if managed.name == "_" else managed) / path.name  # husky generates its folder _
    line = LINE.format(f"{APART}/{path.name}")
    called = manager.is_file() and f"{APART}/{path.name}" in manager.read_text(errors="replace")
    state = HookState.OURS if _is_ours(path) and called else HookState.NONE
    return HookPlace(path.name, path, state, chained=False, manager=manager, line=line)


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK.encode() in file.read(500)


def _text(name: str) -> str:
    command = shlex.quote(str(Path(sys.executable).with_name("cardinal")))
    head = HEAD.format(mark=MARK, command=command, name=name, before=BEFORE)
    return head + (Path(__file__).with_name(f"{name}.sh")).read_text()
