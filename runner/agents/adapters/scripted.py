"""The scripted agent: a real subprocess that plays a scenario, for the demo, tests and trials of a policy."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from runner.agents import board_tools, contract
from runner.agents.board_tools import check_call
from runner.agents.json_lines import JsonLinesDialogue, json_line
from runner.errors import ScenarioError

PACKAGED = Path(__file__).parents[1] / "scripted/scenarios"
_CAP_BYTES = 256 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
VERSION = "1"


class ScenarioModel(BaseModel):
    """The base of all parts of a scenario: an unknown key is an error, also in the input of a board tool."""

    model_config = ConfigDict(extra="forbid")


class PlanStep(board_tools.PlanInput, ScenarioModel):
    """Proposes a plan."""


class AskStep(board_tools.AskInput, ScenarioModel):
    """Asks people and ends the turn; `{{answer}}` holds the answer afterwards."""


class EditStep(ScenarioModel):
    """Writes a file (`content`), or replaces the first `find` in it by `replace`."""

    path: str
    content: str | None = None
    find: str | None = None
    replace: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> "EditStep":
        if (self.content is None) == (self.find is None):
            raise ValueError("give either content, or find and replace")
        return self


class AttachStep(board_tools.AttachInput, ScenarioModel):
    """Gives people a text that is kept with the run."""


class ThreadStep(ScenarioModel):
    """Answers the review thread at `index`, each that `match` is found in, or the `others` of the turn."""

    say: str
    index: int | None = None
    match: str = ""
    others: bool = False
    addressed: bool = True

    _compiles = field_validator("match")(lambda given: _check_pattern(given))


class FinishStep(board_tools.FinishInput, ScenarioModel):
    """Ends the work with a report."""


class GoToStageStep(board_tools.GoToStageInput, ScenarioModel):
    """Hands the work to another stage."""


class ReferenceStep(board_tools.ReferenceInput, ScenarioModel):
    """A place in the repository."""


class FindingStep(board_tools.FindingInput, ScenarioModel):
    """One thing that was found."""

    references: tuple[ReferenceStep, ...] = ()


class FollowUpStep(board_tools.FollowUpInput, ScenarioModel):
    """A card to propose."""


class FindingsStep(board_tools.FindingsInput, ScenarioModel):
    """Ends an investigation."""

    findings: tuple[FindingStep, ...] = ()
    follow_ups: tuple[FollowUpStep, ...] = ()


class CreateCardStep(board_tools.CreateCardInput, ScenarioModel):
    """Proposes a card, here or in another repository."""


class FloodStep(ScenarioModel):
    """Writes that many bytes to stdout, in lines only if `newline`."""

    bytes: Annotated[int, Field(ge=0, le=2_000_000_000)]
    newline: bool = False


class UsageStep(ScenarioModel):
    """Reports one call of a model."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    usd: float = 0.0
    tokens_in: int = Field(0, alias="in")
    tokens_out: int = Field(0, alias="out")


class ScenarioStep(ScenarioModel):
    """One step: exactly one of these; with `when`, only where that is found in a review thread."""

    when: str | None = None
    say: str | None = None
    plan: PlanStep | None = None
    create_card: CreateCardStep | None = None
    tick: Annotated[int, Field(ge=0)] | None = None
    progress: str | None = None
    ask: AskStep | None = None
    edit: EditStep | None = None
    run: str | None = None
    commit: str | None = None
    sleep: Annotated[float, Field(ge=0, le=3600)] | None = None
    note: str | None = None
    thread: ThreadStep | None = None
    finish: FinishStep | None = None
    attach: AttachStep | None = None
    go_to_stage: GoToStageStep | None = None
    findings: FindingsStep | None = None
    block: str | None = None
    usage: UsageStep | None = None
    fail: Annotated[int, Field(ge=0, le=255)] | None = None
    crash: Literal[True] | None = None
    hang: Literal[True] | None = None
    flood: FloodStep | None = None
    garbage: Literal[True] | None = None

    _compiles = field_validator("when")(lambda given: _check_pattern(given))

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, given: Any) -> Any:
        return {given: True} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _exactly_one(self) -> "ScenarioStep":
        if len(self.model_fields_set - {"when"}) != 1:
            raise ValueError("a step is exactly one of " + ", ".join(STEP_KINDS))
        return self


STEP_KINDS = tuple(name for name in ScenarioStep.model_fields if name != "when")


def _check_pattern(given: str) -> str:
    try:
        re.compile(given)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return given


class Reply(ScenarioModel):
    """One rule of a chat: the first whose `when` (a regular expression) is found in the prompt answers."""

    say: str
    when: str = ""
    usd: float = 0.0

    _compiles = field_validator("when")(lambda given: _check_pattern(given))


class CardScene(ScenarioModel):
    """Another scenario of the same folder for the cards whose title has `title` (a regular expression)."""

    title: str
    scenario: str

    _compiles = field_validator("title")(lambda given: _check_pattern(given))


