"""`cardinal show`: one run or one card, with everything the ledger has of it."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click
from sqlalchemy import Connection

from bot.cli import _home
from bot.cli._show import ago, clean, json_option, show, text_block, why_gone
from bot.render.run import observations as texts
from bot.render.run.folded_steps import fold_rows, without_echoes
from bot.render.run.stages import describe_usage
from bot.state import instructions, patches
from bot.state.instructions import InstructionStack
from bot.system.clock import utc_now
from ledger.errors import CardinalError
from ledger.event import Zoom
from ledger.events.findings import FindingsReported
from ledger.ids import CardId
from ledger.queries import timeline
from ledger.queries.run_rows import RunRows
from ledger.queries.timeline import MAX_EVENTS, WORDS_CHARS, TimelineRow
from ledger.rows.cards import CardRow
from ledger.rows.placements import PlacementRow
from ledger.rows.runs import RunRow
from ledger.views import placements, runs
from ledger.views.stages import StageRow
from rules.runs.mode import INVESTIGATE, reason
from rules.text import count, kind_of_run, state_word

NOWHERE = "no column"
MAX_LINES = 100
RUN = re.compile(r"r[0-9]{1,12}")


class NoPatchError(CardinalError):
    """There is no patch of the run in the store."""

    def __init__(self, run: str, because: str) -> None:
        self.run = run
        super().__init__(f"{run} has no patch: {because}")


@dataclass(frozen=True, slots=True)
class CardStory:
    """A card with its newest runs and its timeline."""

    card: CardRow
    runs: tuple[RunRow, ...]
    timeline: tuple[TimelineRow, ...]
    placement: PlacementRow | None = None


READS = True


@click.command("show")
@click.argument("name", metavar="RUN|OWNER/REPOSITORY#NUMBER")
@click.option("--briefing", is_flag=True, help="Print everything the run's agent is told, layer by layer.")
@click.option(
    "--zoom", type=click.Choice([str(zoom) for zoom in Zoom]), default=str(Zoom.ACTIVITY), show_default=True
)
@click.option("--patch", is_flag=True, help="Print the run's changes so far, from the store.")
@json_option
def command(name: str, briefing: bool, zoom: str, patch: bool, as_json: bool) -> None:
    """Print one run, or one card with its timeline.

    \b
    Examples:
      cardinal show r12 --briefing
      cardinal show acme/shop#12
    """
    if patch:
        click.echo(_patch(name), nl=False)
        return
    with _home.open_for_reading() as db:
        document, text = _document(db, name, briefing, Zoom(zoom))
    show(document, as_json=as_json, text=lambda: text)


def _patch(name: str) -> str:
    """Return the newest patch of a run. Raises NoPatchError."""
    with _home.open_for_reading() as db:
        kept = patches.newest(db, _home.find_run(db, name))
    if kept is None:
        raise NoPatchError(name, "no changes yet, or none saved yet")
    raw = _home.read_blob(kept.digest)
    if raw is None:
        where = f", kept on {kept.host}" if kept.host else ""
        raise NoPatchError(name, f"the store here does not have {kept.digest[:12]}{where}")
    text = raw.decode("utf-8", "replace")
    return "\n".join((*text_block(text), "")) if sys.stdout.isatty() else text  # a program wrote it


def _document(db: Connection, name: str, briefing: bool, zoom: Zoom) -> tuple[object, Iterable[str]]:
    if briefing:
        return describe_stack(db, _home.find_run(db, name))
    if RUN.fullmatch(name):
        story = RunRows.read(db, _home.find_run(db, name))
        return story, _run_text(story)
    card = _home.find_card(db, name)
    of_card = CardStory(
        card,
        runs.of_card(db, card.card_id),
        _timeline(db, card.card_id, zoom),
        placements.get(db, card.card_id),
    )
    return of_card, _card_text(of_card)


def _timeline(db: Connection, card_id: CardId, zoom: Zoom) -> tuple[TimelineRow, ...]:
    """Return the newest lines, at the depth activity with the agent's steps in a row as one."""
    if zoom is not Zoom.ACTIVITY:
        rows = timeline.of_card(db, card_id, zoom, MAX_LINES)
        return rows if zoom is Zoom.DEBUG else tuple(without_echoes(rows))
    rows = tuple(without_echoes(timeline.of_card(db, card_id, zoom, MAX_EVENTS, steps=True)))
    return tuple([row for row, _ in fold_rows(rows)][-MAX_LINES:])


