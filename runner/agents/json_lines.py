"""The common part of dialogues in JSON lines: decoding, which never raises, and encoding."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from runner.agents.contract import AgentEvent, Noise
from runner.text.plain import cut_bytes

_NOISE_BYTES = 500
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)


class JsonLinesDialogue(ABC):
    """The base of a dialogue whose program writes one JSON message per line."""

    def decode(self, line: str) -> tuple[AgentEvent, ...]:
        """Return the events of one line; anything unknown or malformed is noise."""
        try:
            return tuple(self._events(json.loads(line)))
        except MALFORMED:
            return (Noise(cut_bytes(line, _NOISE_BYTES)),)

    def reply(self, call_id: str, result: Mapping[str, object]) -> bytes | None:
        """Return None: board calls come through the gateway."""
        return None

    @abstractmethod
    def _events(self, message: Any) -> Iterable[AgentEvent]:
        """Return the events of one message; any of the errors above makes it noise."""


def json_line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"