class Scenario(ScenarioModel):
    """The steps of each phase; a phase that is not named does nothing and ends.

    `stages` has the steps of each stage by its name; `verify-2` are the steps of its second time.
    `{{title}}` is the card's title and `{{slug}}` the same as a file name. `cards`: the first that fits a
    card's title is played instead, with the phases of this one that it does not name.
    """

    cards: list[CardScene] = []
    plan: list[ScenarioStep] = []
    redirect: list[ScenarioStep] = []
    work: list[ScenarioStep] = []
    stages: dict[str, list[ScenarioStep]] = {}
    investigate: list[ScenarioStep] = []
    repair: list[ScenarioStep] = []
    revise: list[ScenarioStep] = []
    heed: list[ScenarioStep] = []
    report: list[ScenarioStep] = []
    chat: list[Reply] = []


def find_scenario(folder: Path, name: str) -> Mapping[str, Any]:
    """Return the scenario of that name from `folder`, else the packaged one; its `cards` hold theirs whole.

    Raises ScenarioError.
    """
    scenario = dict(_find(folder, name))
    scenes = [
        {"title": scene["title"], "scenario": {**scenario, **_find(folder, scene["scenario"])}}
        for scene in scenario.pop("cards", [])
    ]
    return {**scenario, "cards": scenes} if scenes else scenario


def _find(folder: Path, name: str) -> Mapping[str, Any]:
    if not _NAME.fullmatch(name):
        raise ScenarioError(name, "a name has letters, digits, dots, dashes and underscores")
    for place in (folder, PACKAGED):
        path = place / f"{name}.yml"
        if path.is_file():
            return parse_scenario(name, path.read_bytes())
    known = sorted({path.stem for place in (folder, PACKAGED) for path in place.glob("*.yml")})
    raise ScenarioError(name, f"there is no such file; there are {', '.join(known)}")


def parse_scenario(name: str, text: bytes) -> Mapping[str, Any]:
    """Return the checked scenario as plain JSON values. Raises ScenarioError with the first problem."""
    if len(text) > _CAP_BYTES:
        raise ScenarioError(name, f"it is larger than {_CAP_BYTES} bytes")
    try:
        return Scenario.model_validate(yaml.safe_load(text) or {}).model_dump(
            mode="json", by_alias=True, exclude_unset=True
        )
    except yaml.YAMLError as error:
        raise ScenarioError(name, f"not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ScenarioError(name, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


class Scripted:
    """Speaks JSON lines with `runner/agents/scripted/player.py`; the model's name is the scenario's."""

    name = "scripted"
    version = VERSION
    secrets: tuple[str, ...] = ()
    trusted = True
    in_image, image = False, ""
    metering = contract.Metering.GATEWAY  # its scenario's figures cost nobody anything
    efforts: tuple[str, ...] = ()

    def models(self, wanted: str) -> tuple[str, ...]:
        return ()

    def provider(self, wanted: str) -> str:
        return ""

    def session_files(self, session_id: str) -> tuple[str, ...]:
        return (f"scripted-{session_id}.json",)

    def begin(self, task: contract.Task, layout: contract.Layout) -> "ScriptedDialogue":
        """Return the player with the scenario in its opening message. Raises ScenarioError."""
        scenario = find_scenario(task.scenarios, task.model)
        opening = {
            "phase": task.phase,
            "turn": task.turn,
            "run": task.run_id,
            "prompt": task.prompt,
            "answer": task.answer,
            "session": task.session_id,
            "home": layout.home,
            "repo": layout.repo,
            "version": VERSION,
            "threads": [
                {"thread_id": thread.thread_id, "path": thread.path, "text": thread.text}
                for thread in task.threads
            ],
            "scenario": scenario,
        }
        argv = (layout.python, "-I", "-S", "-B", f"{layout.player}/player.py")
        return ScriptedDialogue(contract.Command(argv, json_line(opening)))


@dataclass(frozen=True, slots=True)
class ScriptedDialogue(JsonLinesDialogue):
    """The dialogue with one player."""

    command: contract.Command

    def _events(self, said: Any) -> tuple[contract.AgentEvent, ...]:
        return (_event(said),)

    def reply(self, call_id: str, result: Mapping[str, object]) -> bytes | None:
        """Return the acknowledgement that the player waits for."""
        return json_line({"ack": call_id, "result": dict(result)})

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        return None

    def steer(self, text: str) -> bytes | None:
        """Return the message; the player hears it between two steps."""
        return json_line({"steer": text})

    def interrupt(self) -> bytes | None:
        """Return the interruption; a player that hangs ignores it."""
        return json_line({"interrupt": True})


def _event(said: Any) -> contract.AgentEvent:
    if "tool" in said and "input" in said:
        return check_call(str(said["id"]), str(said["tool"]), said["input"])
    match said["type"]:
        case "session":
            return contract.Session(str(said["session"])[:200], str(said["version"])[:50])
        case "say":
            return contract.Text(str(said["text"]))
        case "start":
            return contract.ToolStart(str(said["name"])[:60], str(said["summary"]))
        case "used":
            return contract.ToolEnd(str(said["name"])[:60], str(said["summary"]), bool(said["ok"]))
        case "usage":
            used = float(said["usd"]), int(said["in"]), int(said["out"]), int(said["turns"])
            return contract.SessionUsage(*used)
        case "end":
            return contract.TurnEnd(str(said.get("error", "")), said.get("session_gone") is True)
    raise ValueError("an unknown kind of message")


AGENT = Scripted()
