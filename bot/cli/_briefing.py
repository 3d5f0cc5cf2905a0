"""What `cardinal show RUN --briefing` prints: the whole stack of a run's instructions."""

from collections.abc import Iterator

from sqlalchemy import Connection

from bot.cli._show import line
from ledger.views import briefings, instructions, stage_briefs, stages
from ledger.views.briefings import BriefingRow
from ledger.views.instructions import LayerRow, SkillRow
from ledger.views.runs import RunRow
from ledger.views.stage_briefs import StageBriefRow
from ledger.views.stages import StageRow


def stack_lines(db: Connection, run: RunRow) -> tuple[dict[str, object], list[str]]:
    """Return what the run's agent is told, for programs and as lines for people."""
    briefing, layers = briefings.newest(db, run.run_id), instructions.stack(db, run.run_id)
    skills = instructions.considered(db, run.run_id)
    found: dict[str, object] = {"run": run.run_id, "briefing": briefing}
    if briefing is None:
        return found, [f"{run.run_id} was not briefed yet"]
    if not layers:  # a run of before there were layers
        return found, list(_lines(briefing.text))
    entered, said = stages.of_run(db, run.run_id), stage_briefs.of_run(db, run.run_id)
    found |= {"layers": layers, "skills": skills, "stages": said}
    return found, [*_text(briefing, layers, skills), *_of_stages(entered, said)]


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


def _of_stages(entered: tuple[StageRow, ...], said: tuple[StageBriefRow, ...]) -> Iterator[str]:
    """Yield what each stage's agent was told besides the layers, which it was told as well."""
    by_entry = {row.entry: row for row in entered}
    for one in said:
        row = by_entry.get(one.entry)
        who = f"persona {line(row.persona)} from {line(row.persona_source)}, " if row is not None else ""
        of_file = f"sha256 of its file {row.persona_digest[:16]}, " if row is not None else ""
        yield ""
        yield f"=== stage {one.entry}, {line(one.stage)} ({who}{of_file}sha256 {one.digest[:16]})"
        yield from _lines(one.text)


def _lines(text: str) -> Iterator[str]:
    yield from (line(one) if one else "" for one in text.splitlines())
