"""The turns of a run: each start of its agent, its calls, and the end of the turn."""

from dataclasses import dataclass

from ledger.events.run import RunEvent

SUBSCRIPTION = "subscription"  # the payer with which dollars are an estimate
OWN_LOGIN = "agent"  # the agent's program has a login of its own: its dollars are what it reports


@dataclass(frozen=True, slots=True)
class TurnStarted(RunEvent, shows_payload=True, affects_dispatch=False, changes_workspace=True):
    """The agent's program was started. `phase`: plan, redirect, work, stage, answer, repair, revise, heed
    or report.

    `turn` names the piece of work; it stays the same when that piece is taken up again after a crash or an
    answer. `payer` is the provider that is paid for its models: anthropic, vertex, subscription, …, or
    agent for a program with a login of its own; empty where none is, and in events of an older Cardinal.
    """

    phase: str
    turn: str
    session_id: str
    payer: str = ""


@dataclass(frozen=True, slots=True)
class BoardToolCalled(RunEvent, shows_payload=True, changes_workspace=True):
    """The agent called a board tool: written together with its effect, so the same call is never obeyed
    twice.

    `body` is the call's input as JSON, checked and redacted.
    """

    session_id: str
    call_id: str
    tool: str
    body: str


@dataclass(frozen=True, slots=True)
class SteeringHeard(RunEvent):
    """The agent was given people's messages of these comments."""

    comment_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TurnEnded(RunEvent, shows_payload=True, changes_workspace=True):
    """The agent's program ended. `outcome`: done, asked, stopped or broken; a negative code is a signal."""

    turn: str
    outcome: str
    exit_code: int
    stopped_in_s: float
