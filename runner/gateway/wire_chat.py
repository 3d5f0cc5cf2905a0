"""Chat Completions, as many speak it (source: platform.openai.com/docs/api-reference/chat)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.gateway import sse
from runner.gateway.wire import Asked, Reading, context_of, count_of, loaded, model_of, written_bytes
from runner.gateway.wire_responses import problem

_WANTED = b'"stream_options":{"include_usage":true}'
_CHANGED = "stream_options.include_usage"


@dataclass(frozen=True, slots=True)
class Chat:
    """`POST /v1/chat/completions` of `provider`: openai or compatible."""

    provider: str

    @property
    def usage(self) -> tuple[str, str]:
        """How the price list names this form of usage."""
        return "openai", "chat"

    def asked(self, given: Mapping[str, Any], body: bytes) -> Asked:
        """Return what a request wants. A stream is made to tell its usage, which it does only when asked."""
        streamed = given.get("stream") is True
        sent = _with_usage(given, body) if streamed else body
        return Asked(
            model=model_of(given),
            streamed=streamed,
            turns=1 if given.get("tools") else 0,
            output_tokens=count_of(given, "max_completion_tokens", "max_tokens"),
            body=sent,
            changed="" if sent == body else _CHANGED,
            context=context_of(given, "service_tier"),
        )

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


def _with_usage(given: Mapping[str, Any], body: bytes) -> bytes:
    options = given.get("stream_options")
    if isinstance(options, dict):
        if options.get("include_usage") is True:
            return body
        return json.dumps({**given, "stream_options": {**options, "include_usage": True}}).encode()
    if "stream_options" in given:
        return json.dumps({**given, "stream_options": {"include_usage": True}}).encode()
    head, brace, rest = body.partition(b"{")  # all other bytes stay as they are
    return head + brace + _WANTED + b"," + rest


def _choices(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = given.get("choices")
    return [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []


def _said(message: object) -> int:
    """Return the bytes that the model wrote in a message or a part of one; names of roles are not its."""
    if not isinstance(message, dict):
        return 0
    return sum(written_bytes(value) for name, value in message.items() if name != "role")
