"""Shared by the protocols: pieces of a stream, and the division of a text into them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forge.model.conversation import Tokens

CREATED = 1_700_000_000  # fixed: the same request gets the same answer, byte for byte
_BLOCK = 1000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a stream that is sent at once; `tokens` is the usage that it reports, if any."""

    event: Mapping[str, Any] | str
    tokens: Tokens | None = None
    named: bool = False

    def encode(self) -> bytes:
        """Return the piece as a server-sent event."""
        name = f"event: {self.event['type']}\n" if self.named and not isinstance(self.event, str) else ""
        data = self.event if isinstance(self.event, str) else json.dumps(self.event)
        return f"{name}data: {data}\n\n".encode()


def chunks(text: str) -> list[str]:
    """Return the text in words, or in blocks where it is long."""
    if len(text) > 4 * _BLOCK:
        return [text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK)]
    return re.findall(r"\s*\S+\s*", text) or [text]
