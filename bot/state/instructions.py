"""All that a run's agent is told, as sections that people read: layers, skills, briefs of stages."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

from ledger.events.brief import StageBriefed
from ledger.ids import RunId
from ledger.views import briefings, instructions, stages
from ledger.views.briefings import BriefingRow
from ledger.views.instructions import LayerRow, SkillRow
from ledger.views.stages import StageRow
from rules.text import plain

MAX_LINE = 500
PRIVATE = "(private: its text is given to the agent and kept nowhere)"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of one harmless line, and outside text as it is; `own`: it is about the card alone."""

    heading: str
    text: str
    own: bool = True


@dataclass(frozen=True, slots=True)
class InstructionStack:
    """The newest instructions of a run, before which there are none."""

    briefing: BriefingRow
    layers: tuple[LayerRow, ...]
    skills: tuple[SkillRow, ...]
    stages: tuple[StageBriefed, ...]
    entered: tuple[StageRow, ...]

    def sections(self) -> Iterator[Section]:
        """Yield the agent's instructions in order; a run older than layers has only its briefing."""
        for layer in self.layers:
            yield _of_layer(layer, self.briefing)
        if not self.layers:
            yield Section("briefing", self.briefing.text, own=False)
        if self.skills:
            yield Section("skills that were considered", "\n".join(map(_skill_line, self.skills)))
        by_entry = {row.entry: row for row in self.entered}
        for brief in self.stages:
            yield _of_stage(brief, by_entry.get(brief.entry))


def stack_of(db: Connection, run_id: RunId) -> InstructionStack | None:
    """Return the run's newest instructions; None before it was briefed."""
    briefing = briefings.newest(db, run_id)
    if briefing is None:
        return None
    layers, skills = instructions.stack_rows(db, run_id), instructions.list_skills(db, run_id)
    return InstructionStack(
        briefing, layers, skills, briefings.of_stages(db, run_id), stages.of_run(db, run_id)
    )


def _of_layer(layer: LayerRow, briefing: BriefingRow) -> Section:
    version = f", version {_line(layer.version)}" if layer.version else ""
    source = f"from {_line(layer.source)}{version}, sha256 {layer.digest[:16]}"
    is_card = layer.kind == "card"
    text = PRIVATE if layer.private else briefing.text if is_card else layer.text
    return Section(f"{layer.place}. {layer.kind}: {_line(layer.name)} ({source})", text, own=not is_card)


def _skill_line(skill: SkillRow) -> str:
    state = "loaded" if skill.loaded else "skipped"
    of = f" of the {skill.source}" if skill.source else ""
    return f"{state}  {_line(skill.name)}{of}: {_line(skill.why)}"


def _of_stage(brief: StageBriefed, entered: StageRow | None) -> Section:
    who = ""
    if entered is not None:
        persona = f"persona {_line(entered.persona)} from {_line(entered.persona_source)}"
        who = f"{persona}, sha256 of its file {entered.persona_digest[:16]}, "
    return Section(f"stage {brief.entry}, {_line(brief.stage)} ({who}sha256 {brief.digest[:16]})", brief.text)


def _line(text: str) -> str:
    return plain(text, MAX_LINE)
