"""Facts in OpenCode's events, each once and truncated. Standard library only: it runs in the container."""

import time
from collections.abc import Callable
from typing import Any

_ALIVE_S = 5.0
_TEXT_CHARS = 60_000
_FIELD_CHARS = 4_000
_ITEMS = 100


class Facts:
    """Reports the events of one turn; a fact may come twice after the stream was lost."""

    def __init__(self, say: Callable[..., None]) -> None:
        self._say = say
        self.session = ""
        self.asking: dict[str, str] = {}  # requests that wait, and whose session
        self.empty_steps = 0  # of the model, in a row: without a single token
        self._prompts: set[str] = set()  # messages of people, not of the agent
        self._reported: set[tuple[str, str]] = set()
        self._alive_at = 0.0

    def tell(self, kind: str, about: dict[str, Any]) -> None:
        """Report an event. Raises KeyError, TypeError or AttributeError for an unknown format."""
        main = about.get("sessionID", self.session) == self.session
        match kind:
            case "message.part.updated":
                self._alive()
                self._part(about["part"], main)
            case "message.part.delta":
                self._alive()
            case "message.updated":
                if about["info"].get("role") == "user":
                    self._prompts.add(str(about["info"].get("id")))
            case "permission.asked":
                self._permission(about, main)
            case "permission.replied":
                self.asking.pop(str(about.get("requestID")), None)
            case "todo.updated" if main:
                items = [[cut(t["content"]), t["status"] == "completed"] for t in about["todos"][:_ITEMS]]
                self._say("todo", items=items)

    def _permission(self, about: dict[str, Any], main: bool) -> None:
        if self._first(str(about["id"]), "asked"):
            self.asking[str(about["id"])] = str(about.get("sessionID"))
            more = about.get("metadata") or {}
            self._say(
                "permission",
                id=about["id"],
                permission=cut(about["permission"]),
                command=cut(more.get("command") or more.get("filepath") or "", _TEXT_CHARS),
                patterns=[cut(pattern) for pattern in about["patterns"][:50]],
                child=not main,
            )

    def _part(self, part: dict[str, Any], main: bool) -> None:
        match part["type"]:
            case "text":
                # A person's text has no time; the model's has an end when it is whole.
                whole = (part.get("time") or {}).get("end") and part["messageID"] not in self._prompts
                if main and whole and part["text"].strip() and self._first(part["id"], "text"):
                    self._say("text", text=cut(part["text"], _TEXT_CHARS))
            case "tool":
                self._tool(part, not main)
            case "step-finish" if self._first(part["id"], "step"):
                tokens = part.get("tokens") or {}
                empty = part["reason"] == "unknown" and not tokens.get("input") and not tokens.get("output")
                self.empty_steps = self.empty_steps + 1 if empty else 0

    def _tool(self, part: dict[str, Any], child: bool) -> None:
        state = part["state"]
        given = {key: cut(text) for key, text in state.get("input", {}).items() if isinstance(text, str)}
        use = {"tool": cut(part["tool"]), "input": given, "child": child}
        if state["status"] == "running" and self._first(part["id"], "start"):
            self._say("tool_start", **use)
        if state["status"] in {"completed", "error"} and self._first(part["id"], "end"):
            ok = state["status"] == "completed" and part["tool"] != "invalid"
            if part["tool"] == "bash":
                ok = ok and (state.get("metadata") or {}).get("exit") == 0
            title = state.get("title") or state.get("error") or ""
            self._say("tool_end", **use, ok=ok, title=cut(title))

    def _alive(self) -> None:
        """Report a sign of life while the model speaks: the supervisor counts silence."""
        if time.monotonic() - self._alive_at >= _ALIVE_S:
            self._alive_at = time.monotonic()
            self._say("alive")

    def _first(self, what: str, fact: str) -> bool:
        known = (what, fact) in self._reported
        self._reported.add((what, fact))
        return not known


def cut(text: object, chars: int = _FIELD_CHARS) -> str:
    return str(text)[:chars]


def fault(error: dict[str, Any]) -> str:
    about = error.get("data") or {}
    status = f"{about['statusCode']} " if about.get("statusCode") else ""
    return cut(f"{error.get('name', 'Error')}: {status}{about.get('message', '')}", 600)
