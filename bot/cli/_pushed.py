"""Commits from git's hooks: judged before a push, or at the door of a server."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from bot.admin.clone import commit as clone
from bot.admin.clone.guards import guard_violations
from bot.admin.clone.own_git import commit_of, git, git_output, quarantine
from bot.admin.trial import in_force
from bot.cli._show import clean
from bot.cli.check import SHORT, check_commit, conclusion
from ledger.errors import CardinalError
from runner.guards.report import violation_sentence

MAX_COMMITS = 5  # of one push; each is a set-up and a round of checks
MAX_REFS = 50  # of one push to a server; each is a look by the guards
MAX_VIOLATIONS = 5
MAX_LINES = 12  # of the output of a check that fails: all that is said fits one screen
REFUSED = 3  # an exit code that no crash and no signal has


def judge_push(name: str, pushed: Sequence[str]) -> int:
    """Judge each `COMMIT:KNOWN`, as the hook of that name; return the exit code."""
    refused = False
    judged, most = (_before_push, MAX_COMMITS) if name == "pre-push" else (_on_server, MAX_REFS)
    for each in pushed[:most]:
        commit, _, known = each.partition(":")
        refused = judged(commit, known) or refused
    if len(pushed) > most:
        click.echo(f"Cardinal checked only the first {most} branches and tags: push fewer at once.", err=True)
        refused = refused or name == "pre-receive"
    if refused and name == "pre-push":
        click.echo(
            "To push it anyway: git push --no-verify. The gate decides about a pull request.", err=True
        )
    return REFUSED if refused else 0


def _before_push(commit: str, known: str) -> bool:
    """Return whether the gate would refuse it."""

    def say(text: str) -> None:
        click.echo(f"Cardinal: {text}", err=True)

    published = [known] if commit_of(Path.cwd(), known) else []
    try:
        judged = check_commit(in_force.find(Path.cwd(), commit), "", fast=True, say=say, published=published)
    except CardinalError as error:  # a push waits for nobody's machine or policy to be mended
        say(f"not checked here, but the gate will check it: {error}")
        return False
    if not judged.passes:
        for text in conclusion(judged, MAX_LINES):
            say(text)
        say(f"full output: cardinal check --fast {judged.cloned.commit[:SHORT]}")
    return not judged.passes


def _on_server(commit: str, known: str) -> bool:
    """Return whether a guard denies the commits of a branch or tag; questions are for the pull request.

    A policy that cannot be read would let nobody mend it: the default one counts then.
    """
    here, env = Path.cwd(), quarantine(os.environ)
    if not commit_of(Path.cwd(), "HEAD"):
        return _on_server_without_head()
    tip = commit_of(here, commit, env)
    if not tip:
        click.echo(
            "Cardinal refuses this push: the tag does not point to a commit, so it cannot be checked. "
            "Tag a commit instead.",
            err=True,
        )
        return True
    listed = git(here, "rev-list", "--max-count=1", tip, "--not", "--all", env=env)
    if listed.exit_code == 0 and not listed.out.strip():
        return False  # the server has all of it
    cloned = clone.find(here, tip, "HEAD", environ=os.environ, or_default=True)
    before = commit_of(here, known) if known.strip("0") else ""
    published = [before] if before else []
    denied = [each for each in guard_violations(cloned, *published) if each.action == "deny"]
    for violation in denied[:MAX_VIOLATIONS]:
        click.echo(
            clean(f"Cardinal refuses this push: {violation_sentence(violation)}: {violation.advice}"),
            err=True,
        )
    return bool(denied)


def _on_server_without_head() -> bool:
    """Return whether there are branches: nothing can be compared, so only the first push may pass."""
    has_branches = bool(git_output(Path.cwd(), "for-each-ref", "--count=1", "refs/heads"))
    if has_branches:
        step = "its administrator has to run: git symbolic-ref HEAD refs/heads/<the default branch>"
        click.echo(
            "Cardinal refuses this push: HEAD on this server does not point to a commit to compare "
            f"with: {step}",
            err=True,
        )
    return has_branches
