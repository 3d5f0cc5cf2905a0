"""The evidence: every validation command that ran for a run, and how each tier ended."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.event import Recorded
from ledger.events.run import CommandChecked, ValidationEnded
from ledger.fold import Fold
from ledger.ids import RunId
from ledger.rows import columns, many, one, pick
from ledger.tables import VIEWS


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One command's outcome on `head`; `log_digest` is the SHA-256 of its kept log, `tail` the end of it."""

    seq: int
    run_id: RunId
    iteration: int
    tier: str
    command: str
    exit_code: int
    duration_s: float
    log_digest: str
    tail: str
    head: str
    base: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TierRow:
    """A tier's outcome as a whole, on the commit `head`."""

    seq: int
    run_id: RunId
    iteration: int
    tier: str
    passed: bool
    head: str
    base: str
    at: datetime


commands = Table("view_checks", VIEWS, *columns(CheckRow, "run_id", "seq"))
tiers = Table("view_check_tiers", VIEWS, *columns(TierRow, "run_id", "seq"))
fold = Fold()


def of_run(db: Connection, run_id: RunId) -> tuple[CheckRow, ...]:
    """Return the run's commands in the order in which they ran."""
    return many(
        db, CheckRow, pick(CheckRow, commands).where(commands.c.run_id == run_id).order_by(commands.c.seq)
    )


def tiers_of_run(db: Connection, run_id: RunId) -> tuple[TierRow, ...]:
    """Return the run's validations in the order in which they ended."""
    return many(db, TierRow, pick(TierRow, tiers).where(tiers.c.run_id == run_id).order_by(tiers.c.seq))


def newest_tier(db: Connection, run_id: RunId, tier: str) -> TierRow | None:
    """Return how the tier, fast or full, ended last; None when it never ran."""
    query = pick(TierRow, tiers).where(tiers.c.run_id == run_id, tiers.c.tier == tier)
    return one(db, TierRow, query.order_by(tiers.c.seq.desc()))


@fold.on(CommandChecked)
def _checked(db: Connection, it: Recorded, event: CommandChecked) -> None:
    names = (
        "iteration", "tier", "command", "exit_code", "duration_s", "log_digest", "tail", "head", "base",
    )  # fmt: skip
    seen = {name: getattr(event, name) for name in names}
    db.execute(commands.insert().values(seq=it.seq, run_id=event.run_id, at=it.at, **seen))


@fold.on(ValidationEnded)
def _ended(db: Connection, it: Recorded, event: ValidationEnded) -> None:
    seen = {name: getattr(event, name) for name in ("iteration", "tier", "passed", "head", "base")}
    db.execute(tiers.insert().values(seq=it.seq, run_id=event.run_id, at=it.at, **seen))
