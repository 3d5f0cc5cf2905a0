"""Another agent for a board of `cardinal try`: its policy file with other names in it, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bot.admin.clone.own_git import CloneError
from bot.admin.trial import trial
from ledger.errors import OlderLedgerError
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.views import runs
from rules.errors import PolicyError
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy, working_columns

_LEDGER, _MAX_RUNS = "data/ledger.db", 1000
_BY_HAND = "{file} cannot be rewritten safely, change it yourself: {steps}"


@dataclass(frozen=True, slots=True)
class AgentSwitch:
    """The policy file with the new agent; `changes` has a line for each column that gets another one."""

    text: str
    policy: Policy
    changes: tuple[str, ...]


def plan_switch(place: trial.Trial, agent: str, named: str = "") -> AgentSwitch:
    """Return the policy with that agent, and the `named` model, in every column where one works.

    Raises PolicyError, CloneError.
    """
    file = place.folder / trial.POLICY
    text, policy = trial.read_policy(place)
    replaced: list[tuple[int, int, str]] = []
    changes, columns = [], dict(policy.board.columns)
    nodes = _columns_in(text)
    model, small = trial.models_for(agent, named)
    for name in working_columns(policy):
        column = policy.board.columns[name]
        if column.agent == agent and not named:
            continue
        wanted = {"agent": agent, "model": model if policy.archetype(name).STARTS_RUNS else small}
        replaced += _edits(text, nodes[name], wanted)
        if column.agent != agent:
            changes.append(f"{name}: {column.agent} becomes {agent}")
        elif column.model != wanted["model"]:
            changes.append(f"{name}: the model {column.model} becomes {wanted['model']}")
        columns[name] = column.model_copy(update=wanted)
    for start, end, written in sorted(replaced, reverse=True):
        text = text[:start] + written + text[end:]
    try:
        new_policy = trial.parse_policy(place, text)
    except PolicyError as error:  # about a text that nobody has seen
        raise CloneError(_by_hand(file, policy, columns)) from error
    if new_policy != policy.model_copy(
        update={"board": policy.board.model_copy(update={"columns": columns})}
    ):
        raise CloneError(_by_hand(file, policy, columns))
    return AgentSwitch(text, new_policy, tuple(changes))


def _by_hand(file: Path, policy: Policy, columns: Mapping[str, ColumnPolicy]) -> str:
    changed = ((name, it) for name, it in columns.items() if it != policy.board.columns[name])
    steps = (f"in {name} set `agent: {it.agent}` and `model: {it.model}`" for name, it in changed)
    return _BY_HAND.format(file=file, steps=", ".join(steps))


def agents_under_way(place: trial.Trial) -> frozenset[str]:
    """Return the agents of runs that have not ended: each run keeps its own, whatever its column says now."""
    if not (place.folder / _LEDGER).exists():
        return frozenset()
    try:
        engine = open_ledger(f"sqlite:///{place.folder / _LEDGER}", migrate=False)
    except OlderLedgerError:  # of another release: the board brings it up to date when it starts
        return frozenset()
    try:
        with event_store.reading(engine) as db:
            return frozenset(run.agent for run in runs.newest(db, _MAX_RUNS) if run.ended_at is None)
    finally:
        engine.dispose()


def _columns_in(text: str) -> dict[str, Any]:
    """Return the nodes of the columns by name; the text is that of a policy which was read."""
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in ("board", "columns"):
        node = _members(node)[key][1]
    return {name: value for name, (_, value) in _members(node).items()}


def _members(node: yaml.MappingNode) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    return {key.value: (key, value) for key, value in node.value}


def _edits(whole: str, node: yaml.MappingNode, wanted: dict[str, str]) -> list[tuple[int, int, str]]:
    """Return what to write from where to where, so that the column has these values."""
    known = _members(node)
    first = node.value[0][0].start_mark
    between = ", " if node.flow_style else "\n" + " " * first.column
    edits = []
    missing = ""
    for name, text in wanted.items():
        if name in known:
            value = known[name][1]
            start = value.start_mark.index
            written = whole[start : value.end_mark.index].rstrip()  # the line's end is part of a block
            edits.append((start, start + len(written), text))
        else:
            missing += f"{name}: {text}{between}"
    return [*edits, (first.index, first.index, missing)] if missing else edits
