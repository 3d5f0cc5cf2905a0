"""Stages of a run specification: personas read, permissions narrowed, models checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.github.client import Hub
from bot.repo_config import personas
from rules.errors import PersonaError
from rules.policy import network as policy_network
from rules.policy.column import ColumnPolicy
from rules.policy.markdown.persona import Persona, parse_persona
from rules.policy.messages import unknown
from rules.policy.stages import Permission, Stage, strictest, tools_of_choice
from runner.run import run_spec
from runner.run.run_spec import ToolSpec
from runner.text.visible import strip_hidden

BUILT_IN = "built in"


@dataclass(frozen=True, slots=True)
class Source:
    """A persona and where it was read."""

    persona: Persona
    source: str


def stages_of(
    hub: Hub, repository: str, commit: str, column: ColumnPolicy, tools: ToolSpec
) -> tuple[run_spec.StageSpec, ...]:
    """Return the stages of a column with their personas as they are at `commit`; none for a column without.

    `tools` are those of the column. A repository's persona goes before a built-in one of the same name.
    Raises PersonaError with a sentence for each persona that is unknown or wrong, and a GithubError.
    """
    if not column.stages:
        return ()
    sources = _find(hub, repository, commit, column.stages)
    wrong = tuple(_list_unknown_models(column, sources))
    if wrong:
        raise PersonaError(wrong)
    return tuple(_stage(stage, sources[stage.persona], tools) for stage in column.stages)


def _find(hub: Hub, repository: str, commit: str, stages: tuple[Stage, ...]) -> Mapping[str, Source]:
    own = personas.own_names(hub, repository, commit) if commit else ()
    sources: dict[str, Source] = {}
    problems: list[str] = []
    for name in dict.fromkeys(stage.persona for stage in stages):
        try:
            if name in own:
                text, source = personas.own_text(hub, repository, commit, name), repository
            elif name in personas.list_built_in():
                text, source = personas.read_built_in(name), BUILT_IN
            else:
                known = tuple(sorted({*own, *personas.list_built_in()}))
                problems.append(f"{unknown('persona', name, known)}; there are {', '.join(known)}")
                continue
            sources[name] = Source(parse_persona(name, text), source)
        except PersonaError as error:
            problems += error.problems
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
