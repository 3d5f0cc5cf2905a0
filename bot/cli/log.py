"""`cardinal log`: what a run's agent and its checks said, as the page of the run shows it."""

import dataclasses
import json
import threading
from collections.abc import Iterator

import click

from bot.cli import _home
from bot.cli._show import block, json_option, line, when
from ledger.log import event_store
from ledger.queries import run_lines
from ledger.queries.run_lines import RunLine

LOOK_S = 0.5
PAGE = 500
WHOLE = 2**62  # events: however long the run is


@click.command("log")
@click.argument("run", metavar="RUN")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run ends, or Ctrl-C.")
@json_option
def command(run: str, follow: bool, as_json: bool) -> None:
    """Print what a run did, from its beginning.

    Stages, the agent's words and tool calls, commands with the end of their output, one line each. With
    --json, one object a line.

    \b
    Examples:
      cardinal log r12
      cardinal log r12 --follow
    """
    engine = _home.open_engine(_home.settings())
    seq, pause = 0, threading.Event()
    try:
        while True:
            with event_store.reading(engine) as db:
                known = _home.run(db, run)
                page = run_lines.later(db, known.run_id, seq, PAGE, behind=WHOLE)
            for each in page.lines:
                click.echo(_object(each) if as_json else "\n".join(_text(each)))
            seq = page.last
            if not page.more and (known.ending is not None or not follow or pause.wait(LOOK_S)):
                return
    except KeyboardInterrupt:
        return
    finally:
        engine.dispose()


def _object(each: RunLine) -> str:
    return json.dumps({**dataclasses.asdict(each), "at": each.at.isoformat()})


def _text(each: RunLine) -> Iterator[str]:
    yield f"{when(each.at)}  {line(each.text)}"
    yield from block(each.output)
