"""`cardinal watch`: the timeline of cards as it grows."""

import threading
from contextlib import suppress

import click

from bot.cli import _home
from bot.cli._show import clean, json_option, local_time
from bot.web.api.operations import follow_events
from bot.web.api.operations.follow_events import FollowedEvent
from ledger import codec
from ledger.event import Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.log import event_store
from ledger.queries.card_filter import CardScope
from ledger.queries.timeline import WORDS_CHARS
from ledger.views import boards

POLL_S = 0.5
ZOOMS = {name: it.zoom for name, it in codec.kinds().items() if issubclass(it, CardEvent | RunEvent)}
KINDS = click.Choice([*ZOOMS])

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
    wanted = kinds or tuple(name for name, least in ZOOMS.items() if least in depths)
    pause = threading.Event()
    with suppress(KeyboardInterrupt), _home.open_request() as request:
        engine = request.site.engine
        with event_store.reading(engine) as db:
            only = _home.find_card(db, card).card_id if card else None
            board_id = _home.board(db, board).board_id if board else None
            seq = (0 if once else event_store.last_seq(db)) if start is None else start
        while True:
            with event_store.reading(engine) as db:  # a board may be new
                scopes = [CardScope(it.board_id) for it in boards.all_boards(db)]
            scopes = [card_scope for card_scope in scopes if board_id in (None, card_scope.board_id)]
            page = follow_events.read_events(request, scopes, wanted, seq, card_id=only, whole=True)
            for event in page.events:
                click.echo(event.model_dump_json() if as_json else _text(event))
            seq = page.last
            if not page.more and (once or pause.wait(POLL_S)):
                return


def _text(event: FollowedEvent) -> str:
    name = f"{event.repository}#{event.number}" if event.number else event.card
    return f"{local_time(event.at)}  {clean(name)}  {event.run}  {clean(event.text, WORDS_CHARS)}"
