"""OpenAI's Chat Completions on the wire. Source: platform.openai.com/docs/api-reference/chat-streaming."""

import json
from collections.abc import Iterator
from typing import Any

from forge.model.conversation import Answer, Conversation, Tokens
from forge.model.wire import CREATED, Piece, chunks

DONE = Piece("[DONE]")


def whole(answer: Answer, conversation: Conversation, ident: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": _reason(answer)}
    head = _head(conversation, ident, "chat.completion")
    return {**head, "choices": [choice], "usage": _usage(answer.tokens)}


def stream(answer: Answer, conversation: Conversation, ident: str) -> Iterator[Piece]:
    """Return the answer as the events of a stream; the usage only on request."""
    head = _head(conversation, ident, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None) -> Piece:
        return Piece({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    for text in chunks(answer.text) if answer.text else ():
        yield chunk({"content": text})
    for index, call in enumerate(_calls(answer)):
        arguments = call["function"].pop("arguments")
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
    yield chunk({}, _reason(answer))
    if conversation.counts:
        yield Piece({**head, "choices": [], "usage": _usage(answer.tokens)}, answer.tokens)
    yield DONE


def ping(conversation: Conversation, ident: str) -> Piece:
    delta = {"index": 0, "delta": {}, "finish_reason": None}
    return Piece({**_head(conversation, ident, "chat.completion.chunk"), "choices": [delta]})


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.given)},
        }
        for call in answer.calls
    ]


def _head(conversation: Conversation, ident: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{ident}", "object": kind, "created": CREATED, "model": conversation.model}


def _reason(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _usage(tokens: Tokens) -> dict[str, Any]:
    read = tokens.fresh + tokens.cache_read + tokens.cache_write
    return {
        "prompt_tokens": read,
        "completion_tokens": tokens.out,
        "total_tokens": read + tokens.out,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
    }
