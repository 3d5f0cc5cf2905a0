"""The board tools of an agent, and the validation of its calls; the same for all agents."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from runner.text.metadata import SentMetadata
from runner.text.plain import cut_bytes, one_line, without_terminal_codes

_TEXT_BYTES = 8_000
_LINE_BYTES = 500
_TITLE_BYTES = 240  # GitHub takes 256 characters
_NAME_BYTES = 100
ATTACHED_BYTES = 32_000  # of one text: with its quotes it travels in one message of the gateway
_ITEMS = 40
_PARENTS = 10
_MAX_LINES = 10_000_000
_REPOSITORY = r"^([A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100})?$"
_TARGET = r"^(#?[1-9][0-9]{0,8}|[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}#[1-9][0-9]{0,8})$"


def _kept_as(keep: Callable[[str, int], str], cap_bytes: int) -> BeforeValidator:
    """Keep a text as `keep` does; what an agent quotes of a terminal goes without its colours."""
    return BeforeValidator(
        lambda value: keep(without_terminal_codes(value), cap_bytes) if isinstance(value, str) else value
    )


Text = Annotated[str, _kept_as(cut_bytes, _TEXT_BYTES)]
Words = Annotated[str, _kept_as(one_line, _LINE_BYTES)]
Title = Annotated[str, _kept_as(one_line, _TITLE_BYTES)]
Lines = Annotated[tuple[Words, ...], Field(max_length=_ITEMS)]
Target = Annotated[
    str, BeforeValidator(lambda value: str(value) if type(value) is int else value), Field(pattern=_TARGET)
]


class Tool(BaseModel):
    """The base of all inputs: unknown keys are dropped, since models invent them.

    An agent reads the docstrings of the tools and the descriptions of their fields.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)


class ShowCardInput(Tool):
    """Show your card: issue, branch, plan with ticks, open review threads, your notes, people's answers."""


class PlanInput(Tool):
    """Propose how you will do the work. People read it and may have to approve it before you begin."""

    summary: Annotated[Text, Field(min_length=1, description="What you will do and why, in a few sentences.")]
    steps: Annotated[Lines, Field(min_length=1, description="Steps in order, one line each.")]


class TickInput(Tool):
    """Tell people how many steps of the plan are done."""

    done: Annotated[int, Field(ge=0, le=_ITEMS, description="Counted from the first.")]


class ProgressInput(Tool):
    """Tell people what you are working on, at each new piece of work, not at each step."""

    text: Annotated[Words, Field(min_length=1, description="One line.")]


class AskInput(Tool):
    """Ask people one thing that only they can answer. You are stopped until somebody does; then your
    session continues.
    """

    question: Annotated[Text, Field(min_length=1, description="With everything needed to answer it.")]
    choices: Annotated[tuple[Words, ...], Field(max_length=8, description="Possible answers.")] = ()


class NoteInput(Tool):
    """Keep a finding that must survive this session: a fact learnt, a decision, a way ruled out."""

    text: Annotated[Text, Field(min_length=1, description="The finding.")]


class ThreadInput(Tool):
    """Answer one review thread of your work order: with your change, or with the reason for none."""

    thread_id: Annotated[str, Field(min_length=1, max_length=200, description="The thread's id.")]
    text: Annotated[Text, Field(min_length=1, description="Your reply to the reviewer.")]
    addressed: Annotated[
        bool, Field(description="False when you changed nothing for it: the thread stays open.")
    ] = True


class CriterionInput(Tool):
    """A criterion, and a test that shows it."""

    criterion: Annotated[Words, Field(min_length=1, description="In the brief's words.")]
    test: Annotated[Words, Field(min_length=1, description="Its name, as its runner prints it.")]


class FinishInput(Tool):
    """End the work: call it once, when all is done and committed. It is all that people, the next run and
    dependent cards learn of your work. Write for someone who was not there: what you decided and why, what
    you tried in vain, what is where, what you did not check. Name files, commands and values exactly. Lists
    have one line for each thing.
    """

    done: Annotated[Text, Field(min_length=1, description="In a few sentences.")]
    changed: Annotated[Lines, Field(description="What changed.")] = ()
    check: Annotated[Lines, Field(description="What to check in a review.")] = ()
    open_questions: Annotated[Lines, Field(description="What is still open.")] = ()
    criteria: Annotated[
        tuple[CriterionInput, ...],
        Field(
            max_length=_ITEMS, description="For criteria of the brief: a test that shows that each is met."
        ),
    ] = ()
    metadata: Annotated[
        SentMetadata,
        Field(description="Facts by name, for programs and dependent cards: a port."),
    ] = {}
    nothing_to_do: Annotated[bool, Field(description="True when no change is right; `done` says why.")] = (
        False
    )


