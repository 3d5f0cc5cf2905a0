"""Checks of the versions on this ledger: whose it is, and whose views are folded beside."""

from collections.abc import Iterator

from bot.admin.doctor import CheckResult, DoctorContext, ok, warn
from ledger.db.tables import EditionState
from ledger.lifecycle import edition
from ledger.log import event_store
from rules.text import count

SHOWN = 3  # names of views


def editions(context: DoctorContext) -> Iterator[CheckResult]:
    """Which version owns the ledger, and how far is another one with building its views?"""
    if context.engine is None:  # the check of the ledger says why, and how far this version's views are
        return
    with event_store.reading(context.engine) as db:
        rows, last = edition.every(db), event_store.last_seq(db)
    for row in rows:
        if row.state is EditionState.LIVE:
            yield ok("editions", f"the ledger belongs to Cardinal {row.name}")
        elif row.state is EditionState.FOLDING:
            shown = ", ".join(row.folded[:SHOWN])
            if len(row.folded) > SHOWN:
                shown += f" and {len(row.folded) - SHOWN} more"
            message = (
                f"Cardinal {row.name} is building {count(len(row.folded), 'view')} of its own ({shown}): "
                f"{row.position} of {last} events"
            )
            yield warn(
                "folding",
                message,
                "wait for it; if that version is not running, start it again, or ignore this",
            )


ORDER = 3
CHECKS = (editions,)
