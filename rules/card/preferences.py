"""A card's priority and the limits of its runs: by command, by the board's field, by a label."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ledger.events.preference import RunReordered
from ledger.rows.cards import CardRow
from ledger.states import Priority
from rules.intents.outbound import Decision, UpdateFace
from rules.policy.board import CAPS, LabelSettings
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import code, plain, usd

FIELD = "Priority"  # of the project, made by people
# What people call them, also as GitHub's templates and many teams do.
_NAMED: Mapping[str, Priority] = {
    **{str(priority): priority for priority in Priority},
    "medium": Priority.NORMAL,
    "p0": Priority.URGENT,
    "p1": Priority.HIGH,
    "p2": Priority.NORMAL,
    "p3": Priority.LOW,
}
_KEYS = {"minutes": "timeout_minutes", "turns": "max_turns", "usd": "budget_usd"}


@dataclass(frozen=True, slots=True)
class ChosenPriority:
    """A card's priority, and what chose it."""

    priority: Priority
    why: str


@dataclass(frozen=True, slots=True)
class CardLimits:
    """Limits of one card's runs, and the effort of its model; 0 and empty stand for the column's own."""

    minutes: int = 0
    turns: int = 0
    usd: float = 0.0
    effort: str = ""


def choose_priority(policy: Policy, card: CardRow) -> ChosenPriority:
    """Return the card's priority: by command, else by the board's field, else by a label, else normal."""
    if card.priority:
        return ChosenPriority(card.priority, f"{plain(card.priority_by, 60)} chose it")
    said = card.priority_field
    if said and (named := priority_named(said)):
        return ChosenPriority(named, f"the board's field {FIELD} says {code(said, 60)}")
    unknown = f"; the board's field {FIELD} says {code(said, 60)}, which is not a priority" if said else ""
    for label, settings in label_settings(policy, card):
        if settings.priority:
            return ChosenPriority(Priority(settings.priority), f"label {code(label, 60)}{unknown}")
    return ChosenPriority(Priority.NORMAL, f"by default{unknown}")


def priority_named(text: str) -> Priority | None:
    """Return the priority that a word names, whatever signs stand around it; None for any other word."""
    return _NAMED.get("".join(letter for letter in text.casefold() if letter.isalnum()))


def label_settings(policy: Policy, card: CardRow) -> list[tuple[str, LabelSettings]]:
    """Return what the policy says of the card's labels, in the policy's order."""
    has = {label.casefold() for label in card.choosing_labels}
    return [(label, it) for label, it in policy.board.labels.items() if label.casefold() in has]


def queue_priority(policy: Policy, card: CardRow) -> Priority:
    """Return the priority by which the card's runs are queued: normal where only the place counts."""
    counts = policy.board.queue_order == "priority"
    return choose_priority(policy, card).priority if counts else Priority.NORMAL


def reorder_run(policy: Policy, snapshot: Snapshot) -> Decision:
    """Give the card's live run its place in the queue by the priority that the card has now."""
    run, wanted = snapshot.live_run, queue_priority(policy, snapshot)
    if run is None or run.priority is wanted:
        return Decision()
    why = f"priority {wanted}: {choose_priority(policy, snapshot).why}"
    return Decision((RunReordered(run.run_id, wanted), UpdateFace(snapshot.card_id)), (why,))


def read_chosen_limits(card: CardRow) -> CardLimits:
    """Return the limits that a command chose for the card."""
    return CardLimits(card.limit_minutes, card.limit_turns, card.limit_usd, card.limit_effort)


def apply_limits(policy: Policy, column: ColumnPolicy, card: CardRow, *, own_agent: bool) -> ColumnPolicy:
    """Return the column's rules with the card's limits: by command, else by a label, never above a cap.

    `own_agent`: the column's own agent plays the card, and a label may name its model.
    """
    wanted: dict[str, Any] = {}
    for _, settings in label_settings(policy, card):
        for name in (*_KEYS.values(), "effort", *(("model",) if own_agent else ())):
            if (value := getattr(settings, name)) is not None:
                wanted.setdefault(name, value)
    chosen = read_chosen_limits(card)
    keys = {**_KEYS, "effort": "effort"}
    wanted |= {key: value for name, key in keys.items() if (value := getattr(chosen, name))}
    for key, cap in CAPS.items():
        most = getattr(policy.limits, cap)
        if key in wanted and most is not None:
            wanted[key] = min(wanted[key], most)
    return column.model_copy(update=wanted) if wanted else column


def limit_problem(policy: Policy, limits: CardLimits) -> str:
    """Return which cap the limits are above; empty for none."""
    for name, key in _KEYS.items():
        value, most = getattr(limits, name), getattr(policy.limits, CAPS[key])
        if most is not None and value > most:
            allowed = f"the board's `{CAPS[key]}` in the policy, {_amount(name, most)}"
            return f"{_amount(name, value)} is more than {allowed}"
    return ""


def describe_limits(limits: CardLimits) -> str:
    """Return `120 minutes, 50 turns, effort high`; empty where all are the column's own."""
    named = ((name, getattr(limits, name)) for name in _KEYS)
    amounts = [_amount(name, value) for name, value in named if value]
    return ", ".join((*amounts, f"effort {limits.effort}") if limits.effort else amounts)


def describe_next_run(policy: Policy, card: CardRow) -> str:
    """Return the limits that a run would have that is queued now, and who chose any of them; only the chosen
    ones where no run could be.
    """
    chosen, by = describe_limits(read_chosen_limits(card)), plain(card.limits_by, 60)
    column, limits = policy.column(card.column), chosen
    if column is not None and policy.archetype(card.column).STARTS_RUNS:
        rules = apply_limits(policy, column, card, own_agent=False)
        effort = rules.effort or ""
        limits = describe_limits(CardLimits(rules.timeout_minutes, rules.max_turns, rules.budget_usd, effort))
    if chosen and chosen == limits:
        return f"{limits}, chosen by {by}"
    return f"{limits}; {by} chose {chosen}" if chosen else limits


def _amount(name: str, value: float) -> str:
    if name == "usd":
        return usd(value)
    return f"{value:g} {name if value != 1 else name.removesuffix('s')}"
