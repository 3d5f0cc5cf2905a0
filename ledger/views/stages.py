"""The stages of each run: every entry into one, with its cost, changes and hand-over."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import change, columns, listed, record
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.run import UsageMetered
from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft, StageReopened
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class StageRow:
    """One entry into a stage, the run's `entry`-th and this stage's `number`-th; `left_at` is None while it
    goes on, and where the run ended in it. `target` is the stage that it was left for, empty for none.
    """

    run_id: RunId
    entry: int
    stage: str
    number: int
    source: str
    sent_back: bool
    by: str
    persona: str
    persona_source: str
    persona_digest: str
    model: str
    entered_at: datetime
    left_at: datetime | None
    target: str
    usd: float
    input_tokens: int
    output_tokens: int
    seconds: float
    files_changed: int
    lines_changed: int
    lines_added: int
    summary: str


stages = Table("view_stages", VIEWS, *columns(StageRow, "run_id", "entry", long=("summary",)))
fold = Fold()


def of_run(db: Connection, run_id: RunId) -> tuple[StageRow, ...]:
    """Return the run's entries in order; none for a run without stages."""
    return listed(db, StageRow, stages, "entry", run_id=run_id)


@fold.on(StageEntered)
def _entered(db: Connection, it: Recorded, _event: StageEntered) -> None:
    record(db, stages, it, entered_at=it.at)


@fold.on(StageReopened)
def _reopened(db: Connection, _it: Recorded, event: StageReopened) -> None:
    _of_entry(db, event, left_at=None)


@fold.on(UsageMetered)
def _metered(db: Connection, _it: Recorded, event: UsageMetered) -> None:
    names = ("usd", "input_tokens", "output_tokens", "seconds")
    more = {name: stages.c[name] + getattr(event, name) for name in names}
    change(db, stages, {"run_id": event.run_id, "left_at": None}, **more)


@fold.on(SnapshotTaken)
def _handed(db: Connection, _it: Recorded, event: SnapshotTaken) -> None:
    _of_entry(db, event, summary=event.summary)


@fold.on(StageLeft)
def _left(db: Connection, it: Recorded, event: StageLeft) -> None:
    changed = {name: getattr(event, name) for name in ("files_changed", "lines_changed", "lines_added")}
    _of_entry(db, event, left_at=it.at, target=event.target, **changed)


def _of_entry(db: Connection, event: StageReopened | SnapshotTaken | StageLeft, **values: object) -> None:
    change(db, stages, {"run_id": event.run_id, "entry": event.entry}, **values)
