"""The stages of a column or workflow in the policy file, with the check of their ways, and specialists."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Protocol, get_args

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from ledger.model.policy_settings import ColumnName, Effort, Name, Names, PolicyModel, setting
from rules.policy.messages import locate, unknown
from rules.policy.network import Network, beyond
from rules.policy.repository import Lines
from rules.policy.yaml_reader import Path, Written
from rules.text import alternatives, code

Permission = Literal["allow", "ask", "deny"]
McpTool = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,15}(__[A-Za-z0-9_-]{1,34})?$")]
McpChoice = Annotated[tuple[McpTool, ...], Field(max_length=50)] | None  # tool servers, or tools of them
END = "end"  # in `next`: the run may end here
STRICTNESS: Sequence[Permission] = ("allow", "ask", "deny")
MAX = 12
NO_WORKFLOW = "none"  # as a command says it
Outcome = Literal["on_success", "on_failure", "on_changes_requested"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
MARK = "@"  # before a specialist's name in a column's `agents`
_STAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_PERSONA = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


def is_persona(name: str) -> bool:
    """Whether a persona can have that name: it is a file's, so nothing else is looked for."""
    return _PERSONA.fullmatch(name) is not None


def _file_name(persona: str) -> str:
    if not is_persona(persona):
        raise ValueError("a persona's name may have up to 60 lower-case letters, digits and dashes")
    return persona


PersonaName = Annotated[Name, AfterValidator(_file_name)]


class StageTools(PolicyModel):
    """Permissions of a stage's agent: never more than its column allows."""

    edit: Permission | None = setting(None, "Change files; by default as in the column.")
    run: Permission | None = setting(None, "Run commands; by default as in the column.")
    commit: Permission | None = setting(None, "Commit to the card's branch; by default as in the column.")
    network: Network | None = setting(
        None, "`none`, or a list of host names within the column's; by default as in the column."
    )
    ask: Lines = setting((), "More patterns of tool calls that a person must approve first.")
    mcp: McpChoice = setting(
        None,
        "[Tool servers](instructions.md#tool-servers) or their tools, within the column's; by default the "
        "column's.",
        "Tool servers",
    )


class Stage(PolicyModel):
    """One step of a staged run, with an agent and a persona of its own."""

    name: Name = Field(description="Its name, unique in the column: letters, digits, `-` and `_`.")
    persona: PersonaName = Field(description="Who the agent is: the name of a [persona](#personas).")
    next: Annotated[tuple[Name, ...], Field(max_length=MAX)] = setting(
        (), "The stages that may follow; add `end` if the run may also end here. If empty, the run ends."
    )
    model: Name | None = setting(
        None, "This stage's model; by default the persona's, otherwise the column's."
    )
    approval: Literal["required", "off"] = setting(
        "off", "Whether a person must approve each time before it begins."
    )
    tools: StageTools = setting(StageTools(), "Its agent's permissions, within the column's.")
    cleanup: Lines = setting((), "Shell lines to run in the workspace when the stage ends.")

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if name.casefold() == END:
            raise ValueError("`end` cannot be a stage's name: in `next` it means that the run may end")
        if not _STAGE.fullmatch(name):
            raise ValueError("a stage's name may have up to 40 letters, digits, dashes and underscores")
        return name

    @property
    def ends(self) -> bool:
        """Whether the run may end here."""
        return not self.next or END in self.next

    @property
    def follows(self) -> tuple[str, ...]:
        return tuple(name for name in self.next if name != END)


def _no_ending(name: str) -> str:
    if name == END:
        raise ValueError(f"`{END}` cannot be a specialist's name: it means the end of a run")
    return name


SpecialistName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$"), AfterValidator(_no_ending)]


class Specialist(PolicyModel):
    """An agent with its model, persona and skills, whom cards are [given to](#specialists) by one name."""

    agent: Name = setting("claude", "The agent.")
    model: Name | None = setting(
        None, "Its model; by default the persona's, otherwise the column's if it has the same agent."
    )
    effort: Effort | None = setting(None, "How much its model thinks; by default as in the column.")
    persona: PersonaName | None = setting(
        None,
        "Who it is: the name of a [persona](#personas). Not in columns with stages.",
    )
    skills: Names = setting((), "Skills for its runs, in addition to the column's.")

    @property
    def choice(self) -> str:
        """Its agent and model as `agents` of a column would list them."""
        return f"{self.agent}/{self.model}" if self.model else self.agent

    def stages(self, name: str) -> tuple[Stage, ...]:
        """Return the one stage in which its persona, if any, does the whole work."""
        return (Stage(name=name, persona=self.persona, model=self.model),) if self.persona else ()


class MoveTo(PolicyModel):
    """Where a card goes."""

    move: ColumnName = Field(description="The column to move the card to.")


def _stay_or_move(value: object) -> object:
    if value == "stay":
        return None
    if isinstance(value, str):
        raise ValueError("write stay, or {move: <column>}")
    return value


