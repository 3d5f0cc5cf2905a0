"""A run with the rows of every view about it, read together."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from sqlalchemy import Connection

from ledger.events.findings import FindingsReported
from ledger.events.run import ToolUsed
from ledger.log import event_store
from ledger.rows.plans import PlanRow
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import RunRow
from ledger.views import (
    artifacts,
    budgets,
    checks,
    findings,
    observations,
    plans,
    questions,
    reports,
    reproductions,
    stages,
)
from ledger.views.artifacts import ArtifactRow
from ledger.views.budgets import BudgetRow
from ledger.views.checks import CheckRow, TierRow
from ledger.views.observations import ObservationRow
from ledger.views.reports import ReportRow
from ledger.views.reproductions import ReproductionRow
from ledger.views.stages import StageRow

MAX_STEPS = 200  # of the newest uses of tools, by which edited files are known


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """A run and its rows, the oldest first; `gate` is the gate's newest result."""

    run: RunRow
    plans: tuple[PlanRow, ...]
    questions: tuple[QuestionRow, ...]
    checks: tuple[CheckRow, ...]
    gate: TierRow | None
    report: ReportRow | None
    artifacts: tuple[ArtifactRow, ...]
    budget: BudgetRow | None
    observations: ObservationRow | None
    stages: tuple[StageRow, ...]
    findings: FindingsReported | None
    reproductions: tuple[ReproductionRow, ...]
    steps: tuple[tuple[datetime, ToolUsed], ...]  # the newest of a run with an open stage, else none

    @classmethod
    def read(cls, db: Connection, run: RunRow, **more: Any) -> Self:
        """Return the run's rows as they are now; `more` are the fields that a subclass adds."""
        run_id = run.run_id
        entries = stages.of_run(db, run_id)
        is_open = run.alive and any(row.left_at is None for row in entries)
        return cls(
            run=run,
            plans=plans.of_run(db, run_id),
            questions=questions.of_run(db, run_id),
            checks=checks.of_run(db, run_id),
            gate=checks.newest_gate(db, run_id),
            report=reports.get(db, run_id),
            artifacts=artifacts.of_run(db, run_id),
            budget=budgets.get(db, run_id),
            observations=observations.get(db, run_id),
            stages=entries,
            findings=findings.get(db, run_id),
            reproductions=reproductions.of_run(db, run_id),
            steps=event_store.newest_of(db, f"run:{run_id}", ToolUsed, MAX_STEPS) if is_open else (),
            **more,
        )

    @property
    def plan(self) -> PlanRow | None:
        return self.plans[-1] if self.plans else None

    @property
    def open_question(self) -> QuestionRow | None:
        """The newest question that waits for a person; None without one."""
        waiting = (it for it in reversed(self.questions) if it.answered_at is None and not it.withdrawn)
        return next(waiting, None)
