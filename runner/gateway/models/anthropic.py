"""Anthropic's Messages (source: docs.anthropic.com/en/api/messages-streaming and /errors)."""

import json
import re
from collections.abc import Mapping
from typing import Any

from runner.gateway.models import protocol, request_contents
from runner.gateway.models.protocol import Reading, Wire, count_text_bytes, length, parse_event

_TEXTS = ("text", "partial_json", "thinking")
# Nearly all of a stream: read without parsing, or a gateway would fill a core at 200 MB a minute.
_PLAIN = re.compile(
    rb'\{"type": ?"content_block_delta", ?"index": ?\d+, ?"delta": ?\{"type": ?"[a-z_]+",'
    rb' ?"(?:text|partial_json|thinking)": ?"'
)
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


class Messages(Wire):
    """`POST /v1/messages`."""

    provider = "anthropic"
    usage = ("anthropic", "default")
    fields = request_contents.MESSAGES
    limits = ("max_tokens",)
    priced_by = "speed"

    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one event. The usage of the input comes at the start, that of the output at the end."""
        plain = _PLAIN.match(payload)
        if plain:
            reading.text_bytes += len(payload) - plain.end() - len('"}}')
            return
        given = parse_event(payload)
        match given.get("type"):
            case "message_start":
                message = given.get("message")
                reading.take(message.get("usage") if isinstance(message, dict) else None, last=False)
            case "content_block_start":
                reading.text_bytes += count_text_bytes(given.get("content_block"))
            case "content_block_delta":
                delta = given.get("delta")
                if isinstance(delta, dict):
                    reading.text_bytes += sum(length(delta.get(name)) for name in _TEXTS)
            case "message_delta":
                reading.take(given.get("usage"), last=True)
            case "message_stop":
                reading.ended = True
            case "error":
                reading.fail(given.get("error"))

    def read_whole(self, reading: Reading, given: Mapping[str, Any]) -> None:
        reading.text_bytes += count_text_bytes(given.get("content"))
        reading.take(given.get("usage"), last=True)
        reading.ended = True

    def error(self, status: int, kind: str, message: str) -> bytes:  # noqa: ARG002
        return json.dumps(
            {"type": "error", "error": {"type": _TYPES.get(status, "api_error"), "message": message}}
        ).encode()

    def cut(self, message: str) -> bytes:
        """Return the `error` event, the last of a stream."""
        return protocol.event_bytes(self.error(400, "budget", message), "error")
