"""Checks that a clone seems to have, from one of its commits, and the programs that are missing for them."""

import shutil
from pathlib import Path

from bot.admin.clone.own_git import git_output
from rules.policy.projects import devcontainer, environment
from rules.policy.projects.proposal import Proposal, markers, propose
from runner.checks.command import LOCAL, programs_of, say_missing
from runner.workspaces import bubblewrap

OWN_IMAGE = frozenset(
    ("git", "python3", "bash", "sh")
)  # docker/agent/Dockerfile, of what proposals may start


def propose_checks(folder: Path, commit: str) -> Proposal:
    """Return the proposal for the repository around `folder`, as it is at the commit."""
    return propose(*read_tree(folder, commit))


def read_tree(folder: Path, commit: str) -> tuple[frozenset[str], dict[str, str]]:
    """Return the names of the commit's files, and the texts of those that proposals read."""
    args = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    names = frozenset(git_output(folder, *args).split("\0"))
    return names, {
        name: git_output(folder, "cat-file", "blob", f"{commit}:{name}") for name in markers(names)
    }


def explain_environment(folder: Path, commit: str) -> tuple[str, ...]:
    """Return what Cardinal does with each file there that names the programs of the work."""
    names, _ = read_tree(folder, commit)
    chosen = devcontainer.choose_devcontainer(names)
    texts = {chosen: git_output(folder, "cat-file", "blob", f"{commit}:{chosen}")} if chosen else {}
    return tuple(environment.describe_environment(names, texts))


def lacking_programs(proposal: Proposal, *, image: str) -> tuple[str, ...]:
    """Return a sentence for each program that the lines start, and `image` does not have.

    It is `local` for this machine, as commands see it there, or empty for Cardinal's own.
    """
    named = dict.fromkeys(name for line in proposal.commands() for name in programs_of(line))
    if image == LOCAL:
        missing = [name for name in named if not shutil.which(name, path=bubblewrap.PATH)]
    else:
        missing = [name for name in named if name not in OWN_IMAGE]
    return tuple(say_missing(name, image=image) for name in missing)
