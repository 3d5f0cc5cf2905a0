"""The briefing of each entry into a stage, word for word, without the layers of instructions."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, listed, recorder
from ledger.db.tables import VIEWS
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
    """Return the briefings of the run's stages by entry; none without stages."""
    return listed(db, StageBriefRow, briefs, "entry", run_id=run_id)


fold.on(StageBriefed)(recorder(briefs))
