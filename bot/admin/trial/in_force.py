"""The policy that counts for a clone's commit: the repository's own file, else that of the clone's board."""

from dataclasses import replace
from pathlib import Path

from bot.admin.clone import commit as clone
from bot.admin.clone.commit import ClonedCommit
from bot.admin.trial import trial


def find(folder: Path, commit: str, base: str = "") -> ClonedCommit:
    """Return `commit` as `clone.find` does.

    Where no policy file is at the base and `cardinal try` serves the clone, its board's policy counts, and an
    empty `base` is the branch that *Done* merges into. Its packages are those of the board's own checks.
    """
    cloned = clone.find(folder, commit, base)
    place = trial.trial_around(folder)
    if place is None:
        return cloned
    cloned_commit = cloned if cloned.has_file else clone.find(folder, commit, base or place.into)
    cloned_commit = replace(cloned_commit, packages=place.folder / trial.PACKAGES)
    if cloned_commit.has_file:
        return cloned_commit
    policy = trial.policy_of(place)
    rules = policy.board.repositories.without_policy
    source = f"the board's {place.folder / trial.POLICY}"
    return replace(cloned_commit, policy=policy.model_copy(update={"repository": rules}), source=source)
