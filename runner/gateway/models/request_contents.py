"""Contents of a request: text, pictures, files, and tools that reach out. Pure.

Only listed contents are allowed, since others may cost anything: stored context, a container, an answer in
sound, a second model. A search, a fetched page or a picture by its address carries words out of a container
as well as a socket.
"""

import hashlib
import json
import marshal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.errors import RunnerError

_REACHING_TOOLS = ("web_search", "web_fetch", "mcp")  # beginnings of types; providers add dates to them
_SETTINGS = ("mcp_servers", "web_search_options")
_ADDRESSES = ("image_url", "file_url")


class UnknownCostError(RunnerError):
    """The cost of this part of a request cannot be estimated before the call."""

    def __init__(self, part: str) -> None:
        super().__init__(f"the gateway cannot tell what {part} would cost: leave it out")


@dataclass(frozen=True, slots=True)
class Weight:
    """The size of contents. `files`: documents and searches; each may fill the model's context."""

    text_bytes: int = 0
    pictures: int = 0
    files: int = 0

    def __add__(self, other: "Weight") -> "Weight":
        return Weight(
            self.text_bytes + other.text_bytes, self.pictures + other.pictures, self.files + other.files
        )


_SHARED = frozenset({
    "model", "stream", "tools", "tool_choice", "metadata", "temperature", "top_p", "service_tier",
})  # fmt: skip
_OPENAI = _SHARED | frozenset({
    "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "safety_identifier", "store", "stream_options", "top_logprobs", "user", "verbosity",
})  # fmt: skip
MESSAGES = _SHARED | frozenset({
    "cache_control", "context_management", "max_tokens", "messages", "output_config", "output_format",
    "speed", "stop_sequences", "system", "thinking", "top_k",
})  # fmt: skip
RESPONSES = _OPENAI | frozenset({
    "client_metadata", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "reasoning",
    "text", "truncation",
})  # fmt: skip
CHAT = _OPENAI | frozenset({
    "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
    "max_tokens", "messages", "modalities", "n", "presence_penalty", "reasoning_effort", "response_format",
    "seed", "stop", "web_search_options",
})  # fmt: skip
# Of servers that speak OpenAI's protocol; none of them chooses another model or another seller of it.
COMPATIBLE = CHAT | frozenset({
    "chat_template_kwargs", "enable_thinking", "include_reasoning", "min_p", "reasoning",
    "repetition_penalty", "thinking", "top_k", "usage",
})  # fmt: skip
_ONE_VALUE: Mapping[str, object] = {"n": 1, "modalities": ["text"]}
_TEXTS = frozenset({
    # Anthropic
    "text", "thinking", "redacted_thinking", "tool_use", "tool_result", "tool_reference", "search_result",
    "compaction", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "web_fetch_result",
    "web_fetch_tool_result_error", "tool_search_tool_result", "mcp_tool_use", "mcp_tool_result",
    # OpenAI
    "message", "input_text", "output_text", "summary_text", "reasoning_text", "refusal", "reasoning",
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
    "apply_patch_call_output", "tool_search_call", "tool_search_output", "web_search_call", "mcp_list_tools",
    "mcp_call", "mcp_approval_request", "mcp_approval_response", "computer_call", "computer_call_output",
    "additional_tools",
})  # fmt: skip
_PICTURES = frozenset({"image", "input_image", "image_url", "computer_screenshot"})
_FILES = frozenset({"document", "input_file", "file"})
MAX_PARTS = 10_000
_MARSHAL = 2  # of this version the same value is always the same bytes
_STORED = ("file_id", "container", "audio")  # named in a part, and kept at the provider
# Tools that run where the agent is; the provider's are a matter of the network (see `find_network_tool`).
_TOOLS = (
    "custom", "function", "namespace", "local_shell", "apply_patch", "tool_search", "computer", "bash_",
    "memory_", "text_editor_",
)  # fmt: skip
_SEARCHES = ("web_search", "web_fetch", "mcp")
_READ = ("messages", "input", "system")
_INNER = ("content", "output")
# What has parts of its own; other results of the provider's tools are counted by their bytes alone.
_HOLDERS = frozenset({
    "message", "tool_result", "web_fetch_tool_result", "web_fetch_result", "mcp_tool_result",
    "function_call_output", "custom_tool_call_output", "computer_call_output",
})  # fmt: skip


def check_fields(
    given: Mapping[str, Any], known: frozenset[str], only: Mapping[str, object] = _ONE_VALUE
) -> None:
    """Raise UnknownCostError for an unknown field, or another value than the one that `only` allows."""
    for name, value in given.items():
        if value is None or (value is False and name not in known):
            continue
        if name not in known and name not in ("mcp_servers",):
            raise UnknownCostError(f"`{name[:60]}`")
        if value != only.get(name, value):
            raise UnknownCostError(f"`{name}` other than {json.dumps(only[name])}")
    managed = given.get("context_management")
    edits = managed.get("edits", []) if isinstance(managed, dict) else managed
    for edit in edits if isinstance(edits, list) else []:
        if not str(edit.get("type") if isinstance(edit, dict) else "").startswith("clear_"):
            raise UnknownCostError("`context_management` that writes anything")


