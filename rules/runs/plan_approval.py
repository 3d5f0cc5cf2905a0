"""The scope of an approval: a plan, the issue's text, the base commit and the policy, by their digests."""

import json
from collections.abc import Iterable
from hashlib import sha256

from rules.snapshot import RunSeen, Snapshot
from rules.text import code

ISSUE, BASE, POLICY = "the issue's text", "the default branch", "the policy"


def issue_digest(title: str, body: str) -> str:
    """Return the SHA-256 of an issue's title and description."""
    return _digest(title, body)


def plan_digest(summary: str, steps: Iterable[str]) -> str:
    """Return the SHA-256 of a plan."""
    return _digest(summary, *steps)


def bound(snapshot: Snapshot, run: RunSeen) -> str:
    """Return the SHA-256 of all that an approval of the run's newest plan is about."""
    return _digest(run.plan_digest, run.briefed, run.plan_base, run.plan_policy)


def is_reworded(snapshot: Snapshot, run: RunSeen) -> bool:
    """Return whether the issue's text differs from the run's briefing; false where that is not known."""
    return bool(run.briefed) and run.briefed != issue_digest(snapshot.title, snapshot.body)


def moved_on(snapshot: Snapshot, run: RunSeen, base: str) -> tuple[str, ...]:
    """Return the changes of base and policy since the plan; `base` is the branch's head now, or empty."""
    changed = []
    if base and run.plan_base and base != run.plan_base:
        changed.append(f"{BASE} went from {code(run.plan_base[:10])} to {code(base[:10])}")
    if run.plan_policy and run.plan_policy != snapshot.policy_digest:
        changed.append(f"{POLICY} is another one")
    return tuple(changed)


def _digest(*parts: str) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()
