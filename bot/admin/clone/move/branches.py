"""Branches of a board of `cardinal try`, pushed to GitHub; nobody's commits are thrown away there."""

from collections.abc import Mapping
from pathlib import Path

from bot.admin.clone.move.destination import Destination
from bot.admin.clone.own_git import CloneError, no_beat
from runner.exec.child import Ran
from runner.git.cli import run_git

PUSH_S = 1800.0
HEADS = "refs/heads/"


def push_branches(place: Destination, git: Path, branches: Mapping[str, str]) -> tuple[str, ...]:
    """Push each branch to the commit it shall have; return those that moved.

    A branch that has more commits there already stays. Raises CloneError for one that has others.
    """
    moving = _to_push(place, git, branches)
    if moving:
        refs = (f"{branches[branch]}:{HEADS}{branch}" for branch in moving)
        ran = _remote(place, git, "push", "--quiet", place.hub.git_url(place.repository), *refs)
        if ran.exit_code:
            raise CloneError(f"git cannot push to {place.repository}: {_said(ran)}; then do this again")
    return moving


def check_branches(place: Destination, git: Path, branches: Mapping[str, str]) -> tuple[str, ...]:
    """Return the branches that would be pushed; raises as `push` does, and writes nothing there."""
    return _to_push(place, git, branches)


def _to_push(place: Destination, git: Path, branches: Mapping[str, str]) -> tuple[str, ...]:
    there = _heads(place, git) if branches else {}
    moving = []
    for branch, commit in branches.items():
        head = there.get(branch, "")
        if head and head != commit and not _has(git, head):
            _remote(place, git, *_FETCH, place.hub.git_url(place.repository), f"{HEADS}{branch}")
        if not head or (head != commit and _contains(git, commit, head)):
            moving.append(branch)
        elif not _contains(git, head, commit):
            because = f"the branch {branch} is in {place.repository} with other commits"
            raise CloneError(f"{because}: rename or remove it there, then do this again")
    return tuple(moving)


_FETCH = ("fetch", "--quiet", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance")


def _heads(place: Destination, git: Path) -> dict[str, str]:
    ran = _remote(place, git, "ls-remote", "--heads", place.hub.git_url(place.repository))
    if ran.exit_code:
        raise CloneError(f"git cannot read {place.repository}: {_said(ran)}; then do this again")
    rows = (row.partition("\t") for row in ran.out.splitlines())
    return {ref.removeprefix(HEADS): commit for commit, _, ref in rows}


def _has(git: Path, commit: str) -> bool:
    return _run(git, "cat-file", "-e", f"{commit}^{{commit}}").exit_code == 0


def _contains(git: Path, commit: str, other: str) -> bool:
    return _run(git, "merge-base", "--is-ancestor", other, commit).exit_code == 0


def _said(ran: Ran) -> str:
    return ran.tail.strip().rpartition("\n")[2][:300] or "no reason given"


def _remote(place: Destination, git: Path, *words: str) -> Ran:
    return _run(git, *words, more_env=place.hub.git_environment(place.repository))


def _run(git: Path, *words: str, more_env: Mapping[str, str] | None = None) -> Ran:
    return run_git(words, folder=git, beat=no_beat, timeout_s=PUSH_S, more_env=more_env, transfers=True)
