"""The common part of the protocols of model calls: requests, answers, their stream of events, contract."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ledger.model.strict_json import StrictJsonError, parse_json
from runner.errors import RunnerError
from runner.gateway.models import request_contents
from runner.gateway.models.request_contents import Weight
from runner.text.plain import one_line

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")  # source: html.spec.whatwg.org, 9.2.5
EVENT_STREAM = "text/event-stream"
_MAX_END = 4
_EVENT_BYTES = 16_000_000
_MAX_NAME = 200
_WANTED = "stream_options.include_usage"
_SEPARATORS = (b",", b"[", b"{")
# No answer has none; the third is a sum, since Gemini leaves out what is 0.
_OUTPUTS = ("output_tokens", "completion_tokens", "totalTokenCount")
_THOUGHTS = (("thinking", "budget_tokens"), ("thinkingConfig", "thinkingBudget"))
MAX_PARTS = 500_000  # nearly each is a token; the rest of a long request is words


@dataclass(slots=True)
class SseParser:
    """Finds the events in chunks. One over the cap is skipped, and only forwarded.

    `border` is the end of the last whole event in the newest chunk; 0 without one.
    """

    cap_bytes: int = _EVENT_BYTES
    border: int = 0
    _rest: bytearray = field(default_factory=bytearray)
    _skips: bool = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the payload of every event that ends in `chunk`: its `data` lines, joined."""
        self.border = 0
        if b"\n" not in chunk and b"\r" not in chunk:  # in the middle of a long event
            self._keep(chunk)
            return []
        whole = bytes(self._rest + chunk)
        if b"\r" in whole:
            *events, rest = _END.split(whole)
        else:
            *events, rest = whole.split(b"\n\n")
        if not events:
            self._keep(chunk)
            return []
        self.border = len(chunk) - len(rest)
        if self._skips:
            self._skips = False
            del events[0]
        self._rest.clear()
        self._keep(rest)
        return [payload for event in events if (payload := _payload(event))]

    def _keep(self, piece: bytes) -> None:
        self._rest += piece
        if len(self._rest) > self.cap_bytes:
            self._skips = True
            del self._rest[:-_MAX_END]


def _payload(event: bytes) -> bytes:
    start = event.find(b"\n") + 1 if event.startswith(b"event:") else 0
    if event.startswith(b"data: ", start) and event.find(b"\n", start) < 0 and b"\r" not in event:
        return event[start + 6 :]  # as nearly all events are
    return b"\n".join(line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))


