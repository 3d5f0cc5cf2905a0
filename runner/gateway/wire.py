"""What the three protocols of model calls share: a request as the gateway reads it, an answer as it is
metered, and the contract of a protocol.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner.errors import RunnerError
from runner.texts import one_line

_LONGEST_NAME = 200


class UnreadableCallError(RunnerError):
    """A request that the gateway cannot be sure to read as its provider will."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the gateway cannot read this request: {problem}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for an answer of a model. `body` is what the provider gets; `changed` says what in it is not
    the client's. `output_tokens` is the most that it may answer, 0 where it does not say. `context` is what
    else the price depends on.
    """

    model: str
    streamed: bool
    turns: int
    output_tokens: int
    body: bytes
    changed: str = ""
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Reading:
    """What is known of an answer so far. `figures` is the usage in the provider's own words, empty until it
    came; `text_bytes` what the model wrote; `ended`: the answer came to its end; `failure`: the provider said
    that it could not go on.
    """

    figures: dict[str, Any] = field(default_factory=dict)
    text_bytes: int = 0
    ended: bool = False
    failure: str = ""
    context: dict[str, str] = field(default_factory=dict)

    def take(self, told: Mapping[str, Any] | None) -> None:
        """Add usage figures; later ones count instead of earlier ones, since all are totals."""
        for name, value in (told if isinstance(told, Mapping) else {}).items():
            if value is not None:
                self.figures[name] = value
        self.note("speed", self.figures.get("speed"))

    def note(self, name: str, value: object) -> None:
        """Remember what the provider says about how it served the call."""
        if isinstance(value, str):
            self.context[name] = value

    def fail(self, error: object) -> None:
        """Remember the provider's error in the middle of an answer."""
        said = error.get("message") if isinstance(error, Mapping) else error
        self.failure = one_line(str(said or "an error without a message"), 300)


class Wire(Protocol):
    """One protocol of model calls. It holds no state."""

    @property
    def provider(self) -> str:
        """Whose protocol it is: anthropic, openai or compatible."""

    @property
    def usage(self) -> tuple[str, str]:
        """How the price list names this form of usage: provider and flavour."""

    def asked(self, given: Mapping[str, Any], body: bytes) -> Asked:
        """Return what a request wants. Raises UnreadableCallError."""

    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one event of a streamed answer."""

    def read_whole(self, reading: Reading, given: Mapping[str, Any]) -> None:
        """Add an answer that came in one piece."""

    def error(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of a refusal, as this provider would write it."""

    def cut(self, message: str) -> bytes:
        """Return the event that ends a stream which the gateway cuts."""


def parsed(body: bytes) -> dict[str, Any]:
    """Return a request's JSON object. Raises UnreadableCallError.

    A key that is there twice is refused: which one counts would be the provider's choice, not ours.
    """
    try:
        given = json.loads(body, object_pairs_hook=_without_doubles)
    except UnreadableCallError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableCallError("it is no JSON; send the body without content-encoding") from error
    if not isinstance(given, dict):
        raise UnreadableCallError("it is no JSON object")
    if len({name.lower() for name in given}) < len(given):  # some providers ignore the case of names
        raise UnreadableCallError("two of its keys differ only in their case")
    return given


def model_of(given: Mapping[str, Any]) -> str:
    """Return the model that a request names. Raises UnreadableCallError."""
    model = given.get("model")
    if not isinstance(model, str) or not 0 < len(model) <= _LONGEST_NAME:
        raise UnreadableCallError("`model` is no name of a model")
    return model


def count_of(given: Mapping[str, Any], *names: str) -> int:
    """Return the first whole number among these fields; 0 without one."""
    for name in names:
        value = given.get(name)
        if type(value) is int and value > 0:
            return value
    return 0


def context_of(given: Mapping[str, Any], *names: str) -> dict[str, str]:
    """Return those fields of a request that its price depends on."""
    return {name: value for name in names if isinstance(value := given.get(name), str)}


def length(value: object) -> int:
    """Return how many bytes a text of the model has; 0 for what is no text."""
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0


def loaded(payload: bytes) -> dict[str, Any]:
    """Return the JSON object of an event; empty for anything else, which is only passed on."""
    try:
        given = json.loads(payload.decode())  # the text: bytes would be searched for their encoding
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def written_bytes(value: object) -> int:
    """Return how many bytes of text an answer in one piece holds, whatever its form."""
    if isinstance(value, str):
        return length(value)
    if isinstance(value, Mapping):
        return sum(written_bytes(part) for part in value.values())
    return sum(map(written_bytes, value)) if isinstance(value, list) else 0


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    given = dict(pairs)
    if len(given) < len(pairs):
        raise UnreadableCallError("it names a key twice")
    return given
