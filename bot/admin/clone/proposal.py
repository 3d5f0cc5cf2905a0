"""Checks that a clone seems to have, from one of its commits."""

from pathlib import Path

from bot.admin.clone.own_git import git_output
from rules.policy.proposal import Proposal, markers, propose


def proposed_checks(folder: Path, commit: str) -> Proposal:
    """Return the proposal for the repository around `folder`, as it is at the commit."""
    words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    names = frozenset(git_output(folder, *words).split("\0"))
    texts = {name: git_output(folder, "cat-file", "blob", f"{commit}:{name}") for name in markers(names)}
    return propose(names, texts)
