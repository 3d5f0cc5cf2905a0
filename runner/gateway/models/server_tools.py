"""Finds what in a request would make the provider itself go to the network for the agent. Pure.

A search, a fetched page or a picture by its address carries words out of a container as well as a socket.
"""

from collections.abc import Iterator, Mapping
from typing import Any

_TOOLS = ("web_search", "web_fetch", "mcp")  # beginnings of types; providers add dates to them
_SETTINGS = ("mcp_servers", "web_search_options")
_ADDRESSES = ("image_url", "file_url")


def outreach(given: Mapping[str, Any]) -> str:
    """Return the first thing in a request of any protocol that reaches out; empty when nothing does."""
    for name in _SETTINGS:
        if given.get(name):
            return name
    return next(_reaching([given]), "")


def _reaching(waiting: list[Any]) -> Iterator[str]:
    """Yield each tool that reaches out, and each picture or document that is given by its address."""
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
            yield from _searches(part.get("tools"))
            # What a model gave to a tool is words to the provider, whatever it looks like.
            said = ("input",) if part.get("type") == "tool_use" else ("tools",)
            waiting += [value for name, value in part.items() if name not in said]


def _searches(tools: object) -> Iterator[str]:
    """Yield each tool that looks on the network, also within others."""
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            kind = tool.get("type")
            cached = tool.get("external_web_access") is False
            if isinstance(kind, str) and kind.startswith(_TOOLS) and not cached:
                yield f"the tool {kind[:60]}"
            yield from _searches(tool.get("tools"))


def _remote(value: object) -> bool:
    return isinstance(value, str) and not value.lstrip().lower().startswith("data:") and ":" in value
