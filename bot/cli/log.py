"""`cardinal log`: the words of a run's agent and its checks, at the depths of its card's page."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress

import click
from pydantic_core import to_jsonable_python

from bot.cli import _home
from bot.cli._show import clean, json_option, local_time, text_block
from bot.render.run.folded_steps import fold_rows
from bot.web.api.operations import follow_run
from ledger.event import Zoom
from ledger.log import event_store
from ledger.queries.run_lines import RunLine

POLL_S = 0.5
MAX_HELD = 1000  # steps in a row whose sum is awaited

READS = True


@click.command("log")
@click.argument("run", metavar="RUN")
@click.option("-f", "--follow", is_flag=True, help="Follow until the run ends, or Ctrl-C.")
@click.option(
    "--zoom",
    type=click.Choice([str(zoom) for zoom in Zoom]),
    help="How much detail.  [default: activity; with --follow or --json debug]",
)
@json_option
def command(run: str, follow: bool, zoom: str | None, as_json: bool) -> None:
    """Print the events of a run, from its beginning.

    At the zoom activity, consecutive steps of the agent are one line, such as "ran 14 commands"; debug shows
    each step, and the agent's messages. Commands come with the end of their output. With --json, one object
    per event, never summarised.

    \b
    Examples:
      cardinal log r12
      cardinal log r12 --zoom debug
      cardinal log r12 --follow
    """
    depth = Zoom(zoom or (Zoom.DEBUG if follow or as_json else Zoom.ACTIVITY))
    folds = depth is Zoom.ACTIVITY and not as_json
    seq, pause, lines = 0, threading.Event(), list[RunLine]()
    with suppress(KeyboardInterrupt), _home.open_request() as request:
        with event_store.reading(request.site.engine) as db:
            run_id = _home.find_run(db, run).run_id
        while True:
            page = follow_run.read_lines(request, run_id, seq, behind=None)
            over = not page.more and (page.ended or not follow)
            fresh = [run_line for run_line in page.lines if _is_shown(run_line, depth, folds)]
            if folds:
                rows = [*lines, *fresh]
                lines = [] if over else _open_steps(rows)
                fresh = [row for row, _ in fold_rows(rows[: len(rows) - len(lines)])]
            for line in fresh:
                click.echo(json.dumps(to_jsonable_python(line)) if as_json else "\n".join(_text(line)))
            seq = page.last
            if over or (not page.more and pause.wait(POLL_S)):
                return


def _is_shown(line: RunLine, depth: Zoom, folds: bool) -> bool:
    return (folds and line.step is not None) or list(Zoom).index(line.zoom) <= list(Zoom).index(depth)


def _open_steps(rows: Sequence[RunLine]) -> list[RunLine]:
    """Return the steps at the end, to which others may come."""
    last = next((position for position in range(len(rows), 0, -1) if rows[position - 1].step is None), 0)
    return list(rows[last:]) if len(rows) - last < MAX_HELD else []


def _text(line: RunLine) -> Iterator[str]:
    yield f"{local_time(line.at)}  {clean(line.text)}"
    yield from text_block(line.output)
