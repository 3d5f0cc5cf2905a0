"""Anthropic's Messages on the wire. Source: platform.claude.com/docs/en/build-with-claude/streaming."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from forge.model.conversation import Answer, Conversation, Tokens
from forge.model.wire import Piece, chunks

PING = Piece({"type": "ping"}, named=True)
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_PART = 40  # characters of a tool's input in one event


def failure(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": _TYPES.get(status, "api_error"), "message": message}}


def whole(answer: Answer, conversation: Conversation, ident: str) -> dict[str, Any]:
    message = _message(conversation, ident, _usage(answer.tokens))
    return {**message, "content": _content(answer), "stop_reason": _reason(answer)}


def stream(answer: Answer, conversation: Conversation, ident: str) -> Iterator[Piece]:
    """Return the answer as the events of a stream."""
    begun = dataclasses.replace(answer.tokens, out=1)
    start = {"type": "message_start", "message": _message(conversation, ident, _usage(begun))}
    yield Piece(start, begun, named=True)
    yield PING
    for index, block in enumerate(_content(answer)):
        for event in _block(block):
            yield Piece({**event, "index": index}, named=True)
    delta = {"stop_reason": _reason(answer), "stop_sequence": None}
    end = {"type": "message_delta", "delta": delta, "usage": _usage(answer.tokens)}
    yield Piece(end, answer.tokens, named=True)
    yield Piece({"type": "message_stop"}, named=True)


def _block(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield {"type": "content_block_start", "content_block": {"type": "text", "text": ""}}
        deltas: list[dict[str, Any]] = [
            {"type": "text_delta", "text": part} for part in chunks(block["text"])
        ]
    else:
        yield {"type": "content_block_start", "content_block": {**block, "input": {}}}
        given = json.dumps(block["input"])
        parts = [given[at : at + _PART] for at in range(0, len(given), _PART)]
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    for delta in deltas:
        yield {"type": "content_block_delta", "delta": delta}
    yield {"type": "content_block_stop"}


def _message(conversation: Conversation, ident: str, usage: dict[str, int]) -> dict[str, Any]:
    return {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _content(answer: Answer) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    return said + [
        {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.given}
        for call in answer.calls
    ]


def _reason(answer: Answer) -> str:
    return "tool_use" if answer.calls else "end_turn"


def _usage(tokens: Tokens) -> dict[str, int]:
    return {
        "input_tokens": tokens.fresh,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
        "output_tokens": tokens.out,
    }
