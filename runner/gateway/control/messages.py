"""What a gateway tells its supervisor, and how it is written down in one datagram."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from runner.agents.board_tools import BadCall, BoardCall, check_call
from runner.agents.contract import Usage
from runner.agents.usage import believable
from runner.text.truncate import one_line

MESSAGE_BYTES = 60_000  # of one datagram, both ways
_DETAIL_BYTES = 600


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A provider did not answer a call as it should; `status` is 0 where there was no answer at all.

    `final`: no further call is made in this turn, so the run cannot go on; `detail` says what to do.
    """

    provider: str
    status: int
    detail: str
    in_a_row: int
    final: bool


@dataclass(frozen=True, slots=True)
class CallRefusal:
    """The gateway refused or cut a call of the agent. `kind`: budget, model, rate, closed, key, size,
    request (unreadable) or network (the provider would have reached out).
    """

    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class HostRequest:
    """Something inside wanted to reach a host; `why` names the rule that decided."""

    host: str
    port: int
    allowed: bool
    why: str


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that people should know and that stops nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Answering:
    """An answer is growing: a sign of life of an agent that says nothing until it has all of it."""


@dataclass(frozen=True, slots=True)
class Settled:
    """After `shut`: no call of the turn is under way any more, and what each used was told."""


GatewayEvent = (
    ProviderFailure | CallRefusal | HostRequest | Warned | Answering | Settled | Usage | BoardCall | BadCall
)
GatewayMessage = ProviderFailure | CallRefusal | HostRequest | Warned | Answering | Settled | Usage

_KINDS: Mapping[str, type[GatewayMessage]] = {
    "failed": ProviderFailure,
    "refused": CallRefusal,
    "host": HostRequest,
    "warned": Warned,
    "answering": Answering,
    "settled": Settled,
    "usage": Usage,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def written(told: GatewayMessage) -> dict[str, object]:
    """Return the message of an event; texts are cut so that it fits a datagram."""
    fields = {
        name: one_line(value, _DETAIL_BYTES) if isinstance(value, str) else value
        for name, value in asdict(told).items()
    }
    return {"type": _NAMES[type(told)], **fields}


def read(message: str) -> tuple[GatewayEvent, ...]:
    """Return what a datagram means; empty when it means nothing, whatever it holds.

    A gateway talks with the agent and the network all day: it is not trusted to be sound.
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
