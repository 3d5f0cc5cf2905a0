"""Describes a program that speaks the Agent Client Protocol (ACP), and makes an agent of that description."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, JsonValue
from pydantic.dataclasses import dataclass

from ledger.model.policy_settings import EFFORTS
from runner.agents import contract
from runner.agents.acp.dialogue import AcpDialogue
from runner.agents.contract import Layout, Metering, Phase, Task
from runner.run.provider import SETTINGS


def _require_inside(path: str) -> str:
    if not path or path.startswith("/") or ".." in PurePosixPath(path).parts or path == ".":
        raise ValueError("must be a path inside the folder, without `..`")
    return path


def _dump_json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _leave_out(given: Any) -> Any:
    """Return what is written without the entries that mention an effort."""
    match given:
        case dict():
            return {name: _leave_out(value) for name, value in given.items() if not _mentions_effort(value)}
        case list():
            return [_leave_out(value) for value in given if not _mentions_effort(value)]
    return given


def _mentions_effort(value: object) -> bool:
    return isinstance(value, str) and _EFFORT in value


def _require_provider(name: str) -> str:
    if name and name not in SETTINGS:
        raise ValueError(f"is not a provider: one of {', '.join(SETTINGS)}")
    return name


def _require_effort(name: str) -> str:
    if name not in EFFORTS:
        raise ValueError(f"is not an effort: one of {', '.join(EFFORTS)}")
    return name


def _require(pattern: str, what: str) -> AfterValidator:
    """Return the validator of a text; `what` says in a sentence about it what it must be."""
    fits = re.compile(pattern).fullmatch

    def validate(text: str) -> str:
        if not fits(text):
            raise ValueError(f"must be {what}")
        return text

    return AfterValidator(validate)


def _require_words(*known: str) -> AfterValidator:
    """Return the validator of a text whose words in braces are all filled in."""

    def validate(text: str) -> str:
        if unknown := next((word for word in _BRACED.findall(text) if word not in known), ""):
            raise ValueError(f"has {unknown}, which nothing fills in: write {' or '.join(known)}")
        return text

    return AfterValidator(validate)


_EFFORT, _SESSION = "{effort}", "{session}"
VALUES = ("{gateway}", "{model}", "{home}", _EFFORT)
_BRACED = re.compile(r"\{[A-Za-z_]+\}")
_Inside = Annotated[str, AfterValidator(_require_inside)]
_Filled = Annotated[str, _require_words(*VALUES)]
_OfSession = Annotated[_Inside, _require_words(_SESSION)]
# Of a Docker image: what a policy may name is narrower, and this is the operator's own word.
_Image = Annotated[
    str, _require(r"([a-z0-9][a-zA-Z0-9._/:@-]{0,299})?", "an image's name, such as acme/agent-mine:latest")
]
# npm takes a name `a/b` for a repository; {arch} is the processor as Node calls it.
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_Package = Annotated[
    str,
    _require(
        rf"(npm:(@{_NAME}/)?{_NAME}(\{{arch\}})?|pypi:{_NAME})?",
        "npm:NAME, npm:@SCOPE/NAME or pypi:NAME, without a version",
    ),
]
_Debian = Annotated[str, _require(r"[a-z0-9][a-z0-9.+-]{0,99}", "the name of a package of Debian's")]
_Version = Annotated[
    str, _require(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,49}", "one exact version, such as 1.2.3, not a range")
]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class AcpProgram:
    """One program. `command`, `chat`, `env` and `files` hold {gateway}, {model}, {home} and {effort}.

    `efforts` are its own words for what a policy says about how much its model thinks; where nobody says it,
    what mentions {effort} is left out.
    `provider` is whose protocol it speaks with the gateway, empty for one that has a login of its own;
    `models` are what `default` and `small` mean to it.
    `chat` follows `command` where it may only answer. `clears` are paths of the home that are emptied before
    each start, each with patterns of what stays: an agent could leave settings there that are obeyed without
    asking. `files` are written into these folders then; what is not text is JSON there. `prepare` is a line
    of shell that follows, in the home.
    `sessions` are patterns of the files of a {session}. `hides` are files of the repository that the program
    would obey. `image` contains the program; empty: the agents' image. `package` is where the program comes
    from, `debian` what else its image needs.
    """

    name: str
    version: _Version
    command: Annotated[tuple[_Filled, ...], Field(min_length=1)]
    provider: Annotated[str, AfterValidator(_require_provider)]
    models: Mapping[str, str]
    about: str = ""
    efforts: Mapping[Annotated[str, AfterValidator(_require_effort)], str] = field(default_factory=dict)
    env: Mapping[str, _Filled] = field(default_factory=dict)
    chat: tuple[_Filled, ...] = ()
    files: Mapping[_Inside, JsonValue] = field(default_factory=dict)
    clears: Mapping[_Inside, tuple[_Inside, ...]] = field(default_factory=dict)
    prepare: str = ""
    sessions: tuple[_OfSession, ...] = ()
    hides: tuple[_Inside, ...] = ()
    metering: Metering = Metering.GATEWAY
    package: _Package = ""
    debian: tuple[_Debian, ...] = ()
    image: _Image = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """What `acp_start.py` prepares before it starts the program."""

    name: str
    repo: str
    home: str
    files: Mapping[str, str]
    clears: Mapping[str, tuple[str, ...]]
    hides: tuple[str, ...]
    prepare: str


class AcpAgent:
    """The adapter of a program that is described by data."""

    trusted, in_image = False, True

    def __init__(self, program: AcpProgram) -> None:
        self.program = program
        self.name, self.version, self.image = program.name, program.version, program.image
        self.secrets: tuple[str, ...] = (program.provider,) if program.provider else ()
        self.metering, self.efforts = program.metering, tuple(program.efforts)

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the one model that it asks for; a name that is not ours stays as it is."""
        return (self.program.models.get(wanted, wanted),)

    def provider(self, wanted: str) -> str:
        return self.program.provider

    def session_files(self, session_id: str) -> tuple[str, ...]:
        return tuple(pattern.replace(_SESSION, session_id) for pattern in self.program.sessions)

    def begin(self, task: Task, layout: Layout) -> contract.Dialogue:
        model = self.models(task.model)[0]
        by_program = self.program.metering is Metering.AGENT
        return AcpDialogue(task, layout, self._command(task, layout, model), model=model, meters=by_program)

    def _command(self, task: Task, layout: Layout, model: str) -> contract.Command:
        """Return the start of the program, without the dialogue's first message."""
        program = self.program
        effort = program.efforts.get(task.effort, "")
        values = dict(zip(VALUES, (layout.gateway, model, layout.home, effort), strict=True))

        def fill(text: str) -> str:
            for name, value in values.items():
                text = text.replace(name, value)
            return text

        def choose(given: Any) -> Any:
            return given if effort else _leave_out(given)

        written = choose(dict(program.files))
        files = {name: fill(_dump_json(value)) for name, value in written.items()}
        setup = Setup(
            name=program.name,
            repo=layout.repo,
            home=layout.home,
            files=files,
            clears=program.clears,
            hides=program.hides,
            prepare=program.prepare,
        )
        chat = program.chat if task.phase is Phase.CHAT else ()
        # The launcher has a second file beside it, so the interpreter may look there.
        start = (layout.python, "-E", "-s", "-S", "-B", f"{layout.player}/acp_start.py")
        argv = (*start, json.dumps(asdict(setup)), *map(fill, choose([*program.command, *chat])))
        env = {name: fill(text) for name, text in choose(dict(program.env)).items()}
        needs_board = task.phase is not Phase.CHAT
        return contract.Command(argv, b"", env, hides=program.hides, needs_board=needs_board, steers=False)
