"""Describes a program that speaks the Agent Client Protocol (ACP), and makes an agent of that description."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from runner.agents import contract
from runner.agents.acp.dialogue import AcpDialogue
from runner.agents.contract import Layout, Metering, Phase, Task

NO_KEY = "cardinal-gateway"  # where a key would be: the gateway knows the real one


@dataclass(frozen=True, slots=True)
class AcpProgram:
    """One program. In `argv`, `env` and `files`, {gateway}, {model} and {home} are filled in.

    `provider` is whose protocol it speaks with the gateway, empty for one that has a login of its own;
    `models` are what `default` and `small` mean to it.
    `chat_argv` follows `argv` where it may only answer. `files` are written to a folder of the turn, {files}.
    `clears` are paths of the home that are emptied before each start, each with patterns of what stays: an
    agent could leave settings there that are obeyed without asking. `sessions` are patterns of the files of
    a {session}. `hides` are files of the repository that the program would obey.
    """

    name: str
    version: str
    argv: tuple[str, ...]
    provider: str
    models: Mapping[str, str]
    env: Mapping[str, str] = field(default_factory=dict)
    chat_argv: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    clears: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sessions: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    metering: Metering = Metering.GATEWAY
    in_image: bool = True


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

    trusted = False
    efforts: tuple[str, ...] = ()

    def __init__(self, program: AcpProgram) -> None:
        self.program = program
        self.name, self.version, self.in_image = program.name, program.version, program.in_image
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
        chat = program.chat_argv if task.phase is Phase.CHAT else ()
        # The launcher has a second file beside it, so the interpreter may look there.
        start = (layout.python, "-E", "-s", "-S", "-B", f"{layout.player}/acp_start.py")
        argv = (*start, json.dumps(asdict(setup)), *map(fill, (*program.argv, *chat)))
        env = {name: fill(text) for name, text in program.env.items()}
        needs_board = task.phase is not Phase.CHAT
        return contract.Command(argv, b"", env, hides=program.hides, needs_board=needs_board)
