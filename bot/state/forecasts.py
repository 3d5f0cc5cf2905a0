"""Forecasts of today's dollars against the limits of a board's policy, and their words."""

from datetime import UTC, datetime

from sqlalchemy import Connection

from bot.state import loads, policies
from ledger.ids import BoardId
from ledger.model.column_names import same_column
from ledger.model.spend_limits import Limit
from ledger.views import spend
from rules.runs.forecast import Forecast, Outlook, forecast
from rules.text import plain, usd


def board_forecast(db: Connection, board_id: BoardId, now: datetime) -> tuple[Forecast, ...]:
    """Return the forecast of the board's day, and of each column's that has a limit."""
    policy = policies.in_force(db, board_id)
    spent = spend.sum_by_limit(db, board_id, now.astimezone(UTC).date(), ())
    shares = loads.list_reservations(db, board_id)
    limits: dict[str, float | None] = {"": policy.limits.usd_per_day}
    limits |= {name: column.usd_per_day for name, column in policy.board.columns.items()}
    return tuple(
        forecast(
            name,
            sum(
                dollars
                for (limit, place), dollars in spent.items()
                if limit is (Limit.COLUMN if name else Limit.DAY) and same_column(place, name)
            ),
            limit,
            now,
            sum(share.usd for share in shares if not name or same_column(name, share.column)),
        )
        for name, limit in limits.items()
        if limit is not None
    )


def forecast_words(it: Forecast) -> str:
    match it.outlook:
        case Outlook.REACHED:
            end = "limit reached: no more runs start today"
        case Outlook.RESERVED:
            end = "the rest is reserved: no more runs start until one ends below its budget"
        case Outlook.AHEAD if it.reached_at is not None:
            end = f"on pace to reach the limit at {it.reached_at:%H:%M} UTC"
        case Outlook.UNKNOWN:
            end = "too early in the day for a forecast"
        case _:
            end = "on pace to stay below the limit"
    place = f"{plain(it.name)}: " if it.name else ""
    held = f" and {usd(it.reserved_usd)} reserved" if it.reserved_usd else ""
    return f"{place}{usd(it.spent_usd)} of {usd(it.limit_usd)} today{held}, {end}"
