"""OpenAI's Responses (source: platform.openai.com/docs/api-reference/responses-streaming)."""

import json
import re
from collections.abc import Mapping
from typing import Any

from runner.gateway.models import request_contents, sse
from runner.gateway.models.protocol import Reading, length, loaded, written_bytes

_ENDS = ("response.completed", "response.incomplete", "response.failed")
# Nearly all of a stream: read without parsing, see the other protocol.
_PLAIN = re.compile(rb'\{"type": ?"response\.[a-z_.]+\.delta"[^{}\\]*?"delta": ?"((?:[^"\\]|\\.)*+)"')
TYPES = {401: "invalid_request_error", 403: "invalid_request_error", 429: "rate_limit_error"}
CODES = {
    "budget": "insufficient_quota",
    "model": "model_not_found",
    "rate": "rate_limit_exceeded",
    "key": "invalid_api_key",
}


class Responses:
    """`POST /v1/responses`."""

    provider = "openai"
    usage = ("openai", "responses")

    fields = request_contents.RESPONSES
    limits = ("max_output_tokens",)
    priced_by = "service_tier"

    def added(self, given: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return nothing: each answer tells its usage."""
        return {}

    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one event; usage comes with the last one."""
        plain = _PLAIN.match(payload)
        if plain:
            reading.text_bytes += len(plain[1])
            return
        given = loaded(payload)
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
        """Add an answer that came in one piece."""
        reading.text_bytes += written_bytes(given.get("output"))
        self._end(reading, given)

    def error(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of a refusal."""
        return json.dumps({"error": problem(status, kind, message)}).encode()

    def cut(self, message: str) -> bytes:
        """Return `response.failed` with the code after which clients do not try again."""
        failed = {
            "id": "resp_cut",
            "object": "response",
            "status": "failed",
            "output": [],
            "error": {"code": CODES["budget"], "message": message},
        }
        last = {"type": "response.failed", "response": failed}
        return sse.packed(json.dumps(last).encode(), "response.failed")

    @staticmethod
    def _end(reading: Reading, response: object) -> None:
        if not isinstance(response, Mapping):
            return
        reading.take(response.get("usage"))
        reading.note("service_tier", response.get("service_tier"))
        reading.ended = True
        if response.get("status") == "failed" or response.get("error"):
            reading.fail(response.get("error"))


def problem(status: int, kind: str, message: str) -> dict[str, object]:
    """Return OpenAI's description of an error; also that of those who speak its protocol."""
    return {
        "message": message,
        "type": TYPES.get(status, "invalid_request_error"),
        "param": "model" if kind == "model" else None,
        "code": CODES.get(kind),
    }
