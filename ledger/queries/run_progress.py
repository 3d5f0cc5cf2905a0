"""How far the runs of listed cards are: steps of the plan, dollars and their limit."""

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from ledger.ids import RunId
from ledger.views.runs import runs


class RunProgress(NamedTuple):
    """Of one run: its agent, steps done and in all, and its budget in dollars; 0 where it has none."""

    agent: str
    done: int
    steps: int
    budget_usd: float


def of_runs(db: Connection, run_ids: Collection[RunId]) -> Mapping[RunId, RunProgress]:
    """Return the progress of each of the runs."""
    fields = runs.c.run_id, runs.c.agent, runs.c.plan_done, runs.c.plan_steps, runs.c.settings
    found = db.execute(select(*fields).where(runs.c.run_id.in_(tuple(run_ids))))
    return {
        run_id: RunProgress(
            agent, done, len(steps), float(json.loads(settings or "{}").get("budget_usd") or 0)
        )
        for run_id, agent, done, steps, settings in found
    }


def _budget(settings: Mapping[str, Any]) -> float:
    return float(settings.get("budget_usd") or 0)
