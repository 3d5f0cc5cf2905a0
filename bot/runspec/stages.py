"""Makes the stages of a run's order: personas read, permissions narrowed, models checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.github.client import Hub
from bot.repo_config import persona_files, personas
from rules.errors import PersonaError
from rules.policy import network as policy_network
from rules.policy.column import ColumnPolicy
from rules.policy.messages import unknown
from rules.policy.persona import Persona, parse_persona
from rules.policy.stages import Permission, Stage, strictest
from runner.run import run_spec
from runner.run.run_spec import ToolSpec
from runner.text.visible import strip_hidden

BUILT_IN = "built in"


@dataclass(frozen=True, slots=True)
class LoadedPersona:
    """A persona with where it was read."""

    persona: Persona
    source: str


def stages_of(
    hub: Hub, repository: str, commit: str, column: ColumnPolicy, tools: ToolSpec
) -> tuple[run_spec.StageSpec, ...]:
    """Return the stages of a column with their personas as they are at `commit`; none for a column without.

    `tools` are what the column allows. A repository's persona goes before a built-in one of the same name.
    Raises PersonaError with a sentence for each persona that is unknown or wrong, and a GithubError.
    """
    if not column.stages:
        return ()
    found = _find(hub, repository, commit, column.stages)
    wrong = tuple(_unallowed(column, found))
    if wrong:
        raise PersonaError(wrong)
    return tuple(_stage(stage, found[stage.persona], tools) for stage in column.stages)


def _find(hub: Hub, repository: str, commit: str, stages: tuple[Stage, ...]) -> Mapping[str, LoadedPersona]:
    own = persona_files.names(hub, repository, commit) if commit else ()
    found: dict[str, LoadedPersona] = {}
    problems: list[str] = []
    for name in dict.fromkeys(stage.persona for stage in stages):
        try:
            if name in own:
                text, source = persona_files.read(hub, repository, commit, name), repository
            elif name in personas.names():
                text, source = personas.text(name), BUILT_IN
            else:
                known = tuple(sorted({*own, *personas.names()}))
                problems.append(f"{unknown('persona', name, known)}; there are {', '.join(known)}")
                continue
            found[name] = LoadedPersona(parse_persona(name, text), source)
        except PersonaError as error:
            problems += error.problems
    if problems:
        raise PersonaError(tuple(problems))
    return found


def _unallowed(column: ColumnPolicy, found: Mapping[str, LoadedPersona]) -> list[str]:
    """Return a sentence for each persona that wants a model which the policy does not know."""
    named = (stage.model for stage in column.stages if stage.model)
    allowed = tuple(dict.fromkeys((column.model, *column.models, *named)))
    wanting = (
        found[stage.persona].persona for stage in column.stages if not stage.model
    )  # a stage's own model goes before its persona's
    return [
        f"persona `{one.name}` wants the model `{one.model}`, which the column does not allow: add it to"
        " `models` of the column, or name another one in the stage"
        for one in dict.fromkeys(wanting)
        if one.model and one.model not in allowed
    ]


def _stage(stage: Stage, found: LoadedPersona, tools: ToolSpec) -> run_spec.StageSpec:
    persona = found.persona
    return run_spec.StageSpec(
        name=stage.name,
        persona=persona.name,
        text=strip_hidden(persona.text, paths=True),
        digest=persona.digest,
        source=found.source,
        next=stage.follows,
        ends=stage.ends,
        approval=stage.approval == "required",
        model=stage.model or persona.model,
        tools=_narrowed(tools, stage, persona),
        cleanup=stage.cleanup,
    )


def _narrowed(tools: ToolSpec, stage: Stage, persona: Persona) -> ToolSpec:
    """Return the column's tools with what stage and persona take away; neither can give anything."""
    wanted = (stage.tools, persona.tools)
    hosts = policy_network.narrowest(_hosts(tools), *(one.network for one in wanted))
    network = policy_network.word(hosts)
    return replace(
        tools,
        network=network,
        hosts=hosts if network == "list" else (),
        edit=_least(tools.edit, *(one.edit for one in wanted)),
        run=_least(tools.run, *(one.run for one in wanted)),
        commit=_least(tools.commit, *(one.commit for one in wanted)),
        ask=tuple(dict.fromkeys((*tools.ask, *stage.tools.ask, *persona.tools.ask))),
    )


def _hosts(tools: ToolSpec) -> tuple[str, ...]:
    return policy_network.FULL if tools.network == "full" else tools.hosts if tools.network == "list" else ()


def _least(column: str, *wanted: Permission | None) -> str:
    return strictest("deny" if column == "deny" else "ask" if column == "ask" else "allow", *wanted)
