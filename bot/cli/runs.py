"""`cardinal runs`: the newest runs."""

from datetime import datetime

import click
from sqlalchemy import Connection

from bot.cli import _home
from bot.cli._show import ago, json_option, show, table
from bot.render.run.story import REASONS
from bot.system.clock import utc_now
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState
from ledger.views import cards, runs
from rules.text import brief, state_word, usd

HEADS = ("run", "state", "card", "title", "by", "queued", "took", "cost", "why")

READS = True


@click.command("runs")
@click.option("--card", "name", help="Only runs of this card, owner/repository#number.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
def command(name: str | None, limit: int, as_json: bool) -> None:
    """Print the newest runs.

    Each run is shown with its card, who started it, when, how long it took, and why it is waiting or ended.

    \b
    Examples:
      cardinal runs
      cardinal runs --card acme/shop#12
    """
    now = utc_now()
    with _home.open_for_reading() as db:
        newest = (
            runs.of_card(db, _home.find_card(db, name).card_id, limit) if name else runs.newest(db, limit)
        )
        rows = [] if as_json else [_row(db, run, now) for run in newest]
    show(newest, as_json=as_json, text=lambda: table(HEADS, rows, empty="no runs yet"))


def _row(db: Connection, run: RunRow, now: datetime) -> tuple[object, ...]:
    card = cards.get(db, run.card_id)
    ended = run.ended_at or now
    took = "" if run.claimed_at is None else brief(ended - run.claimed_at)
    name, title = ("", "") if card is None else (_home.name_of(card), card.title)
    state = state_word(run.ending or run.state)
    cost = usd(run.usd) if run.usd else ""
    return run.run_id, state, name, title, run.by, ago(run.queued_at, now), took, cost, _why(run, card)


def _why(run: RunRow, card: CardRow | None) -> str:
    """Return the reason of the run's ending, or its present work or wait."""
    if run.ending is Ending.SUCCEEDED:
        return ""
    if run.ending is not None:
        known = REASONS.get(run.reason, run.reason)
        return ": ".join(part for part in (known, run.stop_why or run.detail) if part)
    if run.state is RunState.QUEUED and card is not None:
        return card.because
    return run.parked_why or run.last_line
