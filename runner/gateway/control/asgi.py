"""The gateway's part of ASGI (source: asgi.readthedocs.io/en/latest/specs/www.html)."""

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from ledger.model.strict_json import StrictJsonError, parse_json
from runner.errors import RunnerError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


class ClientGoneError(RunnerError):
    """The agent's program closed its connection in the middle of its request."""


class OversizedBodyError(RunnerError):
    """A request is larger than the gateway takes."""

    def __init__(self, cap_bytes: int) -> None:
        super().__init__(f"the request is larger than {cap_bytes // 1_000_000} MB: send less at once")


class BodyRoom:
    """Limits on the bytes of all requests in memory, and of one; a container could send for ever."""

    def __init__(self, one_bytes: int, *, all_bytes: int) -> None:
        self._one_bytes, self._free_bytes = one_bytes, all_bytes

    async def read(self, receive: Receive) -> bytes:
        """Return a request's body; `done` frees its bytes. Raises OversizedBodyError, ClientGoneError."""
        body = bytearray()
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGoneError("the client is gone")
                piece: bytes = message.get("body", b"")
                body += piece
                self._free_bytes -= len(piece)
                if len(body) > self._one_bytes or self._free_bytes < 0:
                    raise OversizedBodyError(self._one_bytes)
                if not message.get("more_body", False):
                    return bytes(body)
        except BaseException:
            self.free(len(body))
            raise

    def free(self, count_bytes: int) -> None:
        self._free_bytes += count_bytes


async def replay_strict_json(receive: Receive, send: Send, cap_bytes: int) -> Receive | None:
    """Return a `receive` that gives the body again; None where it was refused, for JSON with two readings.

    A body over `cap_bytes` is given on unread, for the one that answers.
    """
    body, messages = bytearray(), list[Message]()
    while len(body) <= cap_bytes:
        messages.append(await receive())
        body += messages[-1].get("body", b"")
        if messages[-1]["type"] == "http.disconnect" or not messages[-1].get("more_body", False):
            break
    try:
        if len(body) <= cap_bytes and body:
            parse_json(bytes(body))
    except StrictJsonError as error:
        problem = {"code": -32700, "message": f"the body cannot be read: {error.because}"}
        await respond(send, 400, json.dumps({"jsonrpc": "2.0", "id": None, "error": problem}).encode())
        return None
    waiting = iter(messages)

    async def again() -> Message:
        return next(waiting, None) or await receive()

    return again


async def respond(send: Send, status: int, body: bytes, headers: Headers = ()) -> None:
    all_headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
