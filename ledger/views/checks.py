"""The evidence: every validation command that ran for a run, and how each tier ended."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, many, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.run import CommandChecked, ValidationEnded
from ledger.fold import Fold
from ledger.ids import CardId, RunId
from ledger.states import Gate
from ledger.views.runs import runs
from ledger.views.waivers import WaiverRow, waivers


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
    image: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TierRow:
    """A tier's outcome as a whole, on the commit `head`; `clean`: it was the gate. See ValidationEnded."""

    seq: int
    run_id: RunId
    iteration: int
    tier: str
    passed: bool
    head: str
    base: str
    image: str
    clean: bool
    definition: str
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


def gate_of(db: Connection, card_id: CardId, head: str = "") -> TierRow | None:
    """Return how the gate ended last on the card's commit `head`, or at all; None when it never ran."""
    query = pick(TierRow, tiers).join(runs, runs.c.run_id == tiers.c.run_id)
    query = query.where(runs.c.card_id == card_id, tiers.c.clean)
    if head:
        query = query.where(tiers.c.head == head)
    return one(db, TierRow, query.order_by(tiers.c.seq.desc()).limit(1))


def standing(db: Connection, card_id: CardId, head: str) -> Gate:
    """Return what the gate says of the commit: by its newest result, or that the policy waived the checks."""
    if not head:
        return Gate.UNSEEN
    newest = _newest(db, card_id, head)
    if isinstance(newest, WaiverRow):
        return Gate.NOTHING
    return Gate.UNSEEN if newest is None else Gate.PASSED if newest.passed else Gate.FAILED


def definition_of(db: Connection, card_id: CardId, head: str) -> str:
    """Return which checks the newest word on the commit is about; empty where there is none, or none kept."""
    newest = _newest(db, card_id, head) if head else None
    return newest.definition if newest else ""


def _newest(db: Connection, card_id: CardId, head: str) -> TierRow | WaiverRow | None:
    found = gate_of(db, card_id, head)
    mine = pick(WaiverRow, waivers).join(runs, runs.c.run_id == waivers.c.run_id)
    mine = mine.where(runs.c.card_id == card_id, waivers.c.head == head)
    waived = one(db, WaiverRow, mine.order_by(waivers.c.seq.desc()).limit(1))
    return waived if waived is not None and (found is None or found.seq < waived.seq) else found


@fold.on(CommandChecked)
def _checked(db: Connection, it: Recorded, event: CommandChecked) -> None:
    names = (
        "iteration", "tier", "command", "exit_code", "duration_s", "log_digest", "tail", "head", "base",
        "image",
    )  # fmt: skip
    seen = {name: getattr(event, name) for name in names}
    db.execute(commands.insert().values(seq=it.seq, run_id=event.run_id, at=it.at, **seen))


@fold.on(ValidationEnded)
def _ended(db: Connection, it: Recorded, event: ValidationEnded) -> None:
    names = ("iteration", "tier", "passed", "head", "base", "image", "definition")
    seen = {name: getattr(event, name) for name in names}
    # The full tier never runs elsewhere.
    seen["clean"] = event.clean or event.tier == "full"
    db.execute(tiers.insert().values(seq=it.seq, run_id=event.run_id, at=it.at, **seen))
