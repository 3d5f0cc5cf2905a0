"""Every revision of every run's plan, and what people decided about it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, keep, many, one, pick, where
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.run import PlanApproved, PlanProposed, PlanRebound, PlanRedirected
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A plan. `state`: proposed, approved or redirected, then by whom; `text` is what the redirection asked
    for. `base` and `policy` are what an approval is about.
    """

    run_id: RunId
    revision: int
    summary: str
    steps: tuple[str, ...]
    state: str
    by: str
    text: str
    at: datetime
    base: str
    policy: str


plans = Table("view_plans", VIEWS, *columns(PlanRow, "run_id", "revision"))
fold = Fold()


def newest(db: Connection, run_id: RunId) -> PlanRow | None:
    """Return the run's newest plan; None before the first."""
    return one(
        db, PlanRow, pick(PlanRow, plans).where(plans.c.run_id == run_id).order_by(plans.c.revision.desc())
    )


def of_run(db: Connection, run_id: RunId) -> tuple[PlanRow, ...]:
    """Return all plans of the run, the first first."""
    return many(db, PlanRow, pick(PlanRow, plans).where(plans.c.run_id == run_id).order_by(plans.c.revision))


@fold.on(PlanProposed)
def _proposed(db: Connection, it: Recorded, event: PlanProposed) -> None:
    plan = {
        "summary": event.summary,
        "steps": event.steps,
        "state": "proposed",
        "by": "",
        "text": "",
        "at": it.at,
        "base": event.base,
        "policy": event.policy,
    }
    keep(db, plans, {"run_id": event.run_id, "revision": event.revision}, plan)


@fold.on(PlanRebound)
def _rebound(db: Connection, _it: Recorded, event: PlanRebound) -> None:
    mine = where(plans, {"run_id": event.run_id, "revision": event.revision})
    db.execute(plans.update().where(mine).values(base=event.base, policy=event.policy))


@fold.on(PlanApproved)
def _approved(db: Connection, _it: Recorded, event: PlanApproved) -> None:
    mine = where(plans, {"run_id": event.run_id, "revision": event.revision})
    db.execute(plans.update().where(mine).values(state="approved", by=event.by))


@fold.on(PlanRedirected)
def _redirected(db: Connection, _it: Recorded, event: PlanRedirected) -> None:
    mine = where(plans, {"run_id": event.run_id, "revision": event.revision})
    db.execute(plans.update().where(mine).values(state="redirected", by=event.by, text=event.text))
