"""One bounded call of an agent without tools or workspace: the planning assistant and `ai_task`."""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from ledger.ids import CardId, RunId
from runner import agents, workspaces
from runner.agents import contract
from runner.errors import CommandTimeoutError, RunnerError, UnsandboxedError
from runner.exec.child import BEAT_S, Child
from runner.exec.stream import Heard, Line
from runner.gateway.control.claim import drain_usage, gateway_for
from runner.gateway.control.link import Gateway
from runner.gateway.control.messages import CallRefusal, ProviderFailure, believable
from runner.gateway.control.terms import Terms
from runner.run.provider import Provider
from runner.run.run_spec import HostPaths
from runner.text.plain import cut_bytes, redact
from runner.workspaces.contract import Tenancy, Workspace

MAX_USD = 1.0  # for one answer
_ANSWER_BYTES = 16_000
_OUTPUT_BYTES = 4_000_000
Write = Callable[[bytes], object]


class ChatError(RunnerError):
    """The agent gave no answer."""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The answer with its cost; `tokens` are input and output together."""

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
    allow_unsandboxed: bool = False,
    providers: Mapping[str, Provider] | None = None,
    effort: str = "",
) -> ChatAnswer:
    """Return the agent's answer to `prompt`, from a workspace that is removed afterwards.

    Raises CommandTimeoutError, ChatError when it fails or gives no answer, UnknownPartError, BackendError,
    ScenarioError, SpawnError or UnsandboxedError.
    """
    player = agents.load(agent, places.agents)
    workspaces.require_program(player, workspace)
    name = f"chat-{uuid.uuid4().hex}"
    room = workspaces.load(workspace).open(places, Tenancy(CardId(name), RunId(name), image=player.image))
    task = contract.Task(
        phase=contract.Phase.CHAT,
        turn="chat",
        prompt=prompt,
        run_id=name,
        session_id="",
        model=model,
        read_only=True,
        max_turns=1,
        budget_usd=MAX_USD,
        scenarios=places.scenarios,
        effort=effort if effort in player.efforts else "",
    )
    try:
        if room.locked and not (player.trusted or allow_unsandboxed):
            raise UnsandboxedError(player.name, room.locked)
        with gateway_for(player, Terms(player.models(model)), places, name, providers or {}) as gateway:
            return _ask(player, task, room, gateway, timeout_s)
    finally:
        room.destroy()


def _ask(
    player: contract.AgentAdapter,
    task: contract.Task,
    workspace: Workspace,
    gateway: Gateway | None,
    timeout_s: float,
) -> ChatAnswer:
    dialogue = player.begin(task, workspace.layout)
    if gateway is not None:
        gateway.open(turn=task.turn, usd_left=task.budget_usd, tools=())
    child = workspace.start(
        dialogue.command.argv,
        env=dialogue.command.env,
        writable=False,
        cap_bytes=_OUTPUT_BYTES,
        gateway=gateway.folder if gateway is not None else None,
        side_channel=gateway.fileno() if gateway is not None else None,
    )
    listener = _Listener(dialogue, child.write, gateway)
    try:
        child.write(dialogue.command.opening)
        if not dialogue.command.listens:
            child.end_input()
        _listen(child, listener, timeout_s)
    finally:
        child.close()
        for message in drain_usage(gateway) if gateway is not None else ():
            listener.overhear(message)
    return listener.answer()


class _Listener:
    """Collects one answer from the agent's output, and its cost from the gateway's messages."""

    def __init__(self, dialogue: contract.Dialogue, write: Write, gateway: Gateway | None) -> None:
        self._dialogue, self._write, self._gateway = dialogue, write, gateway
        self._said: list[str] = []
        self._errors, self._refused, self._usd, self._tokens = "", "", 0.0, 0
        self._end: contract.TurnEnd | None = None

    def take(self, piece: Heard) -> bool:
        """Take one piece of output; True once the agent is done. Raises ChatError at an early end."""
        if not isinstance(piece, Line):
            if self._end is None:
                raise ChatError(f"the agent ended without an answer: {redact(self._errors)[-300:]}")
        elif piece.is_message:
            self.overhear(piece.text)
        elif piece.error:
            self._errors = (self._errors + piece.text)[-1000:]
        else:
            for event in self._dialogue.decode(piece.text):
                self._react(event)
        return self._end is not None

    def overhear(self, message: str) -> None:
        for event in self._gateway.decode(message) if self._gateway is not None else ():
            if isinstance(event, contract.Usage):
                self._meter(event)
            elif isinstance(event, CallRefusal | ProviderFailure):
                self._refused = event.detail

    def answer(self) -> ChatAnswer:
        """Return the answer. Raises ChatError when there is none."""
        error = self._end.error if self._end else ""
        if error or not self._said:
            cause = redact(self._refused or error)[:300]
            raise ChatError(": ".join(filter(None, ("the agent gave no answer", cause))))
        return ChatAnswer(cut_bytes(redact("\n".join(self._said)), _ANSWER_BYTES), self._usd, self._tokens)

    def _react(self, event: contract.AgentEvent) -> None:
        match event:
            case contract.Text(text=text):
                self._said.append(text)
            case contract.Usage():
                self._meter(event)
            case contract.SessionUsage():  # a chat is the whole of its session
                self._meter(contract.Usage(**asdict(event)))
            case contract.Send(data=data):
                self._write(data)
            case contract.PermissionAsked(ask_id=ask_id):
                refusal = self._dialogue.permit(ask_id, allowed=False, why="this is a chat: only answer")
                self._write(refusal or b"")
            case contract.TurnEnd():
                self._end = self._end or event

    def _meter(self, usage: contract.Usage) -> None:
        used = believable(usage)
        self._usd += used.usd
        self._tokens += used.input_tokens + used.output_tokens


def _listen(child: Child, listener: _Listener, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        # What came together is read: behind the agent's end, the gateway says what it cost.
        if any([listener.take(piece) for piece in child.hear(BEAT_S)]):
            return
    raise CommandTimeoutError("the assistant", timeout_s)