Route = Annotated[
    MoveTo | None, BeforeValidator(_stay_or_move, json_schema_input_type=MoveTo | Literal["stay"])
]


def _refuse_none(name: str) -> str:
    if name == NO_WORKFLOW:
        raise ValueError(
            f"`{NO_WORKFLOW}` cannot be a workflow's name: `/cardinal workflow none` undoes a choice"
        )
    return name


WorkflowName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$"), AfterValidator(_refuse_none)]


class Workflow(PolicyModel):
    """Stages, with what happens to the card afterwards, [under a name](#workflows) for columns and cards."""

    stages: Annotated[tuple[Stage, ...], Field(min_length=1, max_length=MAX)] = Field(
        description="The stages of a run, starting with the first."
    )
    on_success: Route = setting(None, "As in a column, whose own applies by default.")
    on_failure: Route = setting(None, "As in a column, whose own applies by default.")
    on_changes_requested: Route = setting(None, "As in a column, whose own applies by default.")


class Routed(Protocol):
    """What says where cards go: a column, or a workflow."""

    @property
    def on_success(self) -> MoveTo | None: ...
    @property
    def on_failure(self) -> MoveTo | None: ...
    @property
    def on_changes_requested(self) -> MoveTo | None: ...
    @property
    def model_fields_set(self) -> set[str]: ...


def find_routes(rules: Routed) -> dict[str, MoveTo | None]:
    """Return the routes that a column or workflow gives; None for `stay`."""
    moves = (rules.on_success, rules.on_failure, rules.on_changes_requested)
    given = zip(OUTCOMES, moves, strict=True)  # in the order of Outcome
    return {name: move for name, move in given if name in rules.model_fields_set}


def strictest(*wanted: Permission | None) -> Permission:
    return max(
        (permission for permission in wanted if permission is not None), key=STRICTNESS.index, default="allow"
    )


def tools_of_choice(names: tuple[str, ...], *choices: McpChoice) -> tuple[str, ...]:
    """Return the tools (`server__tool`) that every choice has, by their own name or their server's."""
    return tuple(
        name
        for name in names
        if all(choice is None or name in choice or name.partition("__")[0] in choice for choice in choices)
    )


def find_wide_stages(
    stages: Sequence[Stage],
    allowed: dict[str, Permission],
    network: tuple[str, ...],
    written: Written,
    where: Path,
    *,
    column: str = "the column",
) -> Iterator[str]:
    """Yield a sentence for each stage that may do more than its column, which `column` names.

    `allowed` has the column's values of edit, run and commit, `network` the hosts that it lets be reached.
    """
    for index, stage in enumerate(stages):
        at: Path = (*where, index)
        for tool, most in allowed.items():
            wanted = getattr(stage.tools, tool)
            if wanted is not None and strictest(wanted, most) != wanted:
                yield locate(
                    written, (*at, "tools", tool), f"{column} has {most}: a stage may only narrow it"
                )
        far = beyond(stage.tools.network or (), network)
        if far:
            said = f"{column} does not allow {alternatives(map(code, far))}: a stage may only narrow it"
            yield locate(written, (*at, "tools", "network"), said)


def find_lost_ways(stages: Sequence[Stage], written: Written, where: Path) -> Iterator[str]:
    """Yield a sentence for each stage that leads nowhere, is never reached, or never ends."""
    names = tuple(stage.name for stage in stages)
    for index, stage in enumerate(stages):
        for name in stage.follows:
            if name not in names:
                yield locate(written, (*where, index, "next"), unknown("stage", name, (*names, END)))
            if name == stage.name:
                yield locate(written, (*where, index, "next"), f"{code(name)} leads to itself")
    if len({name.casefold() for name in names}) < len(names):
        yield locate(written, where, "two stages have the same name")
    elif stages and all(name in names for stage in stages for name in stage.follows):
        yield from _ways(stages, written, where)


def _ways(stages: Sequence[Stage], written: Written, where: Path) -> Iterator[str]:
    names = [stage.name for stage in stages]
    reached = _spread({names[0]}, {stage.name: set(stage.follows) for stage in stages})
    lost = [name for name in names if name not in reached]
    if lost:
        said = f"never reached from {code(names[0])}, the first: {alternatives(map(code, lost))}"
        yield locate(written, where, said)
    back: dict[str, set[str]] = {name: set() for name in names}
    for stage in stages:
        for name in stage.follows:
            back.setdefault(name, set()).add(stage.name)
    ending = _spread({stage.name for stage in stages if stage.ends}, back)
    stuck = [name for name in names if name not in ending]
    if stuck:
        said = f"from {alternatives(map(code, stuck))} the run can never end: add `end` to a `next`"
        yield locate(written, where, said)


def _spread(reached: set[str], ways: dict[str, set[str]]) -> set[str]:
    """Return everything that can be reached over `ways`, with the start."""
    seen, fresh = set(reached), set(reached)
    while fresh:
        fresh = {name for stage in fresh for name in ways.get(stage, ())} - seen
        seen |= fresh
    return seen
