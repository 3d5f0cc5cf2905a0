"""What the agent of each entry into a stage was told besides its layers, word for word."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, keep, many, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.brief import StageBriefed
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class StageBriefRow:
    """The words of one entry; the fields are as in StageBriefed."""

    run_id: RunId
    entry: int
    stage: str
    digest: str
    text: str


briefs = Table("view_stage_briefs", VIEWS, *columns(StageBriefRow, "run_id", "entry", long=("text",)))
fold = Fold()


def of_run(db: Connection, run_id: RunId) -> tuple[StageBriefRow, ...]:
    """Return what was told in the run's stages, in the order of their entries; none without stages."""
    query = pick(StageBriefRow, briefs).where(briefs.c.run_id == run_id)
    return many(db, StageBriefRow, query.order_by(briefs.c.entry))


@fold.on(StageBriefed)
def _briefed(db: Connection, _it: Recorded, event: StageBriefed) -> None:
    told = {"stage": event.stage, "digest": event.digest, "text": event.text}
    keep(db, briefs, {"run_id": event.run_id, "entry": event.entry}, told)
