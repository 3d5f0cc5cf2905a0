"""Chat Completions, as many speak it (source: platform.openai.com/docs/api-reference/chat)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.gateway.models import request_contents, sse
from runner.gateway.models.openai_responses import problem
from runner.gateway.models.protocol import Reading, loaded, written_bytes

_LIMITS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Chat:
    """`POST /v1/chat/completions` of `provider`: openai or compatible."""

    provider: str

    @property
    def usage(self) -> tuple[str, str]:
        """How the price list names this form of usage."""
        return "openai", "chat"

    @property
    def fields(self) -> frozenset[str]:
        """The fields of a request whose cost is known."""
        return request_contents.CHAT if self.provider == "openai" else request_contents.COMPATIBLE

    @property
    def limits(self) -> tuple[str, ...]:
        """The fields that bound an answer; many know the older one only."""
        return _LIMITS if self.provider == "openai" else _LIMITS[::-1]

    priced_by = "service_tier"

    def added(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the wish that a stream tells its usage, which it does only when asked."""
        options = given.get("stream_options")
        known = options if isinstance(options, dict) else {}
        if given.get("stream") is not True or known.get("include_usage") is True:
            return {}
        return {"stream_options": {**known, "include_usage": True}}

    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one chunk; usage comes with the last one. An answer with a reason to finish is whole, since not
        everybody sends `[DONE]`.
        """
        if payload.strip() == b"[DONE]":
            reading.ended = True
            return
        given = loaded(payload)
        if given.get("error"):
            reading.fail(given["error"])
        reading.take(given.get("usage"))
        reading.note("service_tier", given.get("service_tier"))
        for choice in _choices(given):
            reading.text_bytes += _said(choice.get("delta"))
            reading.ended = reading.ended or choice.get("finish_reason") is not None

    def read_whole(self, reading: Reading, given: Mapping[str, Any]) -> None:
        """Add an answer that came in one piece."""
        reading.text_bytes += sum(_said(choice.get("message")) for choice in _choices(given))
        reading.take(given.get("usage"))
        reading.note("service_tier", given.get("service_tier"))
        reading.ended = True

    def error(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of a refusal."""
        return json.dumps({"error": problem(status, kind, message)}).encode()

    def cut(self, message: str) -> bytes:
        """Return the error that ends a stream."""
        return sse.packed(self.error(400, "budget", message))


def _choices(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = given.get("choices")
    return [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []


def _said(message: object) -> int:
    """Return the bytes that the model wrote in a message or a part of one; names of roles are not its."""
    if not isinstance(message, dict):
        return 0
    return sum(written_bytes(value) for name, value in message.items() if name != "role")
