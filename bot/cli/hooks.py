"""`cardinal hooks`: the gate's guards and fast checks before a push, in a clone or on a git server."""

import os
from collections.abc import Iterable
from pathlib import Path

import click

from bot.admin.clone import commit as clone
from bot.admin.clone import hooks
from bot.admin.clone.guards import findings
from bot.admin.clone.hooks import HookPlace, HookState
from bot.cli import CommandGroup
from bot.cli._show import clone_option, json_option, line, show, table
from bot.cli.check import conclusion, look
from ledger.errors import CardinalError
from runner.guards.report import sentence

HEADS = ("hook", "state", "file")
MAX_COMMITS = 5  # of one push; each is a set-up and a round of checks
MAX_REFS = 50  # of one push to a server; each is a look by the guards
MAX_FINDINGS = 5
REFUSED = 3  # an exit code that no crash and no signal has
FOLDER = clone_option("A folder of the clone, or a bare repository.")


@click.group("hooks", cls=CommandGroup)
def command() -> None:
    """Let git ask the gate's guards and fast checks before you push."""


@command.command("install")
@FOLDER
@json_option
def install(folder: Path, as_json: bool) -> None:
    """Put the hooks into a clone; in a bare repository, the server's.

    Hooks that are there go on working. Nothing in the work tree, the index or git's settings is changed.

    \b
    Examples:
      cardinal hooks install
      cardinal hooks install -C shop.git
    """
    _print(hooks.install(folder, os.environ), as_json=as_json)


@command.command("status")
@FOLDER
@json_option
def status(folder: Path, as_json: bool) -> None:
    """List the hooks, and the lines that somebody has to add for husky and the like.

    \b
    Example:
      cardinal hooks status
    """
    _print(hooks.places(folder, os.environ), as_json=as_json)


@command.command("uninstall")
@FOLDER
@json_option
def uninstall(folder: Path, as_json: bool) -> None:
    """Take the hooks out, and put back those that were there.

    \b
    Example:
      cardinal hooks uninstall
    """
    _print(hooks.uninstall(folder, os.environ), as_json=as_json)


@command.command("run", hidden=True)
@click.argument("name", type=click.Choice(("pre-push", "pre-receive")))
@click.argument("pushed", nargs=-1, metavar="COMMIT:KNOWN...")
def run(name: str, pushed: tuple[str, ...]) -> None:
    """Judge what is pushed, as a hook.

    The pre-commit framework names it in the environment. Source: pre-commit.com, "pre-commit during push".
    """
    if not pushed and "PRE_COMMIT_TO_REF" in os.environ:
        pushed = (f"{os.environ['PRE_COMMIT_TO_REF']}:{os.environ.get('PRE_COMMIT_FROM_REF', '')}",)
    refused = False
    judge, most = (_before_push, MAX_COMMITS) if name == "pre-push" else (_on_server, MAX_REFS)
    for each in pushed[:most]:
        commit, _, known = each.partition(":")
        refused = judge(commit, known) or refused
    if len(pushed) > most:
        click.echo(f"Cardinal looked at {most} branches and tags and no more: push fewer at once.", err=True)
        refused = refused or name == "pre-receive"
    if refused and name == "pre-push":
        click.echo(
            "To push it anyway: git push --no-verify. The gate decides about a pull request.", err=True
        )
    raise SystemExit(REFUSED if refused else 0)


def _before_push(commit: str, known: str) -> bool:
    """Return whether the gate would refuse it."""

    def say(text: str) -> None:
        click.echo(f"Cardinal: {text}", err=True)

    published = [known] if clone.commit_of(Path.cwd(), known) else []
    try:
        looked = look(clone.find(Path.cwd(), commit), "", fast=True, say=say, published=published)
    except CardinalError as error:  # a push waits for nobody's machine or policy to be mended
        say(f"it is not checked here, the gate will: {error}")
        return False
    if not looked.passes:
        for text in conclusion(looked):
            say(text)
    return not looked.passes


def _on_server(commit: str, known: str) -> bool:
    """Return whether a guard denies what a branch or tag brings; questions are for the pull request.

    A policy that cannot be read would let nobody mend it: the default one counts then.
    """
    here, env = Path.cwd(), clone.quarantine(os.environ)
    if not clone.commit_of(Path.cwd(), "HEAD"):
        return _on_server_without_head()
    tip = clone.commit_of(here, commit, env)
    if not tip:
        click.echo(
            "Cardinal refuses it: this names no commit, so nothing can judge it: tag a commit", err=True
        )
        return True
    listed = clone.git(here, "rev-list", "--max-count=1", tip, "--not", "--all", env=env)
    if listed.exit_code == 0 and not listed.out.strip():
        return False  # the server has all of it
    cloned = clone.find(here, tip, "HEAD", environ=os.environ, or_default=True)
    before = clone.commit_of(here, known) if known.strip("0") else ""
    published = [before] if before else []
    denied = [each for each in findings(cloned, *published) if each.action == "deny"]
    for finding in denied[:MAX_FINDINGS]:
        click.echo(line(f"Cardinal refuses it: {sentence(finding)}: {finding.advice}"), err=True)
    return bool(denied)


def _on_server_without_head() -> bool:
    """Return whether there are branches: nothing can be compared, so only the first push may pass."""
    has_branches = bool(clone.git_output(Path.cwd(), "for-each-ref", "--count=1", "refs/heads"))
    if has_branches:
        step = "whoever runs this server has to: git symbolic-ref HEAD refs/heads/<the default branch>"
        click.echo(
            f"Cardinal refuses it: HEAD of this server names no commit to compare with: {step}", err=True
        )
    return has_branches


def _print(places: tuple[HookPlace, ...], *, as_json: bool) -> None:
    def text() -> Iterable[str]:
        yield from table(HEADS, ((place.name, place.state, place.path) for place in places), empty="no hooks")
        for place in places:
            if place.chained:
                yield line(f"{place.name} calls the hook that was there first")
            if place.manager and place.state is not HookState.OURS:
                yield line(
                    "Git's hooks are not in this repository's own folder."
                    f" Add this line to {place.manager}: {place.line}"
                )

    show(places, as_json=as_json, text=text)
