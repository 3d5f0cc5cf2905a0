"""Strict readers of the protocols' streams: anything out of order is an assertion that fails."""

import base64
import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call as it came over the wire; `given` is text for a tool that takes no JSON."""

    call_id: str
    name: str
    given: Any
    space: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What the model said; the tokens are those that went in, came out, and were read from the cache."""

    text: str
    calls: tuple[Called, ...]
    tokens: tuple[int, int, int] | None


def events(raw: bytes) -> list[Any]:
    """Return what the server-sent events hold."""
    assert raw.endswith(b"\n\n")
    found = []
    for block in raw.decode().removesuffix("\n\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        assert set(fields) <= {"event", "data"}
        told: Any = fields["data"] if fields["data"] == "[DONE]" else json.loads(fields["data"])
        assert "event" not in fields or fields["event"] == told["type"]
        found.append(told)
    return found


def anthropic(raw: bytes) -> Message:
    """Read a stream of Messages."""
    told = [one for one in events(raw) if one["type"] != "ping"]
    assert [told[0]["type"], told[-2]["type"], told[-1]["type"]] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    text, calls, at = "", list[Called](), 1
    while told[at]["type"] == "content_block_start":
        block, index = told[at]["content_block"], told[at]["index"]
        assert index == (len(calls) + bool(text))
        parts = ""
        while told[at := at + 1]["type"] == "content_block_delta":
            delta = told[at]["delta"]
            kind = {"text": "text_delta", "tool_use": "input_json_delta"}[block["type"]]
            assert (delta["type"], told[at]["index"]) == (kind, index)
            parts += delta["text" if kind == "text_delta" else "partial_json"]
        assert told[at] == {"type": "content_block_stop", "index": index}
        at += 1
        if block["type"] == "text":
            text = parts
        else:
            calls.append(Called(block["id"], block["name"], json.loads(parts)))
    assert at == len(told) - 2
    assert told[-2]["delta"]["stop_reason"] == ("tool_use" if calls else "end_turn")
    return Message(text, tuple(calls), tokens_of(told[-2]["usage"]))


def gemini(raw: bytes) -> Message:
    """Read a stream of Google's API."""
    *told, last = events(raw)
    text, calls = "", list[Called]()
    for each in (*told, last):
        (candidate,) = each["candidates"]
        assert candidate.get("finishReason") == ("STOP" if each is last else None)
        for part in candidate["content"]["parts"]:
            text += part.get("text", "")
            if call := part.get("functionCall"):
                assert base64.b64decode(part["thoughtSignature"]).decode() == call["id"]
                calls.append(Called(call["id"], call["name"], call["args"]))
    return Message(text, tuple(calls), tokens_of(last["usageMetadata"]))


def tokens_of(usage: Json) -> tuple[int, int, int]:
    """Return input, output and cached tokens of any protocol's usage."""
    if "prompt_tokens" in usage:
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        return usage["prompt_tokens"], usage["completion_tokens"], cached
    if "promptTokenCount" in usage:
        assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["candidatesTokenCount"]
        cached = usage.get("cachedContentTokenCount", 0)
        return usage["promptTokenCount"], usage["candidatesTokenCount"], cached
    if "input_tokens_details" in usage:
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        cached = usage["input_tokens_details"]["cached_tokens"]
        return usage["input_tokens"], usage["output_tokens"], cached
    cached = usage["cache_read_input_tokens"]
    whole = usage["input_tokens"] + cached + usage["cache_creation_input_tokens"]
    return whole, usage["output_tokens"], cached


def responses(raw: bytes) -> Message:
    """Read a stream of Responses."""
    told = events(raw)
    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    assert [one["type"] for one in told[:2]] == ["response.created", "response.in_progress"]
    assert told[-1]["type"] == "response.completed"
    text, calls = "", []
    done = [one["item"] for one in told if one["type"] == "response.output_item.done"]
    added = [one["output_index"] for one in told if one["type"] == "response.output_item.added"]
    assert done == told[-1]["response"]["output"]
    assert added == list(range(len(done)))
    for index, item in enumerate(done):
        mine = [one for one in told if one.get("output_index") == index]
        parts = "".join(one["delta"] for one in mine if one["type"].endswith(".delta"))
        if item["type"] == "message":
            text = item["content"][0]["text"]
            assert parts == text
        elif item["type"] == "custom_tool_call":
            assert parts == item["input"]
            calls.append(Called(item["call_id"], item["name"], item["input"]))
        else:
            assert parts == item["arguments"]
            given = json.loads(item["arguments"])
            calls.append(Called(item["call_id"], item["name"], given, item.get("namespace", "")))
    return Message(text, tuple(calls), tokens_of(told[-1]["response"]["usage"]))


def chat(raw: bytes) -> Message:
    """Read a stream of Chat Completions whose usage was asked for."""
    *told, end = events(raw)
    assert end == "[DONE]"
    assert {one["object"] for one in told} == {"chat.completion.chunk"}
    assert [bool(one["choices"]) for one in told] == [True] * (len(told) - 1) + [False]
    deltas = [one["choices"][0]["delta"] for one in told[:-1]]
    assert deltas[0]["role"] == "assistant"
    calls: dict[int, Json] = {}
    for delta in deltas:
        for part in delta.get("tool_calls", ()):
            if "id" in part:
                assert part["index"] == len(calls)
                calls[part["index"]] = {"id": part["id"], "name": part["function"]["name"], "told": ""}
            calls[part["index"]]["told"] += part["function"]["arguments"]
    reasons = [one["choices"][0]["finish_reason"] for one in told[:-1]]
    assert reasons == [None] * (len(reasons) - 1) + ["tool_calls" if calls else "stop"]
    text = "".join(delta.get("content") or "" for delta in deltas)
    made = tuple(Called(call["id"], call["name"], json.loads(call["told"])) for call in calls.values())
    return Message(text, made, tokens_of(told[-1]["usage"]))
