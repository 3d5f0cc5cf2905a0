"""People's messages to a run at work, in order, for its agent's next step."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import all_rows, columns, pick, recorder
from ledger.db.tables import VIEWS
from ledger.events.run import RunSteered
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class SteeringRow:
    """A message to the agent; `seq` is its event's: the place to read on from."""

    seq: int
    run_id: RunId
    by: str
    text: str
    comment_id: int
    at: datetime


steering = Table("view_steering", VIEWS, *columns(SteeringRow, "run_id", "seq"))
fold = Fold()


def after(db: Connection, run_id: RunId, seq: int) -> tuple[SteeringRow, ...]:
    """Return the run's messages that came after the event `seq`, the oldest first."""
    mine = (steering.c.run_id == run_id) & (steering.c.seq > seq)
    return all_rows(db, SteeringRow, pick(SteeringRow, steering).where(mine).order_by(steering.c.seq))


fold.on(RunSteered)(recorder(steering))
