"""The actions of a column's policy for entry and exit, the effect of a drag into it, and its changes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ledger.events.board import CardExplained
from ledger.events.policy import ColumnChange
from ledger.model.column_names import column_key
from ledger.states import CardState
from rules.card.state import list_steps
from rules.card.trigger import RuleTrigger
from rules.intents.internal import ShowCard, show_card
from rules.intents.outbound import Decision
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.policy.stages import OUTCOMES, MoveTo, Outcome
from rules.registry import ACTIONS, ARCHETYPES
from rules.snapshot import Snapshot
from rules.text import plain

MAX_LENGTH = 200
UNSERVED = "The policy does not name this column: nothing happens here."


def act(
    policy: Policy, snapshot: Snapshot, steps: Sequence[dict[str, Any]], trigger: RuleTrigger
) -> Decision:
    """Return the decision of all actions, in their order."""
    decision, brief = Decision(), last_brief(steps)
    for index, step in enumerate(steps):
        if step["action"] == "start_run" and brief is not None:
            because = "its run starts once a rule's model has written the brief, or with /cardinal retry"
            decision += show_card(CardState.BLOCKED, because)
            continue
        part = ACTIONS.load(step["action"])
        rule_trigger = RuleTrigger(f"{trigger.rule}/{index}", trigger.by, trigger.now)
        decision += part.plan(policy, snapshot, part.Settings.model_validate(step), rule_trigger)
    return decision


def derive_and_act(
    policy: Policy, snapshot: Snapshot, column: ColumnPolicy, trigger: RuleTrigger
) -> Decision:
    """Carry out the actions for a card that enters, and bring its state up to date unless one of them did."""
    acted = act(policy, snapshot, column.entry_actions, trigger)
    explained = any(
        isinstance(it, CardExplained) or (isinstance(it, ShowCard) and list_steps(policy, snapshot, it))
        for it in acted.intents
    )
    return acted if explained else show_card() + acted


def has_action(steps: Sequence[dict[str, Any]], name: str) -> bool:
    return any(step["action"] == name for step in steps)


def last_brief(steps: Sequence[dict[str, Any]]) -> int | None:
    """Return the place of the last rule whose brief the run of these steps waits for; None for none."""
    start = next((index for index, step in enumerate(steps) if step["action"] == "start_run"), 0)
    briefs = (index for index, step in enumerate(steps[:start]) if step.get("brief"))
    return max(briefs, default=None)


def headlines(steps: Sequence[dict[str, Any]]) -> list[str]:
    """Return the effect of each action, as the end of a sentence that begins with `Entering`."""
    parts = [(ACTIONS.load(step["action"]), step) for step in steps]
    return [part.headline(part.Settings.model_validate(step)) for part, step in parts]


def describe_routes(column: ColumnPolicy, *outcomes: Outcome) -> str:
    """Return where cards go from the column, all outcomes unless some are given; empty if they stay."""
    routes: dict[Outcome, tuple[str, MoveTo | None]] = {
        "on_success": ("success", column.on_success),
        "on_failure": ("failure", column.on_failure),
        "on_changes_requested": ("changes requested", column.on_changes_requested),
    }
    moves = (routes[it] for it in outcomes or OUTCOMES)
    ways = [f"{name} → {plain(move.move, 40)}" for name, move in moves if move is not None]
    return f" Then: {', '.join(ways)}." if ways else ""


def consequence(column: ColumnPolicy) -> str:
    """Return the column's description in one line of at most 200 characters."""
    return plain(ARCHETYPES.load(column.archetype).headline(column), MAX_LENGTH)


def find_changed_columns(
    before: Policy, after: Policy, cards: Mapping[str | None, int]
) -> tuple[ColumnChange, ...]:
    """Return the columns whose rules differ; `cards` counts those that stand in each column."""

    def drag(policy: Policy, name: str) -> str:
        column = policy.column(name)
        return consequence(column) if column is not None else ""

    there = Counter[str]()
    for column, number in cards.items():
        there[column_key(column)] += number
    names = dict.fromkeys((*after.board.columns, *before.board.columns))
    return tuple(
        ColumnChange(name, drag(before, name), drag(after, name), there[column_key(name)])
        for name in names
        if before.column(name) != after.column(name)
    )