class ReferenceInput(Tool):
    """A place in the repository."""

    path: Annotated[Words, Field(min_length=1, description="The file, from the repository's top.")]
    line: Annotated[int, Field(ge=0, le=_MAX_LINES, description="Its line; 0: the whole file.")] = 0
    end_line: Annotated[int, Field(ge=0, le=_MAX_LINES, description="The last line, of several.")] = 0


class FindingInput(Tool):
    """One thing that was found."""

    title: Annotated[Title, Field(min_length=1, description="What is wrong, in one line.")]
    cause: Annotated[Text, Field(min_length=1, description="What you suspect to be the cause, and why.")]
    fix: Annotated[Text, Field(min_length=1, description="The fix that you recommend.")]
    confidence: Annotated[
        Literal["low", "medium", "high"], Field(description="How sure you are of the cause.")
    ]
    references: Annotated[
        tuple[ReferenceInput, ...], Field(max_length=10, description="The files and lines that show it.")
    ] = ()


class FollowUpInput(Tool):
    """A card to propose; people choose whether it is made."""

    title: Annotated[Title, Field(min_length=1, description="Of the new issue.")]
    body: Annotated[Text, Field(min_length=1, description="What is to be done, as Markdown.")]
    reason: Annotated[Words, Field(min_length=1, description="Why it is a card of its own.")]


class FindingsInput(Tool):
    """End the investigation: call it once, with all that you found. It is the report that people read."""

    summary: Annotated[Text, Field(min_length=1, description="What you found, in a few sentences.")]
    findings: Annotated[
        tuple[FindingInput, ...], Field(max_length=20, description="The most important first.")
    ] = ()
    follow_ups: Annotated[
        tuple[FollowUpInput, ...], Field(max_length=10, description="Cards to propose for other work.")
    ] = ()


class AttachInput(Tool):
    """Give people a text that does not belong in the repository, such as a measurement or a log. The report
    lists it.
    """

    name: Annotated[
        str,
        _kept_as(one_line, _NAME_BYTES),
        Field(min_length=1, description="Such as timings.csv; no folder."),
    ]
    content: Annotated[
        str,
        Field(min_length=1, description=f"The text, at most {ATTACHED_BYTES:,} bytes."),
    ]


class BlockInput(Tool):
    """Say that you cannot continue unless people do something. You are stopped until somebody answers."""

    reason: Annotated[Text, Field(min_length=1, description="What is in the way, and what would remove it.")]


class GoToStageInput(Tool):
    """Hand the work to another stage of this column, where the column has stages, and end your turn. Another
    agent goes on there, who knows only your commits, your notes and the text you write here.
    """

    stage: Annotated[Words, Field(min_length=1, description="The stage's name.")]
    summary: Annotated[Text, Field(min_length=1, description="What the next stage needs to know.")]
    open_points: Annotated[Lines, Field(description="What is still open, one line each.")] = ()


class CreateCardInput(FollowUpInput):
    """Propose a new card for work that is not part of this one. People decide about it: leave it alone."""

    repository: Annotated[
        str,
        Field(
            pattern=_REPOSITORY,
            description="For work that this card needs in another repository: owner/name, of those that"
            " `show_card` lists. People are asked first: you are stopped until somebody answers.",
        ),
    ] = ""
    relation: Annotated[
        Literal["blocked_by", "blocks"],
        Field(description="With `repository`, read as: this card … the new one."),
    ] = "blocked_by"
    column: Annotated[
        Words,
        Field(description="Where it goes, of those that `show_card` lists; by default the inbox."),
    ] = ""
    start: Annotated[bool, Field(description="Start an agent on it at once, in this card's column.")] = False
    skills: Annotated[Lines, Field(description="For its runs, of those that `show_card` lists.")] = ()
    parents: Annotated[
        tuple[Target, ...],
        Field(max_length=_PARENTS, description="Issues of this repository to be closed first."),
    ] = ()
    after: Annotated[
        tuple[Annotated[int, Field(ge=1, le=999)], ...],
        Field(max_length=_PARENTS, description="Your own new cards that come before it: 1 is your first."),
    ] = ()
    agent: Annotated[
        Words,
        Field(description="Who shall work on it, of those that `show_card` lists."),
    ] = ""


