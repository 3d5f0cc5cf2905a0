"""The evidence: every validation command of a run, the outcome of each tier, and commits without checks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, or_

from ledger.db.rows import columns, find, first_row, list_rows, pick, record, recorder, setter, value
from ledger.db.statements import statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.bounds import ValidationWaived
from ledger.events.run import CommandChecked, ValidationEnded
from ledger.events.witness import CheckWitnessed
from ledger.fold import Fold
from ledger.ids import CardId, RunId
from ledger.states import Gate
from ledger.views import signed_commits
from ledger.views.cards import of_same_issue
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One command's outcome on `head`; `log_digest` is the SHA-256 of its kept log, `tail` the end of it.

    `canary` is empty where no witness was asked; it and the fields after it are those of CheckWitnessed.
    """

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
    canary: str = ""
    runner: str = ""
    unit: str = ""
    passed: int = 0
    base_tests: int = 0
    believed: bool = True
    why: str = ""


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
    paths: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class WaiverRow:
    """One commit of a run on which nothing was checked."""

    seq: int
    run_id: RunId
    head: str
    base: str
    definition: str
    at: datetime


commands = Table("view_checks", VIEWS, *columns(CheckRow, "run_id", "seq"))
tiers = Table("view_check_tiers", VIEWS, *columns(TierRow, "run_id", "seq"))
waivers = Table("view_waivers", VIEWS, *columns(WaiverRow, "run_id", "seq"))
fold = Fold()


def _is_about(card_id: Any) -> ColumnElement[bool]:
    """The run is about the card's issue, on whatever board: a commit is judged once."""
    return or_(runs.c.card_id == card_id, runs.c.card_id.in_(of_same_issue(card_id)))


def of_run(db: Connection, run_id: RunId) -> tuple[CheckRow, ...]:
    """Return the run's commands in the order in which they ran."""
    return list_rows(db, CheckRow, commands, "seq", run_id=run_id)


@statement
def _gate(card_id: Any) -> Select[Any]:
    query = pick(TierRow, tiers).join(runs, runs.c.run_id == tiers.c.run_id)
    return query.where(_is_about(card_id), tiers.c.clean).order_by(tiers.c.seq.desc()).limit(1)


@statement
def _gate_on(card_id: Any, head: Any, judged: Any) -> Select[Any]:
    query = pick(TierRow, tiers).join(runs, runs.c.run_id == tiers.c.run_id)
    mine = query.where(_is_about(card_id), tiers.c.clean, or_(tiers.c.head == head, tiers.c.head == judged))
    return mine.order_by(tiers.c.seq.desc()).limit(1)


@statement
def _select_waiver(card_id: Any, head: Any, judged: Any) -> Select[Any]:
    query = pick(WaiverRow, waivers).join(runs, runs.c.run_id == waivers.c.run_id)
    mine = query.where(_is_about(card_id), or_(waivers.c.head == head, waivers.c.head == judged))
    return mine.order_by(waivers.c.seq.desc()).limit(1)


def gate_of(db: Connection, card_id: CardId, head: str = "") -> TierRow | None:
    """Return the gate's newest outcome on the card's commit `head`, or on any; None when it never ran.

    Its own `head` is another one where GitHub signed the commit anew.
    """
    if not head:
        return first_row(db, TierRow, _gate, card_id=card_id)
    judged = signed_commits.find_judged_commit(db, head)
    return first_row(db, TierRow, _gate_on, card_id=card_id, head=head, judged=judged)


def newest_gate(db: Connection, run_id: RunId) -> TierRow | None:
    """Return the newest outcome of the gate in that run; None where it never ran."""
    return find(db, TierRow, tiers, "-seq", run_id=run_id, clean=True)


def standing(db: Connection, card_id: CardId, head: str) -> Gate:
    """Return the gate's word on the commit: its newest result, or that the policy waived the checks."""
    if not head:
        return Gate.UNSEEN
    newest = _newest(db, card_id, head)
    if isinstance(newest, WaiverRow):
        return Gate.NOTHING
    return Gate.UNSEEN if newest is None else Gate.PASSED if newest.passed else Gate.FAILED


def definition_of(db: Connection, card_id: CardId, head: str) -> str:
    """Return the digest of the checks behind the newest word on the commit; empty where it is not known."""
    newest = _newest(db, card_id, head) if head else None
    return newest.definition if newest else ""


def _newest(db: Connection, card_id: CardId, head: str) -> TierRow | WaiverRow | None:
    gate = gate_of(db, card_id, head)
    judged = signed_commits.find_judged_commit(db, head)
    waived = first_row(db, WaiverRow, _select_waiver, card_id=card_id, head=head, judged=judged)
    return waived if waived is not None and (gate is None or gate.seq < waived.seq) else gate


def covers(db: Connection, run_id: RunId, head: str) -> bool:
    """Tell whether the run's commit went unchecked on purpose."""
    either = (head, signed_commits.find_judged_commit(db, head))
    return any(value(db, waivers.c.seq, run_id=run_id, head=commit) is not None for commit in either)


fold.on(CommandChecked)(recorder(commands))
fold.on(CheckWitnessed)(
    setter(
        commands,
        lambda event: {
            "canary": event.canary,
            "runner": event.runner,
            "unit": event.unit,
            "passed": event.passed,
            "base_tests": event.base_tests,
            "believed": event.believed,
            "why": event.why,
        },
        *("run_id", "iteration", "tier", "command"),
    )
)
fold.on(ValidationWaived)(recorder(waivers))


@fold.on(ValidationEnded)
def _fold_validation_ended(db: Connection, recorded: Recorded, event: ValidationEnded) -> None:
    record(
        db, tiers, recorded, clean=event.clean or event.tier == "full"
    )  # the full tier never runs elsewhere
