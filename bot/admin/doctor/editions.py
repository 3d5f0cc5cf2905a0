"""Checks of the versions on this ledger: whose it is, and whose views are folded beside."""

from collections.abc import Iterator

from bot.admin.doctor import CheckResult, DoctorContext, ok, warn
from ledger.db.tables import EditionState
from ledger.lifecycle import edition
from ledger.log import event_store
from rules.text import count

SHOWN = 3  # names of views


def editions(context: DoctorContext) -> Iterator[CheckResult]:
    """Which version has the ledger, and which folds its views beside, how far?"""
    if context.engine is None:  # the check of the ledger says why, and how far this version's views are
        return
    with event_store.reading(context.engine) as db:
        rows, last = edition.every(db), event_store.last_seq(db)
    for row in rows:
        if row.state is EditionState.LIVE:
            yield ok("editions", f"the ledger is that of Cardinal {row.name}")
        elif row.state is EditionState.FOLDING:
            shown = ", ".join(row.folded[:SHOWN])
            if len(row.folded) > SHOWN:
                shown += f" and {len(row.folded) - SHOWN} more"
            message = (
                f"Cardinal {row.name} folds {count(len(row.folded), 'view')} beside ({shown}):"
                f" {row.position} of {last} events"
            )
            yield warn("folding", message, "wait; if none is at it, start that version again, or leave it")


ORDER = 3
CHECKS = (editions,)
