"""OpenAI's Responses on the wire. Source: platform.openai.com/docs/api-reference/responses-streaming."""

import json
from collections.abc import Iterator
from typing import Any

from forge.model.conversation import Answer, Call, Conversation, Tokens
from forge.model.wire import CREATED, Piece, chunks

PING = Piece({"type": "keepalive"}, named=True)
_TYPES = {400: "invalid_request_error", 401: "invalid_request_error", 429: "rate_limit_exceeded"}


def failure(status: int, message: str) -> dict[str, Any]:
    """Return the body of an error, for Chat Completions, too."""
    code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
    kind = _TYPES.get(status, "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def whole(answer: Answer, conversation: Conversation, ident: str) -> dict[str, Any]:
    return _response(conversation, ident, "completed", _items(answer, ident), _usage(answer.tokens))


def stream(answer: Answer, conversation: Conversation, ident: str) -> Iterator[Piece]:
    """Return the answer as the events of a stream."""
    for number, (event, tokens) in enumerate(_events(answer, conversation, ident)):
        yield Piece({**event, "sequence_number": number}, tokens, named=True)


def _events(
    answer: Answer, conversation: Conversation, ident: str
) -> Iterator[tuple[dict[str, Any], Tokens | None]]:
    begun = _response(conversation, ident, "in_progress", [], None)
    yield {"type": "response.created", "response": begun}, None
    yield {"type": "response.in_progress", "response": begun}, None
    items = _items(answer, ident)
    for index, item in enumerate(items):
        for event in _item(item):
            yield {**event, "output_index": index}, None
    done = _response(conversation, ident, "completed", items, _usage(answer.tokens))
    yield {"type": "response.completed", "response": done}, answer.tokens


def _item(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name, here = item["id"], {"item_id": item["id"]}
    begun = {**item, "status": "in_progress"}
    match item["type"]:
        case "message":
            part = item["content"][0]
            at = {**here, "content_index": 0}
            yield {"type": "response.output_item.added", "item": {**begun, "content": []}}
            yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
            for text in chunks(part["text"]):
                yield {"type": "response.output_text.delta", **at, "delta": text}
            yield {"type": "response.output_text.done", **at, "text": part["text"]}
            yield {"type": "response.content_part.done", **at, "part": part}
        case "function_call":
            value = item["arguments"]
            yield {"type": "response.output_item.added", "item": {**begun, "arguments": ""}}
            yield {"type": "response.function_call_arguments.delta", **here, "delta": value}
            yield {
                "type": "response.function_call_arguments.done",
                **here,
                "name": item["name"],
                "arguments": value,
            }
        case _:
            value = item["input"]
            yield {"type": "response.output_item.added", "item": {**begun, "input": ""}}
            yield {"type": "response.custom_tool_call_input.delta", "item_id": name, "delta": value}
            yield {"type": "response.custom_tool_call_input.done", "item_id": name, "input": value}
    yield {"type": "response.output_item.done", "item": item}


def _items(answer: Answer, ident: str) -> list[dict[str, Any]]:
    text = {"type": "output_text", "text": answer.text, "annotations": []}
    message = {"type": "message", "id": f"msg_{ident}", "role": "assistant", "status": "completed"}
    said = [{**message, "content": [text]}] if answer.text else []
    return said + [_call(call) for call in answer.calls]


def _call(call: Call) -> dict[str, Any]:
    named = {"call_id": call.call_id, "name": call.name, "status": "completed"}
    if call.text is not None:
        return {"type": "custom_tool_call", "id": f"ctc_{call.call_id}", **named, "input": call.text}
    space = {"namespace": call.space} if call.space else {}
    value = json.dumps(call.given)
    return {"type": "function_call", "id": f"fc_{call.call_id}", **named, **space, "arguments": value}


def _response(
    conversation: Conversation, ident: str, status: str, items: list[dict[str, Any]], usage: Any
) -> dict[str, Any]:
    return {
        "id": f"resp_{ident}",
        "object": "response",
        "created_at": CREATED,
        "model": conversation.model,
        "status": status,
        "output": items,
        "usage": usage,
    }


def _usage(tokens: Tokens) -> dict[str, Any]:
    read = tokens.fresh + tokens.cache_read + tokens.cache_write
    cached = {"cached_tokens": tokens.cache_read, "cache_write_tokens": tokens.cache_write}
    return {
        "input_tokens": read,
        "input_tokens_details": cached,
        "output_tokens": tokens.out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + tokens.out,
    }
