"""The contract of an agent: its start, its output, and the replies, messages and interruptions that it gets.

An agent has no I/O of its own: the supervisor starts its command, reads its lines and writes its bytes. One
process plays one phase; the session continues. A dialogue is one such process's protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from ledger.rows.threads import ThreadRow
from runner.agents.board_tools import BadCall, BoardCall
from runner.run.run_spec import ToolSpec


class Phase(StrEnum):
    """The purpose of an agent's process."""

    PLAN = "plan"  # read-only: propose a plan
    INVESTIGATE = "investigate"  # read-only, as every turn of such a run: find out and report
    REDIRECT = "redirect"  # read-only: another plan, after a person's words
    WORK = "work"
    STAGE = "stage"  # one stage of a staged run, in a session of its own
    REVISE = "revise"  # a new run on a branch that people reviewed
    ANSWER = "answer"  # go on after a question was answered
    REPAIR = "repair"  # validation failed
    HEED = "heed"  # people answered a question of Cardinal's own in words
    REPORT = "report"  # it stopped without saying how it ended
    CHAT = "chat"  # one reply without tools and workspace


READ_ONLY = frozenset({Phase.PLAN, Phase.REDIRECT})


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are for a command inside a workspace; `player` is the folder of Cardinal's own programs.

    `gateway` is the address of the models and the board tools, `proxy` that of the network, `certificates`
    the file of the authorities to trust there; all are empty where a workspace has no gateway. `skills` has
    the files of the run's skills, to read only.
    """

    repo: str
    home: str
    out: str
    python: str
    player: str
    gateway: str = ""
    proxy: str = ""
    skills: str = ""
    certificates: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One phase to play. `turn` names the piece of work: the same name again means that it is taken up
    again.
    """

    phase: Phase
    turn: str
    prompt: str
    run_id: str
    session_id: str
    model: str
    read_only: bool
    max_turns: int
    budget_usd: float
    scenarios: Path
    answer: str = ""
    threads: tuple[ThreadRow, ...] = ()
    tools: ToolSpec = field(default_factory=ToolSpec)
    granted: tuple[str, ...] = ()  # commands that people allowed, each that very one
    allowed: tuple[str, ...] = ()  # patterns that people allowed
    refused: tuple[str, ...] = ()  # commands that people did not allow in this run
    investigates: bool = False  # the whole run reads only, and ends with findings
    effort: str = ""  # one of the agent's `efforts`; empty for the model's own


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start inside a workspace. `opening` is written to its stdin, which stays open until the
    turn ends if `listens`. `hides` are folders and files of the repository that the program must not see.
    `needs_board`: a turn in which it never asks the gateway for the board's tools has failed. `steers`: it
    takes people's messages while it works; else they wait until its answer ends.

    Never a secret in `env`: the model's shell gets the whole environment of its agent.
    """

    argv: tuple[str, ...]
    opening: bytes
    env: Mapping[str, str] = field(default_factory=dict)
    listens: bool = True
    hides: tuple[str, ...] = ()
    needs_board: bool = False
    steers: bool = True


@dataclass(frozen=True, slots=True)
class Session:
    """The agent told its resumable identity and its version."""

    session_id: str
    version: str


@dataclass(frozen=True, slots=True)
class Text:
    """The agent said something; in a chat the parts together are the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStart:
    """The agent began to use a tool of its own: a sign of life."""

    tool: str
    summary: str


@dataclass(frozen=True, slots=True)
class ToolEnd:
    """The agent used a tool of its own."""

    tool: str
    summary: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage since the last such event; `turns` are calls of the model."""

    usd: float
    input_tokens: int
    output_tokens: int
    turns: int = 1


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """Usage of the session in this run so far, by its agent's word; what the ledger lacks of it is new."""

    usd: float
    input_tokens: int
    output_tokens: int
    turns: int


@dataclass(frozen=True, slots=True)
class TodoShown:
    """The agent's own to-do list: texts, each with whether it is done."""

    items: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """The agent may not use a tool unless it is permitted; it waits. `kind`: read, edit, run, board or
    other. `command` is the shell line of a `run`, the path of an `edit`.
    """

    ask_id: str
    kind: str
    tool: str
    command: str


@dataclass(frozen=True, slots=True)
class Send:
    """The protocol wants these bytes on the agent's stdin now."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The agent is done with this phase; `error` is empty when it thinks that all went well.

    `session_gone`: it did not begin, since it does not know the session of its task.
    """

    error: str
    session_gone: bool = False


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that means nothing: kept for the debug log, never an error."""

    text: str


AgentEvent = (
    Session
    | Text
    | ToolStart
    | ToolEnd
    | TodoShown
    | BoardCall
    | BadCall
    | PermissionAsked
    | Usage
    | SessionUsage
    | Send
    | TurnEnd
    | Noise
)


class Dialogue(Protocol):
    """The protocol with one process of an agent, for one task; it holds state, and no I/O."""

    @property
    def command(self) -> Command:
        """The program to start."""

    def decode(self, line: str) -> tuple[AgentEvent, ...]:
        """Return the events of a line of its stdout; never raises, whatever the line holds."""

    def reply(self, call_id: str, result: Mapping[str, object]) -> bytes | None:
        """Return the answer to a board call that came by stdout, or None when there is no such thing."""

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return the answer to a PermissionAsked; `why` is the reason for the agent."""

    def steer(self, text: str) -> bytes | None:
        """Return a running turn's input for a person's message; None: the message waits for the next turn."""

    def interrupt(self) -> bytes | None:
        """Return the input that asks the agent to stop; None: there is none."""


class Metering(StrEnum):
    """Who counts what an agent's model calls cost."""

    GATEWAY = "gateway"
    AGENT = "agent"  # the agent's own word: nothing outside it can check that


class AgentAdapter(Protocol):
    """One kind of coding agent: `AGENT` of `runner/agents/adapters/<agent>.py`. It has no state.

    `secrets` are the providers (anthropic, openai, compatible, subscription) whose keys a gateway needs to
    pay for it; the keys never enter a workspace, and an agent without any needs no gateway.
    """

    name: str  # of its folder
    version: str  # the exact one of its program that it was made for; never empty
    secrets: tuple[str, ...]
    trusted: bool  # it may run without a sandbox: only a program that cannot be talked into anything
    in_image: bool  # its program is in an image; else it comes with Cardinal, to every workspace
    metering: Metering
    efforts: tuple[str, ...]  # how much its model may be told to think, of low, medium and high
    image: str = ""  # that contains its program, where the policy names none; empty: the agents' image

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the models that it asks its provider for when the policy says `wanted` (`default`, `small`
        or a model's own name); the main one first.
        """

    def provider(self, wanted: str) -> str:
        """Return which of anthropic, openai and compatible it asks for those models; empty for none."""

    def session_files(self, session_id: str) -> tuple[str, ...]:
        """Return shell patterns of the files in the home that are this session: nothing but its memory.

        Never settings or credentials. `session_id` is of letters, digits, `-` and `_`.
        """

    def begin(self, task: Task, layout: Layout) -> Dialogue:
        """Return the protocol for `task`. Raises RunnerError when it cannot be played."""
