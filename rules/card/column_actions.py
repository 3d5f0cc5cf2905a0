"""Carrying out the actions that a column's policy lists for entry and exit."""

from collections.abc import Sequence
from typing import Any

from rules import registry
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.validate import ACTIONS
from rules.snapshot import Snapshot


def act(
    policy: Policy, snapshot: Snapshot, steps: Sequence[dict[str, Any]], occasion: RuleTrigger
) -> Decision:
    """Return what the actions ask for, in their order."""
    decided = Decision()
    for index, step in enumerate(steps):
        part = registry.part(ACTIONS, step["action"])
        here = RuleTrigger(f"{occasion.rule}/{index}", occasion.by, occasion.now)
        decided += part.plan(policy, snapshot, part.Settings.model_validate(step), here)
    return decided


def has_action(steps: Sequence[dict[str, Any]], name: str) -> bool:
    """Return whether the action is among the steps."""
    return any(step["action"] == name for step in steps)


def headlines(steps: Sequence[dict[str, Any]]) -> list[str]:
    """Return what each action does, as the end of a sentence that begins with `Entering`."""
    parts = [(registry.part(ACTIONS, step["action"]), step) for step in steps]
    return [part.headline(part.Settings.model_validate(step)) for part, step in parts]