class LinkCardInput(Tool):
    """Say how this card relates to another one."""

    target: Annotated[Target, Field(description="The other issue: number, or owner/repository#number.")]
    relation: Annotated[
        Literal["blocks", "blocked_by", "relates"],
        Field(description="Read as: this card … the other one."),
    ]
    reason: Annotated[Words, Field(min_length=1, description="Why.")]


TOOLS: Mapping[str, type[Tool]] = {
    "show_card": ShowCardInput,
    "plan": PlanInput,
    "tick": TickInput,
    "progress": ProgressInput,
    "ask": AskInput,
    "note": NoteInput,
    "thread": ThreadInput,
    "finish": FinishInput,
    "findings": FindingsInput,
    "attach": AttachInput,
    "block": BlockInput,
    "go_to_stage": GoToStageInput,
    "create_card": CreateCardInput,
    "link_card": LinkCardInput,
}
PLANNING = ("show_card", "plan", "progress", "ask", "note", "block")
INVESTIGATING = ("show_card", "progress", "ask", "note", "findings", "block")


def offer_tools(
    *, read_only: bool, threads: bool, investigates: bool = False, withheld: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the tools of a turn: those for planning when it is `read_only`, else those for work; `thread`
    only where there are review threads, and none that is `withheld`. In a run that investigates every turn
    has the same.
    """
    if investigates:
        return INVESTIGATING
    if read_only:
        return PLANNING
    others = {"plan", "findings", *withheld} | (set() if threads else {"thread"})
    return tuple(name for name in TOOLS if name not in others)


# What a model needs of a schema. Limits are left out: `check_call` has them, and says what does not fit.
_TOLD = ("type", "description", "enum", "items", "properties", "required")


def schema_of(tool: str, withheld: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of a tool's input as an agent is told it, without references, which not every
    agent follows, and without the fields that are `withheld`, each as `tool.field`.
    """
    schema = TOOLS[tool].model_json_schema()
    told = _plain(schema, schema.get("$defs", {}))
    fields = told.get("properties", {})
    return {
        **told,
        "properties": {name: part for name, part in fields.items() if f"{tool}.{name}" not in withheld},
    }


def _plain(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _plain(parts[schema["$ref"].removeprefix("#/$defs/")], parts)
    told = {key: part for key, part in schema.items() if key in _TOLD}
    if "properties" in told:  # what a model itself says is told by the tool, or by the field that it is in
        told.pop("description", None)
    if "items" in told:
        told["items"] = _plain(told["items"], parts)
    if "properties" in told:
        told["properties"] = {name: _plain(part, parts) for name, part in told["properties"].items()}
    return told


def description_of(tool: str) -> str:
    return " ".join((TOOLS[tool].__doc__ or "").split())


def call_id_of(turn: str, tool: str, given: Any, count: int) -> str:
    """Return the id of the `count`-th call with the same input in a turn, from 1: the same id again when an
    agent repeats its work after a crash.
    """
    said = json.dumps([turn, tool, given, count], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class BoardCall:
    """A checked call of a board tool. The same `call_id` in a session is the same call."""

    call_id: str
    tool: str
    input: Tool


@dataclass(frozen=True, slots=True)
class BadCall:
    """A call that is no board tool or has a wrong input; `problem` is for the agent to read."""

    call_id: str
    tool: str
    problem: str


def check_call(call_id: str, tool: str, given: Any) -> BoardCall | BadCall:
    """Return the call with the input that its tool's schema accepts, or the call's problem."""
    schema = TOOLS.get(tool)
    if schema is None:
        return BadCall(
            call_id,
            one_line(tool, 60),
            f"there is no tool {one_line(tool, 60)!r}; there are {', '.join(TOOLS)}",
        )
    try:
        return BoardCall(call_id, tool, schema.model_validate(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "input"
        return BadCall(call_id, tool, one_line(f"{where}: {first['msg']}", 300))
