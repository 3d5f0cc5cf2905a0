"""Messages of a gateway to its supervisor, as datagrams."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from runner.agents.board_tools import BadCall, BoardCall, check_call
from runner.agents.contract import Usage
from runner.text.plain import one_line

_MAX_USD, _MAX_TOKENS, _MAX_TURNS = 1e6, 10**12, 10**6  # at once
MESSAGE_BYTES = 60_000  # of one datagram, both ways
_DETAIL_BYTES = 600


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A provider failed to answer a call; `status` is 0 without any answer.

    `final`: no further call is made in this turn, so the run cannot go on; `detail` has the next step.
    """

    provider: str
    status: int
    detail: str
    in_a_row: int
    final: bool


@dataclass(frozen=True, slots=True)
class CallRefusal:
    """The gateway refused or cut a call.

    `kind`: budget, tokens, model, rate, closed, key, size, request or network. `request` is an
    unreadable one; `network`: the provider would have reached out. `needs_usd`: dollars that must be left.
    """

    kind: str
    detail: str
    needs_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A request for a host; `why` names the rule that decided."""

    host: str
    port: int
    allowed: bool
    why: str


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A request to a host went out with the secret of that name."""

    host: str
    secret: str


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning for people that stops nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Answering:
    """An answer is growing: a sign of life of an agent that is silent until it has all of it."""


@dataclass(frozen=True, slots=True)
class BoardListed:
    """The agent's program asked for the tools of the turn: it has reached the board."""


@dataclass(frozen=True, slots=True)
class ServerCallMade:
    """A call of a tool server is over. `outcome`: ok, error, timeout, gone or refused."""

    server: str
    tool: str
    duration_ms: int
    input_bytes: int
    output_bytes: int
    outcome: str


@dataclass(frozen=True, slots=True)
class ServerTrouble:
    """A tool server does not behave as the policy says; `ended`: nothing is asked of it any more."""

    server: str
    detail: str
    ended: bool


@dataclass(frozen=True, slots=True)
class Drained:
    """After `shut`: no call of the turn is under way, and all usage was reported."""


ServerMessage = ServerCallMade | ServerTrouble
GatewayMessage = (
    ProviderFailure
    | CallRefusal
    | HostRequest
    | SecretUse
    | Warned
    | Answering
    | BoardListed
    | Drained
    | Usage
    | ServerMessage
)
GatewayEvent = GatewayMessage | BoardCall | BadCall
_KINDS: Mapping[str, type[GatewayMessage]] = {
    "failed": ProviderFailure,
    "refused": CallRefusal,
    "host": HostRequest,
    "secret_use": SecretUse,
    "warned": Warned,
    "answering": Answering,
    "board_listed": BoardListed,
    "server_call": ServerCallMade,
    "server_trouble": ServerTrouble,
    "drained": Drained,
    "usage": Usage,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def encode_event(event: GatewayMessage) -> dict[str, object]:
    """Return the message of an event; its texts are truncated to fit a datagram."""
    fields = {
        name: one_line(value, _DETAIL_BYTES) if isinstance(value, str) else value
        for name, value in asdict(event).items()
    }
    return {"type": _NAMES[type(event)], **fields}


def read(message: str) -> tuple[GatewayEvent, ...]:
    """Return the events of a datagram; empty for a meaningless one.

    A gateway talks with the agent and the network all day: it is not trusted.
    """
    try:
        given = json.loads(message)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(given, dict):
        return ()
    name = given.pop("type", None)
    if name == "call" and isinstance(given.get("id"), str) and isinstance(given.get("tool"), str):
        return (check_call(given["id"], given["tool"], given.get("input")),)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    return () if kind is None else _event(kind, given)


def _event(kind: type[GatewayMessage], given: dict[str, Any]) -> tuple[GatewayEvent, ...]:
    wanted = {name: field.type for name, field in kind.__dataclass_fields__.items()}
    if set(given) != set(wanted) or not all(_fits(given[name], wanted[name]) for name in wanted):
        return ()
    event = kind(**given)
    return (believable(event) if isinstance(event, Usage) else event,)


def _fits(value: object, wanted: Any) -> bool:
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is wanted


def believable(usage: Usage) -> Usage:
    """Return usage clamped to numbers that can be summed and stored; nonsense becomes 0.

    A sum beyond all limits stays so: it must stop the run.
    """
    return Usage(
        usd=min(max(0.0, usage.usd), _MAX_USD),  # max() also drops NaN
        input_tokens=min(max(0, usage.input_tokens), _MAX_TOKENS),
        output_tokens=min(max(0, usage.output_tokens), _MAX_TOKENS),
        turns=min(max(0, usage.turns), _MAX_TURNS),
    )
