"""The scope of an approval: a plan, the issue's text, the base commit and the policy, by their digests."""

import json
from hashlib import sha256

from rules.snapshot import Snapshot
from rules.text import code

ISSUE, BASE, POLICY = "the issue's text", "the default branch", "the policy"


def issue_digest(title: str, body: str) -> str:
    """Return the SHA-256 of an issue's title and description."""
    return _digest(title, body)


def digest_of_plan(snapshot: Snapshot) -> str:
    """Return the SHA-256 of all that an approval of the run's newest plan is about."""
    plan = snapshot.plan
    if plan is None:
        return _digest("", snapshot.briefed, "", "")
    return _digest(_digest(plan.summary, *plan.steps), snapshot.briefed, plan.base, plan.policy)


def is_reworded(snapshot: Snapshot) -> bool:
    """Return whether the issue's text differs from the run's briefing; false where that is not known."""
    return bool(snapshot.briefed) and snapshot.briefed != issue_digest(snapshot.title, snapshot.body)


def list_changes_since(snapshot: Snapshot, base: str) -> tuple[str, ...]:
    """Return the changes of base and policy since the plan; `base` is the branch's head now, or empty."""
    changed, plan = [], snapshot.plan
    if base and plan and plan.base and base != plan.base:
        changed.append(f"{BASE} went from {code(plan.base[:10])} to {code(base[:10])}")
    if plan and plan.policy and plan.policy != snapshot.policy_digest:
        changed.append(f"{POLICY} has changed")
    return tuple(changed)


def _digest(*parts: str) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()
