"""Reader of requests in the three protocols; unknown parts are skipped."""

import json
import re
from collections.abc import Iterator
from typing import Any

from forge.model.conversation import Conversation, Offer, Outcome, Used, Words

_FOLDER = re.compile(r"(?:[Ww]orking directory: |<cwd>)(/[^\s<\"]+)")
# Texts in the user's place that the agents' programs write themselves.
_PROGRAMS_OWN = ("<system-reminder>", "<environment_context>", "<user_instructions>", "# AGENTS.md")
_DEFERRED_TOOLS = re.compile(r"^(mcp__\w+|TodoWrite|Task\w+)$", re.MULTILINE)
_DEFERRED_SPACES = re.compile(r"^- (mcp__\w+|multi_agent\w*)", re.MULTILINE)
Entries = tuple[Words | Used | Outcome, ...]


def read(path: str, body: dict[str, Any]) -> Conversation | None:
    """Return the conversation of a request, or None for a path of no known protocol."""
    if path.endswith("/messages"):
        return _messages(body)
    if path.endswith("/responses"):
        return _responses(body)
    if path.endswith("/chat/completions"):
        return _chat(body)
    return None


def texts(content: Any) -> list[str]:
    """Return the texts of a message's content: a text itself, or blocks of any protocol."""
    if isinstance(content, str):
        return [content]
    collected: list[str] = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            collected.append(block["text"])
    return collected


def _messages(body: dict[str, Any]) -> Conversation:
    system = texts(body.get("system"))
    entries: list[Words | Used | Outcome] = []
    for message in body.get("messages", ()):
        content, role = message.get("content"), message.get("role")
        if role == "system":
            system += texts(content)
            continue
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            entries += _block(block, role, system)
    tools = body.get("tools") or []
    names = frozenset(tool["name"] for tool in tools if not tool.get("defer_loading"))
    said = "\n".join(system)
    search = "ToolSearch" if "ToolSearch" in names else ""
    deferred = frozenset(_DEFERRED_TOOLS.findall(said)) - names if search else frozenset()
    offer = Offer(names, deferred=deferred, search=search)
    return _conversation("anthropic", body, said, tuple(entries), offer)


def _block(block: dict[str, Any], role: str, system: list[str]) -> Entries:
    match block.get("type"):
        case "text" if role == "user":
            return _words(block["text"], system)
        case "tool_use":
            return (Used(block["id"], block["name"], block.get("input")),)
        case "tool_result":
            said = "\n".join(texts(block.get("content")))
            return (Outcome(block["tool_use_id"], said, bool(block.get("is_error"))),)
    return ()


def _words(text: str, system: list[str]) -> Entries:
    if text.lstrip().startswith(_PROGRAMS_OWN):
        system.append(text)
        return ()
    return (Words(text),)


def _responses(body: dict[str, Any]) -> Conversation:
    system: list[str] = texts(body.get("instructions"))
    given = body.get("input")
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given or []
    entries = [entry for item in items for entry in _item(item, system)]
    names, spaces = set(), set()
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            spaces.add(tool["name"])
        elif tool.get("name"):
            names.add(tool["name"])
    said = "\n".join(system)
    if names:  # without tools there is nothing to search them with
        spaces |= set(_DEFERRED_SPACES.findall(said))
    return _conversation("responses", body, said, tuple(entries), Offer(frozenset(names), frozenset(spaces)))


def _item(item: dict[str, Any], system: list[str]) -> Iterator[Words | Used | Outcome]:
    match item.get("type", "message"):
        case "message" if item.get("role") == "user":
            for text in texts(item.get("content")):
                yield from _words(text, system)
        case "message" if item.get("role") in ("system", "developer"):
            system += texts(item.get("content"))
        case "function_call":
            yield Used(item["call_id"], item["name"], _parsed(item.get("arguments")))
        case "custom_tool_call":
            yield Used(item["call_id"], item["name"], item.get("input"))
        case "function_call_output" | "custom_tool_call_output":
            yield Outcome(item["call_id"], "\n".join(texts(item.get("output"))))


def _chat(body: dict[str, Any]) -> Conversation:
    system: list[str] = []
    entries: list[Words | Used | Outcome] = []
    for message in body.get("messages", ()):
        said = texts(message.get("content"))
        match message.get("role"):
            case "system" | "developer":
                system += said
            case "user":
                for text in said:
                    entries += _words(text, system)
            case "assistant":
                for call in message.get("tool_calls") or ():
                    function = call["function"]
                    entries.append(Used(call["id"], function["name"], _parsed(function.get("arguments"))))
            case "tool":
                entries.append(Outcome(message["tool_call_id"], "\n".join(said)))
    names = frozenset(tool["function"]["name"] for tool in body.get("tools") or [] if "function" in tool)
    counts = bool((body.get("stream_options") or {}).get("include_usage"))
    return _conversation("chat", body, "\n".join(system), tuple(entries), Offer(names), counts)


def _conversation(
    protocol: str, body: dict[str, Any], system: str, entries: Entries, offer: Offer, counts: bool = True
) -> Conversation:
    match = _FOLDER.search(system)
    model, stream = str(body.get("model") or ""), bool(body.get("stream"))
    return Conversation(protocol, model, stream, system, entries, offer, match[1] if match else "", counts)


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError):
        return arguments