def _run_text(story: RunRows) -> Iterable[str]:
    run = story.run
    agent, kind = clean(f"{run.agent} {run.agent_version}".strip()), kind_of_run(run.attempt, run.kind)
    yield f"{run.run_id}  {state_word(run.ending or run.state)}  {kind}  {agent}"
    yield f"{clean(run.repository)}  {clean(run.branch) if run.mode != INVESTIGATE else 'reads only'}"
    yield f"mode {run.mode}: {clean(reason(run.mode_rule, run.mode_value))}"
    through = f" ({run.door})" if run.door else ""
    yield f"asked by {clean(run.by)}{through}{f': {clean(run.asked)}' if run.asked else ''}"
    now = utc_now()
    ended = f"ended {ago(run.ended_at, now)}" if run.ended_at else "not ended yet"
    yield f"queued {ago(run.queued_at, now)}  {ended}"
    work = f"{count(run.turns, 'turn')}  {count(run.commits, 'commit')}"
    yield f"${run.usd:.2f}  {run.active_s / 60:.1f} min  {work}"
    if run.reason or run.detail:
        yield f"because: {clean(f'{run.reason} {run.detail}')}  last known: {clean(run.last_known)}"
    yield from _observations(story)
    for plan in story.plans:
        by = f" by {clean(plan.by)}" if plan.by else ""
        yield f"plan {plan.revision}, {plan.state}{by}: {clean(plan.summary)}"
        yield from (f"  {number}. {clean(step)}" for number, step in enumerate(plan.steps, start=1))
    for stage in story.stages:
        yield from _stage(stage)
    for question in story.questions:
        yield f"question {question.question_id}, by {question.asker}: {clean(question.text)}"
        unanswered = "never answered" if question.withdrawn else "waiting for an answer"
        answer = f"{clean(question.answered_by)}: {clean(question.answer)}"
        yield f"  {unanswered if question.answered_at is None else answer}"
    for check in story.checks:
        ended = f"exit code {check.exit_code} after {check.duration_s:.1f} s"
        yield f"{check.tier} {check.iteration}: {clean(check.command)}: {ended}"
    for artifact in story.artifacts:
        size = ", ".join(filter(None, (f"{artifact.size_bytes} bytes", why_gone(artifact.dropped))))
        yield f"{artifact.kind} {artifact.digest[:12]}: {clean(artifact.name)} ({size})"
    if story.report is not None:
        yield "report:"
        yield from text_block(story.report.done)
    yield from _findings(story.findings)


def _findings(report: FindingsReported | None) -> Iterable[str]:
    if report is None:
        return
    for number, finding in enumerate(report.findings, start=1):
        yield f"finding {number}, {clean(finding.confidence)} confidence: {clean(finding.title)}"
        for at in finding.references:
            place = f"{at.path}:{at.line}" if at.line else at.path
            yield f"  {clean(place)}{'' if at.found else ' (not found)'}"
        yield f"  cause: {clean(finding.cause)}"
        yield f"  fix: {clean(finding.fix)}"
    for number, follow_up in enumerate(report.follow_ups, start=1):
        yield f"follow-up {number}: {clean(follow_up.title)}"


def _observations(story: RunRows) -> Iterable[str]:
    if story.budget is not None and story.budget.budget_usd:
        held = f", ${story.budget.open_usd:.2f} reserved" if story.budget.open_usd else ""
        rule = f" ({clean(story.budget.by_rule)})" if story.budget.by_rule and held else ""
        yield f"budget ${story.budget.budget_usd:.2f}{held}{rule}"
    for name, fact in texts.observation_lines(story.observations).items():
        if fact:
            yield f"{name.lower()}: {clean(fact)}"
    if story.observations is not None:
        for item, tick in zip(story.observations.todos, story.observations.ticks, strict=False):
            yield f"  [{'x' if tick == '1' else ' '}] {clean(item)}"


def _stage(stage: StageRow) -> Iterable[str]:
    on = f" → {clean(stage.target)}" if stage.target else ""
    went = "" if stage.left_at is None else f"{on}, {ago(stage.left_at, utc_now())}"
    who = f"persona {clean(stage.persona)} ({clean(stage.persona_source)}, {stage.persona_digest[:12]})"
    yield f"stage {stage.entry}, {clean(stage.stage)}{went}: {who}, {describe_usage((stage,))}"
    if stage.summary:
        yield f"  {clean(stage.summary)}"


def _card_text(story: CardStory) -> Iterable[str]:
    card, now = story.card, utc_now()
    yield (f"{card.repository}#{card.number}  {clean(card.title)}" if card.number else clean(card.title))
    yield f"{f'{state_word(card.state)} in {clean(card.column or NOWHERE)}'.strip()}: {clean(card.because)}"
    if story.placement is not None:
        place = story.placement
        where = place.repository or "no repository"
        yield f"works in {clean(where)}: {place.rule} {clean(place.value)}".rstrip()
    if card.pull_number:
        yield f"pull request #{card.pull_number} {card.pull_state}{', a draft' if card.pull_draft else ''}"
    for run in story.runs:
        yield f"{run.run_id}  {state_word(run.ending or run.state)}  ${run.usd:.2f}  {clean(run.last_line)}"
    for row in story.timeline:
        yield f"{ago(row.at, now)}  {row.run_id or '':5}  {clean(row.text, WORDS_CHARS)}"


def describe_stack(db: Connection, run: RunRow) -> tuple[dict[str, object], list[str]]:
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
