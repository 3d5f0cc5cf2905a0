"""The briefings of each run's agent, and of each of its stages, word for word."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, list_rows, recorder, value
from ledger.db.tables import VIEWS
from ledger.events.brief import StageBriefed
from ledger.events.run import BriefingMade
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class BriefingRow:
    """A briefing; `seq` is its event's, `issue` the digest of the issue's text in it."""

    seq: int
    run_id: RunId
    text: str
    digest: str
    omitted: tuple[str, ...]
    at: datetime
    issue: str
    base: str = ""


briefings = Table("view_briefings", VIEWS, *columns(BriefingRow, "run_id", "seq"))
briefs = Table("view_stage_briefs", VIEWS, *columns(StageBriefed, "run_id", "entry", long=("text",)))
fold = Fold()


def newest(db: Connection, run_id: RunId) -> BriefingRow | None:
    return find(db, BriefingRow, briefings, "-seq", run_id=run_id)


def digest_of_briefing(db: Connection, run_id: RunId) -> str:
    """Return the digest of the issue's text in the run's newest briefing; empty before the first."""
    return value(db, briefings.c.issue, "-seq", run_id=run_id) or ""


def of_stages(db: Connection, run_id: RunId) -> tuple[StageBriefed, ...]:
    """Return the briefings of the run's stages by entry; none without stages."""
    return list_rows(db, StageBriefed, briefs, "entry", run_id=run_id)


fold.on(BriefingMade)(recorder(briefings))
fold.on(StageBriefed)(recorder(briefs))
