"""An input that ends: requests from before are answered first, within a bounded time."""

from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

WAIT_S = 30.0  # for the answers, after the end of the input
ENDLESS = "subscriptions/listen"  # is answered when the client leaves
CANCELLED = "notifications/cancelled"


class OpenRequests:
    """The requests that came and have no answer yet."""

    def __init__(self) -> None:
        self._open = set[object]()
        self._changed = anyio.Event()

    def note_received(self, message: SessionMessage | Exception) -> None:
        """Note a request, or that its sender wants no answer any more."""
        match message.message if isinstance(message, SessionMessage) else None:
            case JSONRPCRequest(method=method, id=request) if method != ENDLESS:
                self._open.add(request)
            case JSONRPCNotification(method=method, params=params) if method == CANCELLED:
                self._close((params or {}).get("requestId"))

    def note_sent(self, message: SessionMessage) -> None:
        """Note an answer."""
        if isinstance(message.message, JSONRPCResponse | JSONRPCError):
            self._close(message.message.id)

    def _close(self, request: object) -> None:
        self._open.discard(request)
        self._changed.set()
        self._changed = anyio.Event()

    async def answered(self) -> None:
        """Wait until there is none."""
        while self._open:
            await self._changed.wait()


async def serve_to_the_last_answer(
    server: Server[Any], read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]
) -> None:
    """Run the server until its input has ended, and all answers are written or `WAIT_S` has passed."""
    to_server, given = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    from_server, answers = anyio.create_memory_object_stream[SessionMessage](0)
    requests = OpenRequests()

    async def pass_on_input() -> None:
        async with to_server, read:
            async for message in read:
                requests.note_received(message)
                await to_server.send(message)
            with anyio.move_on_after(WAIT_S):
                await requests.answered()

    async def pass_on_answers() -> None:
        async with write, answers:
            async for message in answers:
                await write.send(message)
                requests.note_sent(message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_on_input)
        tasks.start_soon(pass_on_answers)
        async with from_server, given:
            await server.run(given, from_server, server.create_initialization_options())
