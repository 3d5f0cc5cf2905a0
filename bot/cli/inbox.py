"""`cardinal inbox`: the cards on their way, in lanes."""

import sys
from itertools import chain

import click

from bot.cli import _filters, _home
from bot.cli._show import ago, json_option, show, table
from bot.system.clock import utc_now
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queries.lanes import LANES, Lane
from ledger.states import ATTENTION
from ledger.views import boards
from rules.text import count, state_word

HEADS = ("lane", "card", "state", "since", "for", "run", "title", "why")

READS = True


@click.command("inbox")
@_filters.filter_options
@click.option(
    "--mine", "login", metavar="LOGIN", default="", help="Show this person's cards first in each lane."
)
@click.option("--all", "everything", is_flag=True, help="Also list cards that are not waiting for anyone.")
@json_option
def command(login: str, *, everything: bool, as_json: bool, **given: str | None) -> None:
    """Print the cards that need a person, in the page's lanes.

    These are *Needs you*, *Working*, *In review*, *Ready to merge* and *Stuck*.

    \b
    Examples:
      cardinal inbox
      cardinal inbox --mine alice --all
      cardinal inbox --repository acme/shop
    """
    now, states = utc_now(), tuple(LANES) if everything else ATTENTION
    with _home.open_for_reading() as db:
        wanted = _filters.read(db, given, states)
        scopes = [CardScope(board.board_id) for board in boards.all_boards(db)]
        by_lane = lanes.by_lane(db, scopes, wanted)
    listed = [
        (lane, card)
        for lane in Lane
        for card in chain(*by_lane[lane].of(login, limit=sys.maxsize))
        if card.state in states
    ]
    rows = (
        (lane, _home.name_of(card), state_word(card.state), ago(card.state_at, now), ", ".join(card.people),
         card.run_id, card.title, card.because)
        for lane, card in listed
    )  # fmt: skip
    left_out = sum(len(it.cards) for it in by_lane.values()) - len(listed)
    empty = "nothing is waiting for anyone"
    if left_out:
        empty = f"not waiting for anyone: {count(left_out, 'card')}; `cardinal inbox --all` lists them"
    printed = [{"lane": lane, **card._asdict()} for lane, card in listed]
    show(printed, as_json=as_json, text=lambda: table(HEADS, rows, empty=empty))
