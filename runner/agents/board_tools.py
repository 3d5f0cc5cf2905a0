"""The board tools of an agent, and the validation of its calls; the same for all agents."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ledger.model.metadata import MAX_BYTES
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
    """Show the card that you work on: its issue, branch, plan with ticks, open review threads, your notes,
    and the answers that people gave.
    """


class PlanInput(Tool):
    """Propose how you will do the work. People read it and may have to approve it before you begin."""

    summary: Annotated[Text, Field(min_length=1, description="What you will do and why, in a few sentences.")]
    steps: Annotated[Lines, Field(min_length=1, description="Steps in order, one line each.")]


class TickInput(Tool):
    """Tell that the first steps of the plan are done, so that people see how far you are."""

    done: Annotated[int, Field(ge=0, le=_ITEMS, description="How many steps, counted from the first.")]


class ProgressInput(Tool):
    """Tell people your present work in one line. Use it at each new piece of work, not at each step."""

    text: Annotated[Words, Field(min_length=1, description="One line.")]


class AskInput(Tool):
    """Ask people a question that only they can answer. You are stopped until somebody answers; your session
    then goes on with the answer. Ask one thing at a time.
    """

    question: Annotated[Text, Field(min_length=1, description="The question, with what one needs to answer.")]
    choices: Annotated[tuple[Words, ...], Field(max_length=8, description="Answers to choose from.")] = ()


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

    criterion: Annotated[Words, Field(min_length=1, description="The criterion, in the brief's words.")]
    test: Annotated[Words, Field(min_length=1, description="The test's name, as its runner prints it.")]


class FinishInput(Tool):
    """End the work: call it once, when all is done and committed. It becomes the report that people read, and
    all that the next run and the cards that depend on this one know of your work. Write for someone who was
    not there: what you decided and why, what you tried in vain, what is where, what you did not check. Name
    files, commands and values exactly.
    """

    done: Annotated[Text, Field(min_length=1, description="What was done, in a few sentences.")]
    changed: Annotated[Lines, Field(description="What changed, one line each.")] = ()
    check: Annotated[Lines, Field(description="What a reviewer should check, one line each.")] = ()
    open_questions: Annotated[Lines, Field(description="What is still open, one line each.")] = ()
    criteria: Annotated[
        tuple[CriterionInput, ...],
        Field(max_length=_ITEMS, description="For criteria of the brief: a test that shows that it is met."),
    ] = ()
    metadata: Annotated[
        SentMetadata,
        Field(
            description="Facts by name, for programs and for the cards that depend on this one: a version, a"
            " port, a path. Values are texts, numbers, true, false, lists and dictionaries; all of it has at"
            f" most {MAX_BYTES:,} bytes."
        ),
    ] = {}
    nothing_to_do: Annotated[
        bool, Field(description="True when no change at all is the right outcome; say in `done` why.")
    ] = False


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

    title: Annotated[Title, Field(min_length=1, description="The title of the new issue.")]
    body: Annotated[Text, Field(min_length=1, description="What is to be done, as Markdown.")]
    reason: Annotated[Words, Field(min_length=1, description="Why it is a card of its own, in one line.")]


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
    """Give people a text that does not belong into the repository: a measurement, a table, a log, a page of
    notes. It is kept with the run, and the report lists it.
    """

    name: Annotated[
        str,
        _kept_as(one_line, _NAME_BYTES),
        Field(min_length=1, description="A file name, such as timings.csv; no folder."),
    ]
    content: Annotated[
        str,
        Field(min_length=1, description=f"The text, at most {ATTACHED_BYTES:,} bytes."),
    ]


class BlockInput(Tool):
    """Say that you cannot go on unless people do something. You are stopped until somebody answers."""

    reason: Annotated[Text, Field(min_length=1, description="What is in the way, and what would remove it.")]


class GoToStageInput(Tool):
    """Hand the work to another stage of this column, where the column has stages, and end your turn. Another
    agent goes on there, who knows only your commits, your notes and the text you write here.
    """

    stage: Annotated[Words, Field(min_length=1, description="The stage's name.")]
    summary: Annotated[Text, Field(min_length=1, description="What the next stage needs to know.")]
    open_points: Annotated[Lines, Field(description="What is still open, one line each.")] = ()


class CreateCardInput(FollowUpInput):
    """Propose a new card for work that is not part of this one. It is made at once; people decide about it,
    so leave it alone. `show_card` says whether you may choose its `column`, `start` an agent on it, and which
    `skills`; how many cards you make, and how deep, has a limit. With `repository`, for work that this card
    needs there, people are asked first: you are stopped until somebody answers.
    """

    repository: Annotated[
        str,
        Field(
            pattern=_REPOSITORY,
            description="Another repository, owner/name; left out: this one. `show_card` lists which.",
        ),
    ] = ""
    relation: Annotated[
        Literal["blocked_by", "blocks"],
        Field(description="With `repository`, read as: this card … the new one."),
    ] = "blocked_by"
    column: Annotated[Words, Field(description="The column where it goes; left out: the inbox.")] = ""
    start: Annotated[bool, Field(description="Start an agent on it at once, in this card's column.")] = False
    skills: Annotated[Lines, Field(description="Skills that its runs get.")] = ()
    parents: Annotated[
        tuple[Target, ...],
        Field(max_length=_PARENTS, description="Issues of this repository that must be closed before it."),
    ] = ()
    after: Annotated[
        tuple[Annotated[int, Field(ge=1, le=999)], ...],
        Field(max_length=_PARENTS, description="Your own new cards that come before it: 1 is your first."),
    ] = ()
    agent: Annotated[
        Words,
        Field(description="Who shall work on it, of those that `show_card` lists; left out: nobody special."),
    ] = ""


class LinkCardInput(Tool):
    """Tell that this card stands in a relation to another one."""

    target: Annotated[Target, Field(description="The other issue: its number, or owner/repository#number.")]
    relation: Annotated[
        Literal["blocks", "blocked_by", "relates"],
        Field(description="Read as: this card … the other one."),
    ]
    reason: Annotated[Words, Field(min_length=1, description="Why, in one line.")]


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


def offer_tools(*, read_only: bool, threads: bool, investigates: bool = False) -> tuple[str, ...]:
    """Return the tools of a turn: those for planning when it is `read_only`, else those for work; `thread`
    only where there are review threads. In a run that investigates every turn has the same.
    """
    if investigates:
        return INVESTIGATING
    if read_only:
        return PLANNING
    others = {"plan", "findings"} | (set() if threads else {"thread"})
    return tuple(name for name in TOOLS if name not in others)


def schema_of(tool: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's input, without the titles, which repeat the names, and without
    references, which not every agent follows.
    """
    schema = TOOLS[tool].model_json_schema()
    parts = schema.get("$defs", {})
    properties = {name: _plain(part, parts) for name, part in schema.get("properties", {}).items()}
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _plain(schema: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_plain(part, parts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _plain(parts[schema["$ref"].removeprefix("#/$defs/")], parts)
    fields = schema.get("properties")
    plain = {key: _plain(part, parts) for key, part in schema.items() if key not in ("title", "properties")}
    if isinstance(fields, dict):
        plain["properties"] = {name: _plain(part, parts) for name, part in fields.items()}
    return plain


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