def event_bytes(payload: bytes, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + payload + b"\n\n"


class UnreadableCallError(RunnerError):
    """A request that the gateway cannot be sure to read as its provider will."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the gateway cannot read this request: {problem}")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for a model's answer. `limits` are the fields that bound the answer, the usual one first.

    They are in the field `holder`, if it is not empty. `context` holds the other facts that the price depends
    on, `added` the fields that the gateway sets.
    """

    model: str
    streamed: bool
    turns: int
    given: Mapping[str, Any]
    body: bytes
    limits: tuple[str, ...]
    context: Mapping[str, str] = field(default_factory=dict)
    added: Mapping[str, Any] = field(default_factory=dict)
    holder: str = ""

    @property
    def limit_tokens(self) -> int:
        """The longest answer, by the highest of several limits; 0 without one."""
        return max(count_of(held_in(self.given, self.holder), name) for name in self.limits)

    def limit(self, tokens: int) -> "ModelRequest":
        """Return the request with its answer limited to so many tokens."""
        held = held_in(self.given, self.holder)
        said = [name for name in self.limits if count_of(held, name)] or self.limits[:1]
        added: dict[str, Any] = {name: min(tokens, count_of(held, name) or tokens) for name in said}
        for name, budget in _THOUGHTS:
            thinking = held.get(name)
            if isinstance(thinking, Mapping) and count_of(thinking, budget) >= tokens:
                added[name] = {**thinking, budget: tokens // 2}  # it must be below the limit
        if self.holder:
            added = {self.holder: {**held, **added}}
        return replace(self, added={**self.added, **added})

    @property
    def changed(self) -> str:
        """The fields of the body that the gateway set; empty for none."""
        return ", ".join(_WANTED if name == "stream_options" else name for name in self.added)

    @property
    def sent(self) -> bytes:
        """The body for the provider. Unless a field is replaced, the client's bytes are unchanged."""
        if not self.added:
            return self.body
        if self.added.keys() & self.given.keys():
            return json.dumps({**self.given, **self.added}).encode()
        head, brace, rest = self.body.partition(b"{")
        return head + brace + json.dumps(self.added, separators=(",", ":"))[1:-1].encode() + b"," + rest


@dataclass(slots=True)
class Reading:
    """An answer as far as it came. `figures` is the usage in the provider's own words, empty until it comes.

    `text_bytes` counts the model's text, `searches` those of the provider; `ended`: the answer is complete;
    `counted`: the figures are those of the whole output; `told`: the newest event had some; `failure` is the
    provider's error.
    """

    figures: dict[str, Any] = field(default_factory=dict)
    text_bytes: int = 0
    searches: int = 0
    ended: bool = False
    counted: bool = False
    told: bool = False
    failure: str = ""
    context: dict[str, str] = field(default_factory=dict)

    def take(self, usage: object, *, last: bool) -> None:
        """Add usage figures; later ones replace earlier ones, since all are totals.

        `last`: they come with the end of the answer, or after it.
        """
        given = usage if isinstance(usage, Mapping) else {}
        for name, value in given.items():
            if value is not None:
                self.figures[name] = value
        self.counted = self.counted or (last and any(count_of(given, name) for name in _OUTPUTS))
        self.note("speed", self.figures.get("speed"))

    def note(self, name: str, value: object) -> None:
        """Store a fact of the provider about how it served the call."""
        if isinstance(value, str):
            self.context[name] = value

    def fail(self, error: object) -> None:
        """Store the provider's error in the middle of an answer."""
        said = error.get("message") if isinstance(error, Mapping) else error
        self.failure = one_line(str(said or "an error without a message"), 300)


class Wire(ABC):
    """One protocol of model calls; it holds no state.

    `usage` is the price list's name for its form of usage: provider and flavour. `fields` are the request
    fields of known cost, `priced_by` the one that changes the price. `limits` are the fields that bound an
    answer, in the field `holder` if there is one; the first is set where a request has none.
    """

    provider: str  # anthropic, openai, compatible or gemini
    usage: tuple[str, str]
    fields: frozenset[str]
    limits: tuple[str, ...]
    priced_by: str
    holder: str = ""

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise UnknownCostError for a field or a value of unknown cost."""
        request_contents.check_fields(given, self.fields)

    def weigh(self, name: str, part: object) -> Weight:
        """Return the correction of the bytes of a part of the field `name`. Raises UnknownCostError."""
        return request_contents.weigh(name, part)

    def network_tool(self, given: Mapping[str, Any]) -> str:
        """Return the first part of a request that reaches out; empty without any."""
        return request_contents.find_network_tool(given)

    def refuses_key(self, _answer: Mapping[str, Any]) -> bool:
        """Whether an error with another status than 401 and 403 is about the key."""
        return False

    def metering_fields(self, _given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields that the gateway must set so that the answer can be metered."""
        return {}

    @abstractmethod
    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one event of a streamed answer."""

    @abstractmethod
    def read_whole(self, reading: Reading, given: Mapping[str, Any]) -> None:
        """Add an answer that came in one piece."""

    @abstractmethod
    def error(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of a refusal, as this provider would write it."""

    def cut(self, message: str) -> bytes:
        """Return the event that ends a stream which the gateway cuts."""
        return event_bytes(self.error(400, "budget", message))


def parse_call(body: bytes) -> dict[str, Any]:
    """Return a request's JSON object. Raises UnreadableCallError, also for a duplicate, ambiguous key."""
    if _has_too_many_parts(body):
        raise UnreadableCallError(f"it has more than {MAX_PARTS:,} parts: send less at once")
    try:
        given = parse_json(body)
    except StrictJsonError as error:
        because = f"it is not JSON in UTF-8 ({error.because}): send the body without content-encoding"
        raise UnreadableCallError(because) from error
    if not isinstance(given, dict):
        raise UnreadableCallError("it is not a JSON object")
    if len({name.lower() for name in given}) < len(given):  # some providers ignore the case of names
        raise UnreadableCallError("two of its keys differ only in their case")
    return given


def parse_request(
    wire: Wire, given: Mapping[str, Any], body: bytes, *, model: str = "", streamed: bool = False
) -> ModelRequest:
    """Return the request; `model` and `streamed` are those of its path, if that says them.

    Raises UnreadableCallError and UnknownCostError.
    """
    wire.check(given)
    streamed = streamed or given.get("stream") or False
    if not isinstance(streamed, bool):
        raise UnreadableCallError("`stream` is neither true nor false")
    held = held_in(given, wire.holder)
    for name in wire.limits:
        if held.get(name) is not None and not count_of(held, name):
            raise UnreadableCallError(f"`{name}` is no number of tokens")
    tier = given.get(wire.priced_by)
    return ModelRequest(
        model=model or model_of(given),
        streamed=streamed,
        turns=1 if given.get("tools") else 0,
        given=given,
        body=body,
        limits=wire.limits,
        context={wire.priced_by: tier} if isinstance(tier, str) else {},
        added=wire.metering_fields(given),
        holder=wire.holder,
    )


def _has_too_many_parts(body: bytes) -> bool:
    """Tell whether JSON could become objects of many times its bytes."""
    return len(body) > MAX_PARTS and sum(map(body.count, _SEPARATORS)) > MAX_PARTS


def model_of(given: Mapping[str, Any]) -> str:
    """Return the model that a request names. Raises UnreadableCallError."""
    model = given.get("model")
    if not isinstance(model, str) or not 0 < len(model) <= _MAX_NAME:
        raise UnreadableCallError("`model` is no name of a model")
    return model


def held_in(given: Mapping[str, Any], holder: str) -> Mapping[str, Any]:
    """Return the object in the field `holder`, the request itself without one. Raises UnreadableCallError."""
    held = (given.get(holder) or {}) if holder else given
    if not isinstance(held, Mapping):
        raise UnreadableCallError(f"`{holder}` is not a JSON object")
    return held


def count_of(given: Mapping[str, Any], name: str) -> int:
    """Return the positive integer in a field; 0 without one."""
    value = given.get(name)
    return value if type(value) is int and value > 0 else 0


def length(value: object) -> int:
    """Return the size of a text in bytes; 0 for anything else."""
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0


def parse_event(payload: bytes) -> dict[str, Any]:
    """Return the JSON object of an event; empty for anything else, and where it has too many parts."""
    if _has_too_many_parts(payload):
        return {}
    try:
        given = json.loads(payload.decode())  # the text: bytes would be searched for their encoding
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def count_text_bytes(value: object) -> int:
    """Return the bytes of all texts in an answer, whatever its form."""
    if isinstance(value, str):
        return length(value)
    if isinstance(value, Mapping):
        return sum(count_text_bytes(part) for part in value.values())
    return sum(map(count_text_bytes, value)) if isinstance(value, list) else 0
