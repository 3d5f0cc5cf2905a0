"""Retention: rows other than events that nobody needs any more are dropped."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Delete, Engine, and_, or_, select
from sqlalchemy.sql.functions import func

from ledger.db.clock import database_now
from ledger.db.statements import statement
from ledger.db.tables import change_reports, leases
from ledger.db.transactions import writing
from ledger.queue import api_tokens, hosts, inbox
from ledger.states import RunState
from ledger.views.runs import runs

_RUN = "run:"  # begins the name of a run's lease


def drop_old(engine: Engine, *, age: timedelta, age_for_people: timedelta, limit: int) -> dict[str, int]:
    """Drop older rows, the oldest first, of each kind `limit` at most; return how many of each.

    `age_for_people` is that of rows in lists of people, who may still do something about them.
    """
    with writing(engine) as db:
        now = database_now(db)
        before, long_before = now - age, now - age_for_people
        return {
            "deliveries": inbox.drop_done(db, before, limit),
            "quarantined deliveries": inbox.drop_quarantined(db, long_before, limit),
            "leases": _leases.run(db, {"before": before, "most": limit}),
            "reports of changes": _change_reports.run(db, {"before": before}),
            "tokens": api_tokens.drop_over(db, long_before),
            "hosts": hosts.drop_silent(db, long_before),
        }


@statement
def _leases(before: Any, most: Any) -> Delete:
    """Delete those that nobody holds. A run counts on with its generations until it has ended."""
    of_run = and_(leases.c.name.startswith(_RUN), runs.c.run_id == func.substr(leases.c.name, len(_RUN) + 1))
    over = (
        select(leases.c.name)
        .outerjoin(runs, of_run)
        .where(
            leases.c.until < before,
            or_(leases.c.holder == "", leases.c.holder == leases.c.name),  # released, or a mere date
            or_(runs.c.run_id.is_(None), runs.c.state == RunState.ENDED),
        )
    )
    return leases.delete().where(leases.c.name.in_(over.order_by(leases.c.until).limit(most)))


@statement
def _change_reports(before: Any) -> Delete:
    return change_reports.delete().where(change_reports.c.at < before)
