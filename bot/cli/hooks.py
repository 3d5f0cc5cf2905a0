"""`cardinal hooks`: the gate's guards and fast checks before a push, in a clone or on a git server."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from bot.admin.clone import hooks
from bot.admin.clone.hooks import HookPlace, HookState
from bot.cli._described import CommandGroup
from bot.cli._show import clean, clone_option, json_option, show, table

NO_POLICY = (
    "No policy is here, so no push is checked: `cardinal policy propose` prints one for .github/cardinal.yml"
)
HEADS = ("hook", "state", "file")
FOLDER = clone_option("A folder of the clone, or a bare repository.")


@click.group("hooks", cls=CommandGroup)
def command() -> None:
    """Let git ask the gate's guards and fast checks before you push."""


@command.command("install")
@FOLDER
@click.option("--update", is_flag=True, help="On a server: refuse single branches, not the whole push.")
@json_option
def install(folder: Path, update: bool, as_json: bool) -> None:
    """Put the hooks into a clone; in a bare repository, the server's.

    Hooks that are there go on working. Nothing in the work tree, the index or git's settings is changed.

    \b
    Examples:
      cardinal hooks install
      cardinal hooks install -C shop.git
    """
    _print(hooks.install_hooks(folder, os.environ, update=update), folder, as_json=as_json)


@command.command("status")
@FOLDER
@json_option
def status(folder: Path, as_json: bool) -> None:
    """List the hooks, and the lines that somebody has to add for husky and the like.

    A file of theirs that calls Cardinal's `pre-push` is run once, as in a push that deletes a branch, to see
    that a refusal holds the push.

    \b
    Example:
      cardinal hooks status
    """
    _print(hooks.tried_places(folder, os.environ), folder, as_json=as_json)


@command.command("uninstall")
@FOLDER
@json_option
def uninstall(folder: Path, as_json: bool) -> None:
    """Take the hooks out, and put back those that were there.

    \b
    Example:
      cardinal hooks uninstall
    """
    _print(hooks.uninstall_hooks(folder, os.environ), folder, as_json=as_json)


@command.command("run", hidden=True)
@click.argument("name", type=click.Choice(("pre-push", "pre-receive")))
@click.argument("pushed", nargs=-1, metavar="COMMIT:KNOWN...")
def run(name: str, pushed: tuple[str, ...]) -> None:
    """Judge a push, as a hook.

    The pre-commit framework names it in the environment. Source: pre-commit.com, "pre-commit during push".
    """
    if not pushed and "PRE_COMMIT_TO_REF" in os.environ:
        raise SystemExit(_by_its_hook(name, os.environ))
    from bot.cli import _pushed  # what judges is loaded where something is to be judged

    raise SystemExit(_pushed.judge_push(name, pushed))


def _by_its_hook(name: str, environ: Mapping[str, str]) -> int:
    """Let git's own hook find out whether something is to be judged; return its exit code."""
    words = ("LOCAL_BRANCH", "TO_REF", "REMOTE_BRANCH", "FROM_REF")
    given = " ".join(environ.get(f"PRE_COMMIT_{word}", "") or "refs/heads/unnamed" for word in words)
    program = ("sh", "-c", hooks.hook_text(name), name)
    return subprocess.run(program, input=f"{given}\n", text=True, check=False).returncode


def _print(places: tuple[HookPlace, ...], folder: Path, *, as_json: bool) -> None:
    def text() -> Iterable[str]:
        yield from table(HEADS, ((place.name, place.state, place.path) for place in places), empty="no hooks")
        for place in places:
            if place.chained:
                yield clean(f"{place.name} calls the hook that was there first")
            if place.manager and place.state is not HookState.OURS:
                yield clean(
                    "Git's hooks are not in this repository's own folder."
                    f" Add this line to {place.manager}: {place.line}"
                )
            if place.trouble:
                yield clean(f"{place.trouble}: {place.line}")
        if any(place.state is HookState.OURS for place in places) and hooks.lacks_policy(folder):
            yield NO_POLICY

    show(places, as_json=as_json, text=text)
