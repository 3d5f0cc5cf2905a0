"""`cardinal show`: one run or one card, with everything the ledger has of it."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
from sqlalchemy import Connection

from bot.cli import _home
from bot.cli._show import ago, answer_lines, clean, json_option, show, text_block
from bot.state import instructions, patches
from bot.state.instructions import InstructionStack
from bot.system.clock import utc_now
from bot.web.api.jobs import RunName
from bot.web.api.operation import ApiRequest
from bot.web.api.operations import get_job, get_run, list_events
from bot.web.api.operations.get_run import JobRunDetail
from bot.web.api.operations.list_events import JobEvent
from ledger.errors import CardinalError
from ledger.event import Zoom
from ledger.log import event_store
from ledger.queries.timeline import WORDS_CHARS
from ledger.rows.runs import RunRow

MAX_LINES = 100
RUN = re.compile(r"r[0-9]{1,12}")


class NoPatchError(CardinalError):
    """There is no patch of the run in the store."""

    def __init__(self, run: str, because: str) -> None:
        self.run = run
        super().__init__(f"{run} has no patch: {because}")


READS = True


@click.command("show")
@click.argument("name", metavar="RUN|OWNER/REPOSITORY#NUMBER")
@click.option("--briefing", is_flag=True, help="Print everything the run's agent is told, layer by layer.")
@click.option(
    "--zoom", type=click.Choice([str(zoom) for zoom in Zoom]), default=str(Zoom.ACTIVITY), show_default=True
)
@click.option("--markdown", is_flag=True, help="Print all of it as one Markdown document.")
@click.option("--patch", is_flag=True, help="Print the run's changes so far, from the store.")
@json_option
def command(name: str, briefing: bool, zoom: str, patch: bool, markdown: bool, as_json: bool) -> None:
    """Print one run, or one card with its timeline.

    \b
    Examples:
      cardinal show r12 --briefing
      cardinal show acme/shop#12
      cardinal show acme/shop#12 --markdown > card.md
    """
    if patch:
        click.echo(_patch(name), nl=False)
        return
    if markdown:
        click.echo(_markdown(name), nl=False)
        return
    document, text = _document(name, briefing, Zoom(zoom))
    show(document, as_json=as_json, text=lambda: text)


def _patch(name: str) -> str:
    """Return the newest patch of a run. Raises NoPatchError."""
    with _home.open_for_reading() as db:
        patch = patches.newest(db, _home.find_run(db, name))
    if patch is None:
        raise NoPatchError(name, "no changes yet, or none saved yet")
    raw = _home.read_blob(patch.digest)
    if raw is None:
        where = f", kept on {patch.host}" if patch.host else ""
        raise NoPatchError(name, f"the store here does not have {patch.digest[:12]}{where}")
    text = raw.decode("utf-8", "replace")
    return "\n".join((*text_block(text), "")) if sys.stdout.isatty() else text  # a program wrote it


def _markdown(name: str) -> str:
    with _home.open_request() as request:
        if RUN.fullmatch(name):
            return get_run.write_run_document(request, _run(request, name))
        with event_store.reading(request.site.engine) as db:
            card = _home.find_card(db, name)
        return get_job.write_job_document(request, get_job.whole_job(request, card))


def _run(request: ApiRequest, name: str) -> JobRunDetail:
    """Return the run. Raises UnlistedNameError."""
    with event_store.reading(request.site.engine) as db:
        row = _home.find_run(db, name)
    return get_run.run(request, RunName(run=row.run_id))


def _document(name: str, briefing: bool, zoom: Zoom) -> tuple[object, Iterable[str]]:
    with _home.open_request() as request:
        if RUN.fullmatch(name) and not briefing:
            answer = _run(request, name).model_dump(mode="json")
            return answer, answer_lines(answer, get_run.COLUMNS)
        with event_store.reading(request.site.engine) as db:
            if briefing:
                return _describe_stack(db, _home.find_run(db, name))
            card = _home.find_card(db, name)
        job = get_job.whole_job(request, card).model_dump(mode="json")
        events = list_events.events_of(request, card.card_id, zoom, MAX_LINES, folds=True).events
    timeline = [job_event.model_dump(mode="json") for job_event in events]
    return {**job, "events": timeline}, _card_text(job, events)


def _card_text(job: Mapping[str, Any], events: Iterable[JobEvent]) -> Iterator[str]:
    now = utc_now()
    yield from answer_lines(job, get_job.COLUMNS)
    yield "events:"
    for job_event in events:
        yield f"  {ago(job_event.at, now)}  {job_event.run:5}  {clean(job_event.text, WORDS_CHARS)}"


def _describe_stack(db: Connection, run: RunRow) -> tuple[dict[str, object], list[str]]:
    """Return the instructions of the run's agent, for programs and as lines for people."""
    stack = instructions.stack_of(db, run.run_id)
    document: dict[str, object] = {"run": run.run_id, "briefing": stack.briefing if stack else None}
    if stack is None:
        return document, [f"{run.run_id} has not been briefed yet"]
    if not stack.layers:
        return document, list(_stack_lines(stack.briefing.text))
    document |= {"layers": stack.layers, "skills": stack.skills, "stages": stack.stages}
    return document, list(_stack_text(stack))


def _stack_text(stack: InstructionStack) -> Iterator[str]:
    for section in stack.sections():
        yield f"=== {section.heading}"
        yield from _stack_lines(section.text)
        yield ""


def _stack_lines(text: str) -> Iterator[str]:
    yield from (clean(row) if row else "" for row in text.splitlines())
