"""The messages of the app server's JSON-RPC as bytes: one line each."""

import json
from collections.abc import Mapping

_UNKNOWN_METHOD = -32601


def line(message: Mapping[str, object]) -> bytes:
    """Return the message as one line of ASCII."""
    return json.dumps(message).encode() + b"\n"


def request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    """Return a request that is answered under `number`."""
    return line({"id": number, "method": method, "params": params})


def not_offered(request_id: object, method: str) -> bytes:
    """Return the answer to a request of the server that Cardinal has none for: without one it would wait."""
    problem = {"code": _UNKNOWN_METHOD, "message": f"Cardinal does not offer {method[:100]}"}
    return line({"id": request_id, "error": problem})
