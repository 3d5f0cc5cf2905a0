"""`cardinal watch`: the timeline of cards as it grows."""

import json
import threading
from collections.abc import Iterable
from contextlib import suppress

import click
from sqlalchemy import Connection

from bot.cli import _home
from bot.cli._show import clean, json_option, local_time
from ledger import codec
from ledger.event import Recorded, Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queries import timeline
from ledger.queries.timeline import WORDS_CHARS, TimelineRow
from ledger.views import cards, runs

POLL_S = 0.5
KINDS = click.Choice([name for name, kind in codec.kinds().items() if issubclass(kind, CardEvent | RunEvent)])

READS = True


@click.command("watch")
@click.argument("card", metavar="[OWNER/REPOSITORY#NUMBER]", required=False)
@click.option("--board", metavar="OWNER/NUMBER", help="Only cards on this board.")
@click.option(
    "--zoom", type=click.Choice([str(zoom) for zoom in Zoom]), default=str(Zoom.ACTIVITY), show_default=True
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=KINDS,
    metavar="EVENT",
    help="Only events of this kind, at any zoom.",
)
@click.option(
    "--from",
    "start",
    type=click.IntRange(0),
    help="Start after this event; by default now, or with --once at the first event.",
)
@click.option("--once", is_flag=True, help="Print the events so far and stop.")
@json_option
def command(
    card: str | None,
    board: str | None,
    zoom: str,
    kinds: tuple[str, ...],
    start: int | None,
    once: bool,
    as_json: bool,
) -> None:
    """Follow the timeline of a card, a board or all, until Ctrl-C.

    docs/reference/events.md lists the kinds of events; --kind can be given several times.

    \b
    Examples:
      cardinal watch
      cardinal watch acme/shop#12 --zoom debug
      cardinal watch acme/shop#12 --once
      cardinal watch --board acme/1 --kind QuestionAsked --kind RunEnded
    """
    depths = tuple(Zoom)[: tuple(Zoom).index(Zoom(zoom)) + 1]
    with suppress(KeyboardInterrupt), _home.ledger_opened() as engine:
        with event_store.reading(engine) as db:
            only = _home.find_card(db, card).card_id if card else None
            board_id = _home.board(db, board).board_id if board else None
            seq = (0 if once else event_store.last_seq(db)) if start is None else start
        pause = threading.Event()
        while True:
            with event_store.reading(engine) as db:
                fresh = event_store.read(db, after=seq)
                lines = [
                    _print(db, row, as_json)
                    for row in _rows(db, fresh, only, board_id)
                    if (row.kind in kinds if kinds else row.zoom in depths)
                ]
            for text in lines:
                click.echo(text)
            seq = fresh[-1].seq if fresh else seq
            if not fresh and (once or pause.wait(POLL_S)):
                return


def _rows(
    db: Connection, fresh: tuple[Recorded, ...], only: CardId | None, board_id: BoardId | None
) -> Iterable[TimelineRow]:
    for recorded in fresh:
        card_id = _card_of(db, recorded)
        if card_id is None or only not in (None, card_id):
            continue
        if board_id and ((row := cards.get(db, card_id)) is None or row.board_id != board_id):
            continue
        yield timeline.event_line(card_id, recorded.seq, recorded.at, recorded.event)


def _card_of(db: Connection, recorded: Recorded) -> CardId | None:
    match recorded.event:
        case CardEvent(card_id=card_id):
            return card_id
        case RunEvent(run_id=run_id):
            run = runs.get(db, run_id)
            return None if run is None else run.card_id
        case _:
            return None


def _print(db: Connection, row: TimelineRow, as_json: bool) -> str:
    card = cards.get(db, row.card_id)
    name = f"{card.repository}#{card.number}" if card is not None and card.number else row.card_id
    if not as_json:
        return f"{local_time(row.at)}  {clean(name)}  {row.run_id or ''}  {clean(row.text, WORDS_CHARS)}"
    about = {"seq": row.seq, "at": row.at.isoformat(), "card": name, "run": row.run_id, "kind": row.kind}
    title = card.title if card is not None else ""
    return json.dumps({**about, "zoom": row.zoom, "text": row.text, "title": title})
