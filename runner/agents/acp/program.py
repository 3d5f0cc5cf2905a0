"""Describes a program that speaks the Agent Client Protocol (ACP), and makes an agent of that description."""

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.dataclasses import dataclass

from runner.agents import contract
from runner.agents.acp.dialogue import AcpDialogue
from runner.agents.contract import Layout, Metering, Phase, Task
from runner.run.provider import SETTINGS


def _require_inside(path: str) -> str:
    if not path or path.startswith("/") or ".." in PurePosixPath(path).parts or path == ".":
        raise ValueError("must be a path inside the folder, without `..`")
    return path


def _require_file_name(name: str) -> str:
    if "/" in _require_inside(name):
        raise ValueError("must be the name of a file, without a folder")
    return name


def _dump_json(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def _require_provider(name: str) -> str:
    if name and name not in SETTINGS:
        raise ValueError(f"is not a provider: one of {', '.join(SETTINGS)}")
    return name


_Inside = Annotated[str, AfterValidator(_require_inside)]
_Text = Annotated[str, BeforeValidator(_dump_json)]
# Of a Docker image: what a policy may name is narrower, and this is the operator's own word.
_Image = Annotated[str, StringConstraints(pattern=r"^([a-z0-9][a-zA-Z0-9._/:@-]{0,299})?$")]
# `npm:`, and the name there; {arch} is the processor as Node calls it.
_PACKAGE = r"^(npm:@?[A-Za-z0-9][A-Za-z0-9._/-]{0,199}(\{arch\})?)?$"
_Package = Annotated[str, StringConstraints(pattern=_PACKAGE)]
_Debian = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]{0,99}$")]
_Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,49}$")]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class AcpProgram:
    """One program. In `command`, `chat`, `env` and `files`, {gateway}, {model} and {home} are filled in.

    `provider` is whose protocol it speaks with the gateway, empty for one that has a login of its own;
    `models` are what `default` and `small` mean to it.
    `chat` follows `command` where it may only answer. `files` are written to a folder of the turn, {files};
    what is not text is JSON there. `clears` are paths of the home that are emptied before each start, each
    with patterns of what stays: an agent could leave settings there that are obeyed without asking.
    `sessions` are patterns of the files of a {session}. `hides` are files of the repository that the program
    would obey. `image` contains the program; empty: the agents' image. `package` is where the program comes
    from, `debian` what else its image needs.
    """

    name: str
    version: _Version
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    provider: Annotated[str, AfterValidator(_require_provider)]
    models: Mapping[str, str]
    about: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    chat: tuple[str, ...] = ()
    files: Mapping[Annotated[str, AfterValidator(_require_file_name)], _Text] = field(default_factory=dict)
    clears: Mapping[_Inside, tuple[_Inside, ...]] = field(default_factory=dict)
    sessions: tuple[_Inside, ...] = ()
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


class AcpAgent:
    """The adapter of a program that is described by data."""

    trusted, in_image = False, True
    efforts: tuple[str, ...] = ()

    def __init__(self, program: AcpProgram) -> None:
        self.program = program
        self.name, self.version, self.image = program.name, program.version, program.image
        self.secrets: tuple[str, ...] = (program.provider,) if program.provider else ()
        self.metering = program.metering

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the one model that it asks for; a name that is not ours stays as it is."""
        return (self.program.models.get(wanted, wanted),)

    def provider(self, wanted: str) -> str:
        return self.program.provider

    def session_files(self, session_id: str) -> tuple[str, ...]:
        return tuple(pattern.replace("{session}", session_id) for pattern in self.program.sessions)

    def begin(self, task: Task, layout: Layout) -> contract.Dialogue:
        model = self.models(task.model)[0]
        by_program = self.program.metering is Metering.AGENT
        return AcpDialogue(task, layout, self._command(task, layout, model), model=model, meters=by_program)

    def _command(self, task: Task, layout: Layout, model: str) -> contract.Command:
        """Return the start of the program, without the dialogue's first message."""
        program = self.program
        values = {"{gateway}": layout.gateway, "{model}": model, "{home}": layout.home}

        def fill(text: str) -> str:
            for name, value in values.items():
                text = text.replace(name, value)
            return text

        files = {name: fill(text) for name, text in program.files.items()}
        setup = Setup(program.name, layout.repo, layout.home, files, program.clears, program.hides)
        chat = program.chat if task.phase is Phase.CHAT else ()
        # The launcher has a second file beside it, so the interpreter may look there.
        start = (layout.python, "-E", "-s", "-S", "-B", f"{layout.player}/acp_start.py")
        argv = (*start, json.dumps(asdict(setup)), *map(fill, (*program.command, *chat)))
        env = {name: fill(text) for name, text in program.env.items()}
        needs_board = task.phase is not Phase.CHAT
        return contract.Command(argv, b"", env, hides=program.hides, needs_board=needs_board)
