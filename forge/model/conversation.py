"""Content of requests and answers, the same for all protocols."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Words:
    """One text by the user; never one by the agent's program or a tool's result."""

    text: str


@dataclass(frozen=True, slots=True)
class Used:
    """One tool call that the model made before; `given` is its input."""

    call_id: str
    name: str
    given: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a tool call."""

    call_id: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that can be called: by name, and by name within a namespace. `deferred`: only after a
    search. `inputs` are the keys of tools where the request tells them.
    """

    names: frozenset[str] = frozenset()
    spaces: frozenset[str] = frozenset()
    deferred: frozenset[str] = frozenset()
    search: str = ""
    inputs: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request. `system` is the text of the agent's program; `folder` is its working folder, or empty."""

    protocol: str
    model: str
    stream: bool
    system: str
    entries: tuple[Words | Used | Outcome, ...]
    offer: Offer
    folder: str = ""
    counts: bool = True  # whether a stream is to end with the usage


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model makes; `text` is the input of a tool that takes no JSON."""

    name: str
    given: dict[str, Any] = field(default_factory=dict)
    space: str = ""
    text: str | None = None
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Price of a response in tokens; `fresh` tokens were read and are in no cache."""

    fresh: int = 100
    out: int = 30
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's answer to one request. Waits are in seconds.

    `ending`: empty, or how the stream breaks (cut, hang, silent). With a `status` there is nothing else.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens: Tokens = Tokens()
    delay_s: float = 0.0
    pace_s: float = 0.0
    ending: str = ""
    status: int = 0
    message: str = ""
    retry_after: int | None = None
    place: tuple[str, str, int] = ("", "", 0)  # run, turn and step