def weigh(name: str, part: object) -> Weight:
    """Return the correction of the bytes of a part of the field `name`. Raises UnknownCostError."""
    if name == "tools":
        return Weight(files=_searches(part))
    if name in _READ:
        return _read(part)
    return Weight(files=name in _SETTINGS)


def estimate_tokens(
    given: Mapping[str, Any], weigh: Callable[[str, object], Weight] = weigh, model: object = None
) -> Iterator[tuple[bytes, Weight]]:
    """Yield each part of a request with a digest of its field up to there. Raises UnknownCostError.

    Providers cache by prefix, so parts come in the order in which they are read.
    """
    count = 0
    for name, value in given.items():
        known = model or given.get("model")
        digest = hashlib.blake2b(f"{known}\0{name}".encode(errors="replace"), digest_size=12)
        parts = value if isinstance(value, list) else [value]
        count += len(parts)
        if count > MAX_PARTS:
            raise UnknownCostError(f"more than {MAX_PARTS:,} messages and tools")
        for part in parts:
            packed = marshal.dumps(part, _MARSHAL)
            digest.update(packed)
            yield digest.digest(), Weight(len(packed)) + weigh(name, part)


def _searches(tool: object) -> int:
    kind = tool.get("type") if isinstance(tool, dict) else None
    if kind is None or not isinstance(tool, dict):
        return 0
    if isinstance(kind, str) and kind.startswith(_SEARCHES):
        return 1
    here = isinstance(kind, str) and kind.startswith(_TOOLS)
    if kind == "shell":  # on the provider's machine by default
        environment = tool.get("environment")
        here = isinstance(environment, dict) and environment.get("type") == "local"
    if not here:
        raise UnknownCostError(f"the tool {str(kind)[:60]!r}")
    inner = tool.get("tools")
    return sum(map(_searches, inner)) if isinstance(inner, list) else 0


def _read(part: object) -> Weight:
    """Return the correction of a part's bytes for the pictures and files in it."""
    total, waiting, count = Weight(), [part], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > MAX_PARTS:
            raise UnknownCostError(f"a message with more than {MAX_PARTS:,} parts")
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            total += _weight_of(part)
            if _kind(part) in _HOLDERS:
                waiting += [part[name] for name in _INNER if name in part]
            source = part.get("source")
            if isinstance(source, dict) and source.get("type") == "content":
                waiting.append(source.get("content"))
    return total


def _kind(part: Mapping[str, Any]) -> object:
    """Return a part's type. A message needs none; otherwise an id names stored contents."""
    return part.get("type", "message" if part.keys() & {"role", "content"} else None)


def _weight_of(part: Mapping[str, Any]) -> Weight:
    kind, offered = _kind(part), part.get("tools")
    inside = [value for name in ("source", "file", "image_url") if isinstance(value := part.get(name), dict)]
    if any(holder.get(name) for holder in (part, *inside) for name in _STORED):
        raise UnknownCostError("what is stored at the provider")
    if isinstance(kind, str) and kind in _TEXTS:
        return Weight(files=sum(map(_searches, offered)) if isinstance(offered, list) else 0)
    data = [
        -len(value)
        for holder in (part, *inside)
        for name in ("data", "file_data", "image_url", "url")
        if isinstance(value := holder.get(name), str)
    ]
    if isinstance(kind, str) and kind in _PICTURES:
        return Weight(sum(data), pictures=1)
    if isinstance(kind, str) and kind in _FILES:
        written = part.get("source")
        if isinstance(written, dict) and written.get("type") in ("text", "content"):
            return Weight()
        return Weight(sum(data), files=1)
    raise UnknownCostError(f"a part of the type {str(kind)[:60]!r}")


def find_network_tool(given: Mapping[str, Any]) -> str:
    """Return the first part of a request that reaches out; empty without any."""
    for name in _SETTINGS:
        if given.get(name):
            return name
    return next(_reaching([given]), "")


def _reaching(waiting: list[Any]) -> Iterator[str]:
    """Yield tools that reach out, and pictures or documents given by their address."""
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if part.get("type") == "url" and _remote(part.get("url")):
                yield "a source with an address"
            for name in _ADDRESSES:
                value = part.get(name)
                if _remote(value.get("url") if isinstance(value, dict) else value):
                    yield f"a {name} with an address"
            yield from _searching_tools(part.get("tools"))
            # What a model gave to a tool is words to the provider, whatever it looks like.
            said = ("input",) if part.get("type") == "tool_use" else ("tools",)
            waiting += [value for name, value in part.items() if name not in said]


def _searching_tools(tools: object) -> Iterator[str]:
    """Yield tools that search the network, nested ones too."""
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            kind = tool.get("type")
            cached = tool.get("external_web_access") is False
            if isinstance(kind, str) and kind.startswith(_REACHING_TOOLS) and not cached:
                yield f"the tool {kind[:60]}"
            yield from _searching_tools(tool.get("tools"))


def _remote(value: object) -> bool:
    return isinstance(value, str) and not value.lstrip().lower().startswith("data:") and ":" in value
