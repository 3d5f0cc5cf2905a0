"""Get cost and flow of the last days: the cost of runs, how they ended, and who waited for whom."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from bot.state import forecasts
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.queries import stats
from runner.text.untrusted import without_invisible as clean

PATH = "/stats"
EXAMPLE: Mapping[str, Any] = {"days": 7}
MAX_DAYS = 3650


class StatsQuery(ApiModel):
    """Of which board, and how far back."""

    board: str = Field("", max_length=200, description="owner/number of a board; empty for all")
    days: int = Field(30, ge=1, le=MAX_DAYS)


class RunStats(ApiModel):
    """Figures of the jobs that the account may see."""

    since: datetime
    usd: float = Field(description="Dollars spent")
    estimated_usd: float = Field(description="The part of it that a subscription paid")
    reported_usd: float = Field(description="The part of it that only the agents reported")
    runs: int = Field(description="Runs queued since then")
    endings: dict[str, int] = Field(
        description="Runs by ending; the empty name is for runs that have not ended"
    )
    reasons: dict[str, int] = Field(description="Failed runs by reason")
    needed_person: int = Field(description="Runs that asked a question or needed a plan approved")
    people_s: float = Field(description="Seconds jobs waited for people")
    workers_s: float = Field(description="Seconds they waited for a worker")
    agents_s: float = Field(description="Seconds they waited for a working agent")
    merged: int = Field(description="Jobs that ended with a merged pull request")
    usd_per_merge: float | None
    hours_per_merge: float | None = Field(description="Hours agents worked")
    usd_by: dict[str, dict[str, float]] = Field(
        description="Dollars by day, column, repository, person, agent and model"
    )
    limits: list[str] = Field(
        description="Today's dollars against each limit, on boards of which the account sees every repository"
    )


Input, Output = StatsQuery, RunStats
FIGURES = tuple(name for name in RunStats.model_fields if name not in ("usd_by", "limits"))


def run(call: ApiRequest, given: StatsQuery) -> RunStats:
    """Return them. Raises ApiError, BusyError."""
    boards = call.boards_named(given.board)
    whole = [board.board_id for board in boards if call.site.is_whole_to(call.visit, board)]
    now = call.site.clock()
    with event_store.reading(call.site.engine) as db:
        figures = stats.of_boards(db, now - timedelta(days=given.days), now, [it.scope for it in boards])
        limits = [it for board_id in whole for it in forecasts.board_forecast(db, board_id, now)]
    usd_by = {name: {clean(it.name): it.usd for it in shares} for name, shares in figures.usd_by.items()}
    said = [clean(forecasts.forecast_words(it)) for it in limits]
    return RunStats(usd_by=usd_by, limits=said, **{name: getattr(figures, name) for name in FIGURES})
