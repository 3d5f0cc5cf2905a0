"""`cardinal stats`: costs of runs, their endings, and waits for each other."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import timedelta

import click

from bot.cli import _home
from bot.cli._show import clean, json_option, show
from bot.render.run.story import REASONS
from bot.state import forecasts
from bot.system.clock import utc_now
from ledger.queries import stats
from ledger.queries.stats import SpendShare, Stats
from ledger.views import boards
from rules.text import brief, count, state_word, usd

READS = True


@click.command("stats")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How many days back."
)
@json_option
def command(days: int, as_json: bool) -> None:
    """Print cost and flow of the last days.

    Shows dollars by day, column, repository, person, agent and model, and per merged pull request; how runs
    ended and why they failed; how long they waited for people and for a worker; and today's limits.

    \b
    Example:
      cardinal stats --days 7
    """
    now = utc_now()
    with _home.open_for_reading() as db:
        figures = stats.of_boards(db, now - timedelta(days=days), now)
        limits = [
            it for board in boards.all_boards(db) for it in forecasts.board_forecast(db, board.board_id, now)
        ]
    document = {field.name: getattr(figures, field.name) for field in fields(figures)}
    said = [clean(forecasts.forecast_words(it)) for it in limits]
    show({**document, "forecasts": limits}, as_json=as_json, text=lambda: (*_text(figures), *said))


def _text(figures: Stats) -> Iterable[str]:
    yield f"since {figures.since:%Y-%m-%d}: {count(figures.runs, 'run')}, {usd(figures.usd)}"
    endings = [f"{number} {state_word(name) or 'not ended'}" for name, number in figures.endings.items()]
    if endings:
        yield f"endings: {', '.join(endings)}"
    for reason, number in figures.reasons.items():
        yield f"  {number} for: {clean(REASONS.get(reason, reason))}"
    if figures.usd_per_merge is not None and figures.hours_per_merge is not None:
        each = f"{usd(figures.usd_per_merge)} and {figures.hours_per_merge:.1f} h of work each"
        yield f"merged: {count(figures.merged, 'pull request')}, {each}"
    if figures.runs:
        yield f"needed a person: {figures.needed_person} of {count(figures.runs, 'run')}"
    waited = (figures.people_s, figures.workers_s, figures.agents_s)
    people, workers, agents = (brief(timedelta(seconds=seconds)) for seconds in waited)
    yield f"waited for people: {people}; for a worker: {workers}; for agents at work: {agents}"
    for name, shares in figures.usd_by.items():
        yield from _shares(name, shares)


def _shares(name: str, shares: tuple[SpendShare, ...]) -> Iterable[str]:
    if shares:
        yield f"by {name}:"
    for share in shares:
        yield f"  {usd(share.usd):>12}  {clean(share.name) or 'none'}"
