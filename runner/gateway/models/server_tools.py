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
    tools = given.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        kind = tool.get("type") if isinstance(tool, dict) else None
        cached = isinstance(tool, dict) and tool.get("external_web_access") is False
        if isinstance(kind, str) and kind.startswith(_TOOLS) and not cached:
            return f"the tool {kind[:60]}"
    parts = [value for name, value in given.items() if name != "tools"]
    return next((f"a {name} with an address" for name in _addressed(parts)), "")


def _addressed(waiting: list[Any]) -> Iterator[str]:
    """Yield the kind of each picture or document that is given by its address."""
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if part.get("type") == "url" and _remote(part.get("url")):
                yield "source"
            for name in _ADDRESSES:
                value = part.get(name)
                if _remote(value.get("url") if isinstance(value, dict) else value):
                    yield name
            # What a model gave to a tool is words to the provider, whatever it looks like.
            said = ("input",) if part.get("type") == "tool_use" else ()
            waiting += [value for name, value in part.items() if name not in said]


def _remote(value: object) -> bool:
    return isinstance(value, str) and not value.lstrip().lower().startswith("data:") and ":" in value
