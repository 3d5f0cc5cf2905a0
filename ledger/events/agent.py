"""Observations of an agent other than its words: its own list, tools it wanted, hosts it reached."""

from dataclasses import dataclass

from ledger.event import RuleEvent, Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.ids import QuestionId


@dataclass(frozen=True, slots=True)
class TodoListed(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True):
    """The agent's own to-do list, as it stands now; `done` has one entry for each item."""

    items: tuple[str, ...]
    done: tuple[bool, ...]

    def describe(self) -> str:
        return f"its own list: {sum(self.done)} of {len(self.items)} done"


@dataclass(frozen=True, slots=True)
class SessionLost(RunEvent, shows_payload=True, section="faults"):
    """The session cannot go on: the workspace that held it is gone. The agent begins anew."""

    session_id: str


@dataclass(frozen=True, slots=True)
class PermissionAwaited(RunEvent, shows_payload=True):
    """The question of that id asks whether the agent may use a tool; `command` is the command to run, or the
    path to edit.
    """

    question_id: QuestionId
    tool: str
    command: str


@dataclass(frozen=True, slots=True)
class PermissionRefused(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="may not use {tool}: {command} ({why})",
    shows_payload=True,
    section="refused",
):
    """The policy refused the agent a tool at once; `why` names the rule."""

    tool: str
    command: str
    why: str


@dataclass(frozen=True, slots=True)
class ToolAllowed(
    RunEvent, zoom=Zoom.CONVERSATION, line="{by} allowed for this card: {pattern}", shows_payload=True
):
    """A person allowed the agent a command for the whole card, not only once."""

    pattern: str
    by: str


@dataclass(frozen=True, slots=True)
class CardToolAllowed(
    CardEvent,
    RuleEvent,
    zoom=Zoom.CONVERSATION,
    line="{by} allowed for this card: {pattern}",
    is_audited=True,
):
    """A person allowed the agents of a card all uses that match `pattern`, unasked."""

    pattern: str
    by: str


@dataclass(frozen=True, slots=True)
class ProviderFailed(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True, section="faults"):
    """A model call failed at its provider; `status` is HTTP's, 0 when no answer came. `in_a_row` counts
    without a success between.
    """

    provider: str
    status: int
    detail: str
    in_a_row: int

    def describe(self) -> str:
        what = f"answered {self.status}" if self.status else "did not answer"
        again = f", {self.in_a_row} times in a row" if self.in_a_row > 1 else ""
        return f"the model's provider {what}{again}: {self.detail}"


@dataclass(frozen=True, slots=True)
class CallRefused(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="a model call was refused ({kind}): {detail}",
    shows_payload=True,
    section="faults",
):
    """The gateway refused a model call. `kind`: budget, model, rate, closed or key."""

    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class HostReached(RunEvent, shows_payload=True):
    """A command in the workspace asked for a host of the network; `why` says by which rule it was refused."""

    host: str
    port: int
    allowed: bool
    why: str

    def describe(self) -> str:
        return f"{'reached' if self.allowed else 'was kept from'} {self.host}:{self.port} ({self.why})"


@dataclass(frozen=True, slots=True)
class SecretSent(RunEvent, line="{host} got the secret {name}: {times} times", shows_payload=True):
    """Requests to a host went out with the operator's secret of that name, so many times."""

    host: str
    name: str
    times: int


@dataclass(frozen=True, slots=True)
class ToolServerCalled(
    RunEvent,
    line="{server}__{tool}: {outcome} after {duration_ms} ms, {output_bytes} bytes",
    shows_payload=True,
):
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
class ToolServerFailed(
    RunEvent, zoom=Zoom.ACTIVITY, line="tool server {server}: {detail}", shows_payload=True, section="faults"
):
    """A tool server does not behave as the policy says; `detail` is partly in its own words."""

    server: str
    detail: str
