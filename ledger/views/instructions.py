"""The instructions of each run's agent, layer by layer, and the skills that were considered for it; the
skills, the agent and the workflow that people chose for its card.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, drop, fields_for, find, insert, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.instruction import (
    AgentPinned,
    InstructionsStacked,
    LayerTold,
    SkillConsidered,
    SkillsChosen,
    SkillsPinned,
    WorkflowPinned,
)
from ledger.events.run import RunEvent
from ledger.fold import Fold
from ledger.ids import CardId, RunId


@dataclass(frozen=True, slots=True)
class LayerRow(LayerTold):
    """One layer of the run's newest stack; `place` counts from 1."""

    run_id: RunId
    place: int


@dataclass(frozen=True, slots=True)
class SkillRow(SkillConsidered):
    """One skill that was considered last; `place` counts from 1."""

    run_id: RunId
    place: int


layers = Table("view_layers", VIEWS, *columns(LayerRow, "run_id", "place", long=("text",)))
skills = Table("view_skills", VIEWS, *columns(SkillRow, "run_id", "place"))
pins = Table("view_pins", VIEWS, *columns(SkillsPinned, "card_id"))
agent_pins = Table("view_agent_pins", VIEWS, *columns(AgentPinned, "card_id"))
workflow_pins = Table("view_workflow_pins", VIEWS, *columns(WorkflowPinned, "card_id"))
fold = Fold()


def stack_rows(db: Connection, run_id: RunId) -> tuple[LayerRow, ...]:
    """Return the run's newest layers in their order; none before the first claim is prepared."""
    return list_rows(db, LayerRow, layers, "place", run_id=run_id)


def list_skills(db: Connection, run_id: RunId) -> tuple[SkillRow, ...]:
    """Return the skills that were considered for the run, as its newest claim found them."""
    return list_rows(db, SkillRow, skills, "place", run_id=run_id)


def list_pinned_skills(db: Connection, card_id: CardId) -> tuple[str, ...]:
    """Return the names of the skills that were chosen for the card."""
    row = find(db, SkillsPinned, pins, card_id=card_id)
    return row.names if row else ()


def find_pinned_agent(db: Connection, card_id: CardId) -> str:
    """Return the agent that was chosen for the card, as in AgentPinned; empty for its column's own."""
    row = find(db, AgentPinned, agent_pins, card_id=card_id)
    return row.choice if row else ""


def find_pinned_workflow(db: Connection, card_id: CardId) -> tuple[str, str]:
    """Return the workflow that was chosen for the card, and who chose it; empty for none."""
    row = find(db, WorkflowPinned, workflow_pins, card_id=card_id)
    return (row.name, row.by) if row else ("", "")


fold.on(SkillsPinned)(recorder(pins))
fold.on(AgentPinned)(recorder(agent_pins))
fold.on(WorkflowPinned)(recorder(workflow_pins))


@fold.on(InstructionsStacked)
def _fold_instructions_stacked(db: Connection, _recorded: Recorded, event: InstructionsStacked) -> None:
    _replace(db, layers, event, event.layers)


@fold.on(SkillsChosen)
def _fold_skills_chosen(db: Connection, _recorded: Recorded, event: SkillsChosen) -> None:
    _replace(db, skills, event, event.considered)


def _replace(db: Connection, table: Table, event: RunEvent, parts: Iterable[object]) -> None:
    drop(db, table, run_id=event.run_id)
    for position, part in enumerate(parts, start=1):
        insert(db, table, {"run_id": event.run_id, "place": position, **fields_for(table, part)})
