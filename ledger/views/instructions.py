"""What each run's agent was instructed with, layer by layer, and which skills were considered for it."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, many, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.instruction import InstructionsStacked, SkillsChosen
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer of the run's newest stack; `place` counts from 1, the rest is as in LayerTold."""

    run_id: RunId
    place: int
    kind: str
    name: str
    source: str
    version: str
    digest: str
    private: bool
    text: str


@dataclass(frozen=True, slots=True)
class SkillRow:
    """One skill that was considered last; `place` counts from 1, the rest is as in SkillConsidered."""

    run_id: RunId
    place: int
    name: str
    source: str
    version: str
    digest: str
    private: bool
    asked: bool
    loaded: bool
    why: str


layers = Table("view_layers", VIEWS, *columns(LayerRow, "run_id", "place", long=("text",)))
skills = Table("view_skills", VIEWS, *columns(SkillRow, "run_id", "place"))
fold = Fold()


def stack(db: Connection, run_id: RunId) -> tuple[LayerRow, ...]:
    """Return the run's newest layers in their order; none before the first claim got ready."""
    query = pick(LayerRow, layers).where(layers.c.run_id == run_id)
    return many(db, LayerRow, query.order_by(layers.c.place))


def considered(db: Connection, run_id: RunId) -> tuple[SkillRow, ...]:
    """Return the skills that were considered for the run, as its newest claim found them."""
    query = pick(SkillRow, skills).where(skills.c.run_id == run_id)
    return many(db, SkillRow, query.order_by(skills.c.place))


@fold.on(InstructionsStacked)
def _stacked(db: Connection, _it: Recorded, event: InstructionsStacked) -> None:
    db.execute(layers.delete().where(layers.c.run_id == event.run_id))
    names = ("kind", "name", "source", "version", "digest", "private", "text")
    for place, layer in enumerate(event.layers, start=1):
        told = {name: getattr(layer, name) for name in names}
        db.execute(layers.insert().values(run_id=event.run_id, place=place, **told))


@fold.on(SkillsChosen)
def _chosen(db: Connection, _it: Recorded, event: SkillsChosen) -> None:
    db.execute(skills.delete().where(skills.c.run_id == event.run_id))
    names = ("name", "source", "version", "digest", "private", "asked", "loaded", "why")
    for place, skill in enumerate(event.considered, start=1):
        told = {name: getattr(skill, name) for name in names}
        db.execute(skills.insert().values(run_id=event.run_id, place=place, **told))
