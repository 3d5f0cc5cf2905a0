"""The stages of each run: every entry into one, with its cost, changes and hand-over."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import change, columns, list_rows, record, setter
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.stage import FileTouched, SnapshotTaken, StageEntered, StageLeft, StageReopened
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
    target: str = ""
    usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    files_changed: int = 0
    lines_changed: int = 0
    lines_added: int = 0
    summary: str = ""
    touched: tuple[FileTouched, ...] = ()


stages = Table("view_stages", VIEWS, *columns(StageRow, "run_id", "entry", long=("summary", "touched")))
fold = Fold()


def of_run(db: Connection, run_id: RunId) -> tuple[StageRow, ...]:
    """Return the run's entries in order; none for a run without stages."""
    return list_rows(db, StageRow, stages, "entry", run_id=run_id)


@fold.on(StageEntered)
def _fold_stage_entered(db: Connection, recorded: Recorded, _event: StageEntered) -> None:
    record(db, stages, recorded, entered_at=recorded.at)


fold.on(StageReopened)(setter(stages, lambda _: {"left_at": None}, "run_id", "entry"))


fold.on(SnapshotTaken)(setter(stages, lambda e: {"summary": e.summary}, "run_id", "entry"))


@fold.on(StageLeft)
def _fold_stage_left(db: Connection, recorded: Recorded, event: StageLeft) -> None:
    names = ("files_changed", "lines_changed", "lines_added", "touched")
    changed = {name: getattr(event, name) for name in names}
    mine = {"run_id": event.run_id, "entry": event.entry}
    change(db, stages, mine, left_at=recorded.at, target=event.target, **changed)
