"""`cardinal show RUN --briefing`: the whole stack of a run's instructions."""

from collections.abc import Iterator

from sqlalchemy import Connection

from bot.cli._show import line
from ledger.events.brief import StageBriefed
from ledger.views import briefings, instructions, stages
from ledger.views.briefings import BriefingRow
from ledger.views.instructions import LayerRow, SkillRow
from ledger.views.runs import RunRow
from ledger.views.stages import StageRow


def stack_of(db: Connection, run: RunRow) -> tuple[dict[str, object], list[str]]:
    """Return the instructions of the run's agent, for programs and as lines for people."""
    briefing, layers = briefings.newest(db, run.run_id), instructions.stack(db, run.run_id)
    skills = instructions.considered(db, run.run_id)
    document: dict[str, object] = {"run": run.run_id, "briefing": briefing}
    if briefing is None:
        return document, [f"{run.run_id} was not briefed yet"]
    if not layers:  # a run of before there were layers
        return document, list(_lines(briefing.text))
    entered, briefs = stages.of_run(db, run.run_id), briefings.of_stages(db, run.run_id)
    document |= {"layers": layers, "skills": skills, "stages": briefs}
    return document, [*_text(briefing, layers, skills), *_of_stages(entered, briefs)]


def _text(briefing: BriefingRow, layers: tuple[LayerRow, ...], skills: tuple[SkillRow, ...]) -> Iterator[str]:
    for layer in layers:
        version = f", version {line(layer.version)}" if layer.version else ""
        source = f"from {line(layer.source)}{version}, sha256 {layer.digest[:16]}"
        yield f"=== {layer.place}. {layer.kind}: {line(layer.name)} ({source})"
        if layer.private:
            yield "(private: its text is given to the agent and kept nowhere)"
        else:
            yield from _lines(briefing.text if layer.kind == "card" else layer.text)
        yield ""
    if skills:
        yield "=== skills that were considered"
    for skill in skills:
        verdict = "loaded" if skill.loaded else "skipped"
        of = f" of the {skill.source}" if skill.source else ""
        yield f"{verdict}  {line(skill.name)}{of}: {line(skill.why)}"


def _of_stages(entered: tuple[StageRow, ...], briefs: tuple[StageBriefed, ...]) -> Iterator[str]:
    """Yield the brief of each stage, which its agent got besides the layers."""
    by_entry = {row.entry: row for row in entered}
    for brief in briefs:
        row = by_entry.get(brief.entry)
        who = f"persona {line(row.persona)} from {line(row.persona_source)}, " if row is not None else ""
        of_file = f"sha256 of its file {row.persona_digest[:16]}, " if row is not None else ""
        yield ""
        yield f"=== stage {brief.entry}, {line(brief.stage)} ({who}{of_file}sha256 {brief.digest[:16]})"
        yield from _lines(brief.text)


def _lines(text: str) -> Iterator[str]:
    yield from (line(row) if row else "" for row in text.splitlines())
