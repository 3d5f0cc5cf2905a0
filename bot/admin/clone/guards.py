"""Guards over a clone's commit: the findings that the gate would have."""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bot.admin.clone.commit import ClonedCommit, FolderRemote, borrow
from bot.admin.clone.own_git import no_beat
from bot.runspec.policy_fields import guards_of, validation_of
from ledger.events.guard import Violation
from ledger.events.witness import Witnessed
from runner.checks.by_path import all_lines
from runner.git.mirror import Mirror
from runner.guards.diff import Known, change_of
from runner.phases.guard import fewer_tests, violations


def guard_violations(cloned: ClonedCommit, *published: str) -> tuple[Violation, ...]:
    """Return the violations that the commit has beyond its base and `published` commits, denied ones first.

    Raises GitError and LongHistoryError.
    """
    rules = cloned.policy.repository
    lines = all_lines(validation_of(cloned.name, cloned.base, rules, has_file=cloned.has_file))
    with tempfile.TemporaryDirectory(prefix="cardinal-guards.") as name:
        mirror = Mirror(Path(name), cloned.name, FolderRemote(""), no_beat)
        borrow(mirror.path, cloned.repository, cloned.objects)
        change = change_of(mirror, cloned.base, cloned.commit, Known((cloned.base, *published), "", ()))
        return violations(change, replace(guards_of(rules.guardrails), checks=lines))


def fewer_tests_than_base(cloned: ClonedCommit, checked: Iterable[Witnessed]) -> tuple[Violation, ...]:
    """Return a question for each command that ran fewer tests than on the base."""
    return fewer_tests(checked, guards_of(cloned.policy.repository.guardrails))
