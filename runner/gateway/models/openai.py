"""OpenAI's two protocols: Responses, and Chat Completions, which other providers speak as well.

Source: platform.openai.com/docs/api-reference/responses-streaming and /chat.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from runner.gateway.models import protocol, request_contents
from runner.gateway.models.protocol import Reading, Wire, count_text_bytes, length, parse_event

_ENDS = ("response.completed", "response.incomplete", "response.failed")
# Nearly all of a stream: read without parsing, see the other protocol.
_PLAIN = re.compile(rb'\{"type": ?"response\.[a-z_.]+\.delta"[^{}\\]*?"delta": ?"((?:[^"\\]|\\.)*+)"')
_TYPES = {401: "invalid_request_error", 403: "invalid_request_error", 429: "rate_limit_error"}
_CODES = {
    "budget": "insufficient_quota",
    "tokens": "insufficient_quota",
    "model": "model_not_found",
    "rate": "rate_limit_exceeded",
    "key": "invalid_api_key",
}
_CHAT_LIMITS = ("max_completion_tokens", "max_tokens")


class _OpenAI(Wire):
    """The common part: errors, and the field that changes the price."""

    provider = "openai"
    priced_by = "service_tier"

    def error(self, status: int, kind: str, message: str) -> bytes:
        problem = {
            "message": message,
            "type": _TYPES.get(status, "invalid_request_error"),
            "param": "model" if kind == "model" else None,
            "code": _CODES.get(kind),
        }
        return json.dumps({"error": problem}).encode()


class Responses(_OpenAI):
    """`POST /v1/responses`."""

    usage = ("openai", "responses")
    fields = request_contents.RESPONSES
    limits = ("max_output_tokens",)

    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one event; usage comes with the last one."""
        plain = _PLAIN.match(payload)
        if plain:
            reading.text_bytes += len(plain[1])
            return
        given = parse_event(payload)
        kind = given.get("type")
        if not isinstance(kind, str):
            return
        if kind.endswith(".delta"):
            reading.text_bytes += length(given.get("delta"))
        elif kind in _ENDS:
            self._end(reading, given.get("response"))
        elif kind == "error":
            reading.fail(given.get("error") or given.get("message"))

    def read_whole(self, reading: Reading, given: Mapping[str, Any]) -> None:
        reading.text_bytes += count_text_bytes(given.get("output"))
        self._end(reading, given)

    def cut(self, message: str) -> bytes:
        """Return `response.failed` with the code after which clients do not try again."""
        failed = {
            "id": "resp_cut",
            "object": "response",
            "status": "failed",
            "output": [],
            "error": {"code": _CODES["budget"], "message": message},
        }
        last = {"type": "response.failed", "response": failed}
        return protocol.event_bytes(json.dumps(last).encode(), "response.failed")

    @staticmethod
    def _end(reading: Reading, response: object) -> None:
        if not isinstance(response, Mapping):
            return
        reading.take(response.get("usage"), last=True)
        reading.note("service_tier", response.get("service_tier"))
        output = response.get("output")
        items = [item for item in output if isinstance(item, Mapping)] if isinstance(output, list) else []
        reading.searches = sum(item.get("type") == "web_search_call" for item in items)
        reading.ended = True
        if response.get("status") == "failed" or response.get("error"):
            reading.fail(response.get("error"))


class Chat(_OpenAI):
    """`POST /v1/chat/completions` of `provider`: openai or compatible."""

    usage = ("openai", "chat")

    def __init__(self, provider: str) -> None:
        self.provider = provider
        openai = provider == "openai"
        self.fields = request_contents.CHAT if openai else request_contents.COMPATIBLE
        self.limits = _CHAT_LIMITS if openai else _CHAT_LIMITS[::-1]  # many others know the older one only

    def metering_fields(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the option that makes a stream tell its usage."""
        options = given.get("stream_options")
        known = options if isinstance(options, dict) else {}
        if given.get("stream") is not True or known.get("include_usage") is True:
            return {}
        return {"stream_options": {**known, "include_usage": True}}

    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one chunk; usage comes with the last. Not every provider ends its stream with `[DONE]`."""
        if payload.strip() == b"[DONE]":
            reading.ended = True
            reading.take(reading.figures if reading.told else None, last=True)
            return
        given = parse_event(payload)
        if given.get("error"):
            reading.fail(given["error"])
        reading.note("service_tier", given.get("service_tier"))
        for choice in _choices(given):
            reading.text_bytes += _text_bytes(choice.get("delta"))
            reading.ended = reading.ended or bool(choice.get("finish_reason"))  # some say "" until then
        # Not every server says why it ended: figures just before the last event are those of the whole.
        reading.told = given.get("usage") is not None
        reading.take(given.get("usage"), last=reading.ended)

    def read_whole(self, reading: Reading, given: Mapping[str, Any]) -> None:
        reading.text_bytes += sum(_text_bytes(choice.get("message")) for choice in _choices(given))
        reading.take(given.get("usage"), last=True)
        reading.note("service_tier", given.get("service_tier"))
        reading.ended = True


def _choices(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = given.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _text_bytes(message: object) -> int:
    """Return the bytes that the model wrote in a message or a part of one; names of roles are not its."""
    if not isinstance(message, dict):
        return 0
    return sum(count_text_bytes(value) for name, value in message.items() if name != "role")
