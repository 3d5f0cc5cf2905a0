"""Observations of an agent other than its words: its own list, tools it wanted, hosts it reached."""

from dataclasses import dataclass

from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.ids import QuestionId


@dataclass(frozen=True, slots=True)
class TodoListed(RunEvent):
    """The agent's own to-do list, as it stands now; `done` has one entry for each item."""

    items: tuple[str, ...]
    done: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class SessionLost(RunEvent):
    """The session cannot go on: the workspace that held it is gone. The agent begins anew."""

    session_id: str


@dataclass(frozen=True, slots=True)
class PermissionAwaited(RunEvent):
    """The question of that id asks whether the agent may use a tool; `command` is the command to run, or the
    path to edit.
    """

    question_id: QuestionId
    tool: str
    command: str


@dataclass(frozen=True, slots=True)
class PermissionRefused(RunEvent):
    """The policy refused the agent a tool at once; `why` names the rule."""

    tool: str
    command: str
    why: str


@dataclass(frozen=True, slots=True)
class ToolAllowed(RunEvent):
    """A person allowed the agent a command for the whole card, not only once."""

    pattern: str
    by: str


@dataclass(frozen=True, slots=True)
class CardToolAllowed(CardEvent):
    """A person allowed the agents of a card all uses that match `pattern`, unasked."""

    pattern: str
    by: str


@dataclass(frozen=True, slots=True)
class ProviderFailed(RunEvent):
    """A model call failed at its provider; `status` is HTTP's, 0 when no answer came. `in_a_row` counts
    without a success between.
    """

    provider: str
    status: int
    detail: str
    in_a_row: int


@dataclass(frozen=True, slots=True)
class CallRefused(RunEvent):
    """The gateway refused a model call. `kind`: budget, model, rate, closed or key."""

    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class HostReached(RunEvent):
    """A command in the workspace asked for a host of the network; `why` says by which rule it was refused."""

    host: str
    port: int
    allowed: bool
    why: str


@dataclass(frozen=True, slots=True)
class SecretSent(RunEvent):
    """Requests to a host went out with the operator's secret of that name, so many times."""

    host: str
    name: str
    times: int


@dataclass(frozen=True, slots=True)
class ToolServerCalled(RunEvent):
    """The agent called a tool of a tool server. `outcome`: ok, error, timeout, gone or refused.

    Input and output are in no event: only their sizes, as JSON and as text.
    """

    server: str
    tool: str
    duration_ms: int
    input_bytes: int
    output_bytes: int
    outcome: str


@dataclass(frozen=True, slots=True)
class ToolServerFailed(RunEvent):
    """A tool server does not behave as the policy says; `detail` is partly in its own words."""

    server: str
    detail: str
