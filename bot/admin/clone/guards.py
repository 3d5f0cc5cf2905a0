"""Guards over a clone's commit: what the gate would find in the change."""

import tempfile
from dataclasses import replace
from pathlib import Path

from bot.admin.clone.commit import ClonedCommit, FolderRemote, borrow, no_beat
from bot.runspec.builder import guards_of
from ledger.events.guard import Violation
from runner.git.mirror import Mirror
from runner.guards.diff import Known, change_of
from runner.phases.guard import violations


def findings(cloned: ClonedCommit, *published: str) -> tuple[Violation, ...]:
    """Return the findings in what the commit has beyond its base and `published` commits, denied ones first.

    Raises GitError and LongHistoryError.
    """
    rules = cloned.policy.repository
    checks = rules.validation
    lines = (*rules.setup, *(checks.fast if checks else ()), *(checks.full if checks else ()))
    with tempfile.TemporaryDirectory(prefix="cardinal-guards.") as name:
        mirror = Mirror(Path(name), cloned.name, FolderRemote(""), no_beat)
        borrow(mirror.path, cloned.repository, cloned.objects)
        change = change_of(mirror, cloned.base, cloned.commit, Known((cloned.base, *published), "", ()))
        return violations(change, replace(guards_of(rules.guardrails), checks=lines))
