"""Routes of the gateway's model API, and their protocols."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from runner.gateway.models.anthropic import Messages
from runner.gateway.models.openai import Chat, Responses
from runner.gateway.models.protocol import Wire


@dataclass(frozen=True, slots=True)
class Route:
    """A call's destination: `path` at the provider of `wire`. `free`: it costs nothing."""

    wire: Wire
    path: str
    free: bool = False


_MESSAGES, _RESPONSES = Messages(), Responses()
_CHAT, _COMPATIBLE = Chat("openai"), Chat("compatible")
ROUTES: Mapping[str, Route] = {
    "/anthropic/v1/messages": Route(_MESSAGES, "/v1/messages"),
    "/anthropic/v1/messages/count_tokens": Route(_MESSAGES, "/v1/messages/count_tokens", free=True),
    "/openai/v1/responses": Route(_RESPONSES, "/v1/responses"),
    "/openai/v1/chat/completions": Route(_CHAT, "/v1/chat/completions"),
    "/compatible/v1/chat/completions": Route(_COMPATIBLE, "/v1/chat/completions"),
}
LISTS: Mapping[str, Wire] = {
    "/anthropic/v1/models": _MESSAGES,
    "/openai/v1/models": _CHAT,
    "/compatible/v1/models": _COMPATIBLE,
}


def wire_of(path: str) -> Wire:
    """Return the protocol for errors at an unknown path."""
    return _MESSAGES if path.startswith("/anthropic/") else _CHAT


def models_listed(wire: Wire, models: tuple[str, ...]) -> bytes:
    """Return the list of models in that provider's format."""
    if wire.provider == "anthropic":
        rows = [{"type": "model", "id": name, "display_name": name} for name in models]
        ends = {"first_id": models[0] if models else None, "last_id": models[-1] if models else None}
        return json.dumps({"data": rows, "has_more": False, **ends}).encode()
    rows = [{"id": name, "object": "model", "owned_by": wire.provider} for name in models]
    # Codex looks for `models`, and complains when it is not there.
    return json.dumps({"object": "list", "data": rows, "models": []}).encode()
