"""Every revision of every run's plan, and people's decision about it."""

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, list_rows, recorder, setter
from ledger.db.tables import VIEWS
from ledger.events.run import PlanApproved, PlanProposed, PlanRebound, PlanRedirected
from ledger.fold import Fold
from ledger.ids import RunId
from ledger.rows.plans import PlanRow

plans = Table("view_plans", VIEWS, *columns(PlanRow, "run_id", "revision"))
fold = Fold()


def newest(db: Connection, run_id: RunId) -> PlanRow | None:
    return find(db, PlanRow, plans, "-revision", run_id=run_id)


def of_run(db: Connection, run_id: RunId) -> tuple[PlanRow, ...]:
    return list_rows(db, PlanRow, plans, "revision", run_id=run_id)


fold.on(PlanProposed)(recorder(plans, state="proposed"))
fold.on(PlanRebound)(setter(plans, lambda e: {"base": e.base, "policy": e.policy}, "run_id", "revision"))
fold.on(PlanApproved)(setter(plans, lambda e: {"state": "approved", "by": e.by}, "run_id", "revision"))
fold.on(PlanRedirected)(
    setter(plans, lambda e: {"state": "redirected", "by": e.by, "text": e.text}, "run_id", "revision")
)
