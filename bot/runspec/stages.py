"""Stages of a run specification: personas read, permissions narrowed, models checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bot.repo_config import personas
from bot.repo_config.skill_sources import Shelf
from rules.errors import PersonaError
from rules.policy import network as policy_network
from rules.policy.column import ColumnPolicy
from rules.policy.markdown.persona import Persona
from rules.policy.messages import unknown
from rules.policy.stages import Permission, Stage, strictest, tools_of_choice
from runner.run import run_spec
from runner.run.run_spec import ToolSpec
from runner.text.visible import strip_hidden


@dataclass(frozen=True, slots=True)
class Source:
    """A persona and where it was read; `private`: only the agent gets its text."""

    persona: Persona
    source: str
    private: bool


def stages_of(
    places: Iterable[Shelf], column: ColumnPolicy, tools: ToolSpec
) -> tuple[run_spec.StageSpec, ...]:
    """Return the stages of a column with their personas, each of the first place that has it; none for a
    column without.

    `tools` are those of the column.
    Raises PersonaError with a sentence for each persona that is unknown or wrong, and a GithubError.
    """
    if not column.stages:
        return ()
    sources = _find(places, column.stages)
    wrong = tuple(_list_unknown_models(column, sources))
    if wrong:
        raise PersonaError(wrong)
    return tuple(_stage(stage, sources[stage.persona], tools) for stage in column.stages)


def _find(places: Iterable[Shelf], stages: tuple[Stage, ...]) -> Mapping[str, Source]:
    missing = list(dict.fromkeys(stage.persona for stage in stages))
    sources: dict[str, Source] = {}
    problems: list[str] = []
    known: set[str] = set()
    for shelf in places:
        there = personas.list_names(shelf)
        known |= set() if shelf.is_private else set(there)
        for name in [name for name in missing if name in there]:
            missing.remove(name)
            try:
                sources[name] = Source(personas.read(shelf, name), shelf.source, shelf.is_private)
            except PersonaError as error:
                problems += error.problems
        if not missing:
            break
    named = tuple(sorted(known))
    problems += [f"{unknown('persona', name, named)}; there are {', '.join(named)}" for name in missing]
    if problems:
        raise PersonaError(tuple(problems))
    return sources


def _list_unknown_models(column: ColumnPolicy, sources: Mapping[str, Source]) -> list[str]:
    """Return a sentence for each persona that wants a model which the policy does not know."""
    named = (stage.model for stage in column.stages if stage.model)
    allowed = tuple(dict.fromkeys((column.model, *column.models, *named)))
    # A stage's own model goes before its persona's.
    wanting = (sources[stage.persona].persona for stage in column.stages if not stage.model)
    return [
        f"persona `{persona.name}` wants the model `{persona.model}`, which the column does not allow: add"
        " it to `models` of the column, or name another one in the stage"
        for persona in dict.fromkeys(wanting)
        if persona.model and persona.model not in allowed
    ]


def _stage(stage: Stage, source: Source, tools: ToolSpec) -> run_spec.StageSpec:
    persona = source.persona
    return run_spec.StageSpec(
        name=stage.name,
        persona=persona.name,
        text=strip_hidden(persona.text, paths=True),
        digest=persona.digest,
        source=source.source,
        private=source.private,
        next=stage.follows,
        ends=stage.ends,
        approval=stage.approval == "required",
        model=stage.model or persona.model,
        tools=_narrow_tools(tools, stage, persona),
        cleanup=stage.cleanup,
    )


def _narrow_tools(tools: ToolSpec, stage: Stage, persona: Persona) -> ToolSpec:
    """Return the column's tools, narrowed by stage and persona; neither can add any."""
    wanted = (stage.tools, persona.tools)
    allowed = policy_network.FULL if tools.network == "full" else tools.hosts  # hosts of a list only
    hosts = policy_network.narrowest(allowed, *(stage_tools.network for stage_tools in wanted))
    network = policy_network.word(hosts)
    return replace(
        tools,
        network=network,
        hosts=hosts if network == "list" else (),
        edit=_least(tools.edit, *(stage_tools.edit for stage_tools in wanted)),
        run=_least(tools.run, *(stage_tools.run for stage_tools in wanted)),
        commit=_least(tools.commit, *(stage_tools.commit for stage_tools in wanted)),
        ask=tuple(dict.fromkeys((*tools.ask, *stage.tools.ask, *persona.tools.ask))),
        mcp=tools_of_choice(tools.mcp, *(stage_tools.mcp for stage_tools in wanted)),
    )


def _least(column: str, *wanted: Permission | None) -> str:
    return strictest("deny" if column == "deny" else "ask" if column == "ask" else "allow", *wanted)
