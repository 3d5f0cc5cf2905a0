"""What `cardinal show RUN --briefing` prints: the whole stack of a run's instructions."""

from collections.abc import Iterator

from sqlalchemy import Connection

from bot.cli._show import line
from ledger.views import briefings, instructions
from ledger.views.briefings import BriefingRow
from ledger.views.instructions import LayerRow, SkillRow
from ledger.views.runs import RunRow


def told(db: Connection, run: RunRow) -> tuple[dict[str, object], list[str]]:
    """Return what the run's agent is told, for programs and as lines for people."""
    briefing, layers = briefings.newest(db, run.run_id), instructions.stack(db, run.run_id)
    skills = instructions.considered(db, run.run_id)
    found: dict[str, object] = {"run": run.run_id, "briefing": briefing}
    if briefing is None:
        return found, [f"{run.run_id} was not briefed yet"]
    if not layers:  # a run of before there were layers
        return found, list(_lines(briefing.text))
    return {**found, "layers": layers, "skills": skills}, list(_text(briefing, layers, skills))


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


def _lines(text: str) -> Iterator[str]:
    yield from (line(one) if one else "" for one in text.splitlines())
