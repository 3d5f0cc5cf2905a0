"""Google's Gemini API on the wire. Source: ai.google.dev/api/generate-content.

Programs need not send the id of a call back, but its signature: that holds the id here.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from forge.model.conversation import Answer, Call, Conversation, Tokens
from forge.model.wire import Piece, chunks

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
BAD_KEY = {
    "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}],
    }
}


def failure(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": _STATUSES.get(status, "INTERNAL")}}


def whole(answer: Answer, conversation: Conversation, ident: str) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": answer.text}] if answer.text else []
    return _chunk(
        conversation, ident, parts + [_call(call) for call in answer.calls], answer.tokens, end=True
    )


def stream(answer: Answer, conversation: Conversation, ident: str) -> Iterator[Piece]:
    """Return the answer as the chunks of a stream, each with the usage so far."""
    begun = Tokens(answer.tokens.fresh, 0, answer.tokens.cache_read, answer.tokens.cache_write)
    for text in chunks(answer.text) if answer.text else ():
        yield Piece(_chunk(conversation, ident, [{"text": text}], begun), begun)
    for call in answer.calls:
        yield Piece(_chunk(conversation, ident, [_call(call)], begun), begun)
    yield Piece(_chunk(conversation, ident, [], answer.tokens, end=True), answer.tokens)


def ping(conversation: Conversation, ident: str) -> Piece:
    return Piece(_chunk(conversation, ident, [], Tokens(out=0)))


def read_call_id(part: Mapping[str, Any]) -> str:
    """Return the id of the call in a part: its own, else that of its signature; empty without one."""
    own = part["functionCall"].get("id")
    if own:
        return str(own)
    try:
        return base64.b64decode(part.get("thoughtSignature") or "").decode()
    except ValueError:
        return ""


def _call(call: Call) -> dict[str, Any]:
    signature = base64.b64encode(call.call_id.encode()).decode()
    return {
        "functionCall": {"id": call.call_id, "name": call.name, "args": call.given},
        "thoughtSignature": signature,
    }


def _chunk(
    conversation: Conversation, ident: str, parts: list[dict[str, Any]], tokens: Tokens, *, end: bool = False
) -> dict[str, Any]:
    read = tokens.fresh + tokens.cache_read + tokens.cache_write
    figures = {
        "promptTokenCount": read,
        "candidatesTokenCount": tokens.out,
        "cachedContentTokenCount": tokens.cache_read,
        "totalTokenCount": read + tokens.out,
    }
    candidate = {"index": 0, "content": {"role": "model", "parts": parts or [{"text": ""}]}}
    return {
        "candidates": [{**candidate, "finishReason": "STOP"} if end else candidate],
        "usageMetadata": {name: count for name, count in figures.items() if count},
        "modelVersion": conversation.model,
        "responseId": ident,
    }


def described(arguments: object) -> str:
    """Return what a tool said, however the program wraps it."""
    if isinstance(arguments, Mapping):
        said = arguments.get("output", arguments.get("error", arguments.get("content")))
        if isinstance(said, str):
            return said
    return json.dumps(arguments)
