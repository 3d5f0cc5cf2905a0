"""The lines that Claude Code reads on its stdin.

Source: tried out with the exact version; it has no published schema.
"""

import json
from collections.abc import Mapping
from typing import Any


def said_by_user(text: str) -> bytes:
    """Return a message of the user. It never begins as a command of the program does (`/clear`)."""
    shown = f"A person wrote: {text}" if text.lstrip().startswith("/") else text
    content = [{"type": "text", "text": shown}]
    return _line({"type": "user", "message": {"role": "user", "content": content}})


def permitted(ask_id: str, wish: Mapping[str, Any]) -> bytes:
    """Return the leave to use a tool just as it was wished."""
    return _answer(ask_id, {"behavior": "allow", "updatedInput": dict(wish)})


def refused(ask_id: str, why: str) -> bytes:
    """Return the refusal; the model reads `why` as the tool's result."""
    return _answer(ask_id, {"behavior": "deny", "message": why})


def unknown_request(ask_id: str) -> bytes:
    """Return that a request of the program has no meaning here, so that it does not wait."""
    answer = {"subtype": "error", "request_id": ask_id, "error": "not known here"}
    return _line({"type": "control_response", "response": answer})


def interruption(request_id: str) -> bytes:
    """Return the wish to stop. What waits behind the running turn goes too, else it would begin the next."""
    wish = {"subtype": "interrupt", "cancel_queued": True}
    return _line({"type": "control_request", "request_id": request_id, "request": wish})


def _answer(ask_id: str, response: Mapping[str, Any]) -> bytes:
    answer = {"subtype": "success", "request_id": ask_id, "response": response}
    return _line({"type": "control_response", "response": answer})


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"
