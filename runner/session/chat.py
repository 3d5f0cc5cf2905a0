"""One bounded call of an agent without tools or workspace: the planning assistant and `ai_task`."""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ledger.ids import CardId, RunId
from runner import agents, workspaces
from runner.agents.contract import (
    Agent,
    AgentEvent,
    Dialogue,
    PermissionAsked,
    Phase,
    Send,
    Task,
    Text,
    TurnEnd,
    Usage,
)
from runner.agents.usage import believable
from runner.errors import BackendError, CommandTimeoutError, RunnerError, UnsandboxedError
from runner.exec.child import BEAT_S, Child
from runner.exec.stream import Heard, Line
from runner.gateway.control.claim import gateway_for, settle
from runner.gateway.control.link import Gateway
from runner.gateway.control.messages import CallRefusal, ProviderFailure
from runner.run.run_spec import HostPaths, Provider, ToolSpec
from runner.text.redact import redact
from runner.text.truncate import cut
from runner.workspaces.contract import Tenancy, Workspace

MAX_USD = 1.0  # for one answer
_ANSWER_BYTES = 16_000
_OUTPUT_BYTES = 4_000_000
Write = Callable[[bytes], object]


class ChatError(RunnerError):
    """The agent gave no answer."""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What it said, and what that cost; `tokens` are read and written ones together."""

    text: str
    usd: float
    tokens: int


def ask_once(
    agent: str,
    prompt: str,
    *,
    model: str,
    places: HostPaths,
    timeout_s: float,
    workspace: str = "local",
    image: str = "",
    allow_unsandboxed: bool = False,
    providers: Mapping[str, Provider] | None = None,
) -> ChatAnswer:
    """Return the agent's answer to `prompt`, from a place that is thrown away afterwards.

    Raises CommandTimeoutError, ChatError when it fails or says nothing, UnknownPartError, BackendError,
    ScenarioError, SpawnError or UnsandboxedError.
    """
    player = agents.load(agent)
    if workspace not in player.backends:
        raise BackendError(player.name, workspace, player.backends)
    name = f"chat-{uuid.uuid4().hex}"
    room = workspaces.load(workspace).open(places, Tenancy(CardId(name), RunId(name), image=image))
    task = Task(
        phase=Phase.CHAT,
        turn="chat",
        prompt=prompt,
        run_id=name,
        session_id="",
        model=model,
        read_only=True,
        max_turns=1,
        budget_usd=MAX_USD,
        scenarios=places.scenarios,
    )
    try:
        if room.locked and not (player.trusted or allow_unsandboxed):
            raise UnsandboxedError(player.name, room.locked)
        granted = gateway_for(
            player,
            ToolSpec(),
            places,
            name,
            models=player.models(model),
            private_hosts=(),
            providers=providers or {},
        )
        with granted as gateway:
            return _ask(player, task, room, gateway, timeout_s)
    finally:
        room.destroy()


def _ask(player: Agent, task: Task, room: Workspace, gateway: Gateway | None, timeout_s: float) -> ChatAnswer:
    dialogue = player.begin(task, room.layout)
    if gateway is not None:
        gateway.open(turn=task.turn, usd_left=task.budget_usd, tools=())
    child = room.start(
        dialogue.command.argv,
        env=dialogue.command.env,
        writable=False,
        cap_bytes=_OUTPUT_BYTES,
        gateway=gateway.folder if gateway is not None else None,
        beside=gateway.fileno() if gateway is not None else None,
    )
    listener = _Listener(dialogue, child.write, gateway)
    try:
        child.write(dialogue.command.opening)
        _listen(child, listener, timeout_s)
    finally:
        child.close()
        for message in settle(gateway) if gateway is not None else ():
            listener.overhear(message)
    return listener.answer()


class _Listener:
    """Collects one answer from what the agent says, and what it cost from what its gateway says."""

    def __init__(self, dialogue: Dialogue, write: Write, gateway: Gateway | None) -> None:
        self._dialogue, self._write, self._gateway = dialogue, write, gateway
        self._said: list[str] = []
        self._errors, self._refused, self._usd, self._tokens = "", "", 0.0, 0
        self._end: TurnEnd | None = None

    def take(self, heard: Heard) -> bool:
        """Take in what was heard; True once the agent is done. Raises ChatError when it ended without."""
        if not isinstance(heard, Line):
            raise ChatError(f"the agent ended without an answer: {redact(self._errors)[-300:]}")
        if heard.beside:
            self.overhear(heard.text)
        elif heard.error:
            self._errors = (self._errors + heard.text)[-1000:]
        else:
            for event in self._dialogue.decode(heard.text):
                self._react(event)
        return self._end is not None

    def overhear(self, message: str) -> None:
        """Take in one message of the gateway."""
        for event in self._gateway.decode(message) if self._gateway is not None else ():
            if isinstance(event, Usage):
                self._meter(event)
            elif isinstance(event, CallRefusal | ProviderFailure):
                self._refused = event.detail

    def answer(self) -> ChatAnswer:
        """Return the answer. Raises ChatError when there is none."""
        error = self._end.error if self._end else ""
        if error or not self._said:
            raise ChatError(f"the agent gave no answer: {redact(self._refused or error)[:300]}")
        return ChatAnswer(cut(redact("\n".join(self._said)), _ANSWER_BYTES), self._usd, self._tokens)

    def _react(self, event: AgentEvent) -> None:
        match event:
            case Text(text=text):
                self._said.append(text)
            case Usage():
                self._meter(event)
            case Send(data=data):
                self._write(data)
            case PermissionAsked(ask_id=ask_id):
                refusal = self._dialogue.permit(ask_id, allowed=False, why="this is a chat: only answer")
                self._write(refusal or b"")
            case TurnEnd():
                self._end = self._end or event

    def _meter(self, told: Usage) -> None:
        used = believable(told)
        self._usd += used.usd
        self._tokens += used.input_tokens + used.output_tokens


def _listen(child: Child, listener: _Listener, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        for heard in child.hear(BEAT_S):
            if listener.take(heard):
                return
    raise CommandTimeoutError("the assistant", timeout_s)
