"""`cardinal hooks`: the gate's guards and fast checks before a push, in a clone or on a git server."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from bot.admin.clone import hooks
from bot.admin.clone.hooks import HookPlace, HookState
from bot.cli._described import CommandGroup
from bot.cli._show import answer_rows, clean, clone_option, json_option, show
from ledger.errors import CardinalError
from rules.text import code

NO_POLICY = (
    "There is no policy here, so pushes are not checked: `cardinal policy propose` prints one for "
    ".github/cardinal.yml"
)
PROPOSE = "name some that take seconds. `cardinal policy propose` looks for them"
MOVE = "move those of `full` that take seconds there"
COLUMNS = ("name", "state", "path")
FOLDER = clone_option("A folder of the clone, or a bare repository.")


@click.group("hooks", cls=CommandGroup)
def command() -> None:
    """Let git ask the gate's guards and fast checks before you push."""


@command.command("install")
@FOLDER
@click.option(
    "--update", is_flag=True, help="On a server: refuse only the failing branches, not the whole push."
)
@json_option
def install(folder: Path, update: bool, as_json: bool) -> None:
    """Put the hooks into a clone; in a bare repository, the server's.

    Existing hooks keep working. The work tree, the index and git's settings are not changed.

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
    """List the hooks, and the lines you have to add for husky and similar tools.

    If such a tool's hook calls Cardinal's `pre-push`, it is run once, as for a push that deletes a branch, to
    check that a refusal stops the push.

    \b
    Example:
      cardinal hooks status
    """
    _print(hooks.try_hooks(folder, os.environ), folder, as_json=as_json)


@command.command("uninstall")
@FOLDER
@json_option
def uninstall(folder: Path, as_json: bool) -> None:
    """Remove the hooks, and restore those that were there before.

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


def _what_it_checks(folder: Path, places: tuple[HookPlace, ...]) -> str:
    """Return which checks a push of HEAD would get."""
    from bot.admin.trial import in_force  # reads the policy, which no hook needs to be installed

    if all(hook.name != "pre-push" for hook in places):
        return "A push is judged by the guards. No check runs on a server."
    try:
        judged = in_force.find(folder, "HEAD")
    except CardinalError as error:
        return f"A push is not checked here, the gate will: {error}"
    checks = judged.policy.repository.validation
    if checks is None or not checks.fast:
        step = MOVE if checks and checks.full else PROPOSE
        return f"A push is judged by the guards alone: {judged.source} names no `fast` checks, so {step}"
    lines = ", ".join(map(code, checks.fast))
    return f"A push is checked with {lines}, then by the guards, by {judged.source}"


def _print(places: tuple[HookPlace, ...], folder: Path, *, as_json: bool) -> None:
    def text() -> Iterable[str]:
        yield from answer_rows(places, COLUMNS, empty="no hooks")
        for hook in places:
            if hook.chained:
                yield clean(f"{hook.name} also runs the hook that was there before")
            if hook.manager and hook.state is not HookState.OURS:
                yield clean(
                    "Git's hooks are not in this repository's own folder."
                    f" Add this line to {hook.manager}: {hook.line}"
                )
            if hook.trouble:
                yield clean(f"{hook.trouble}: {hook.line}")
        if any(hook.state is HookState.OURS for hook in places):
            yield NO_POLICY if hooks.lacks_policy(folder) else clean(_what_it_checks(folder, places))

    show(places, as_json=as_json, text=text)
