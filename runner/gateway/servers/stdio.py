"""MCP over the standard input and output of a tool server, which may say anything at any time.

Source: modelcontextprotocol.io/specification/2025-06-18/basic/transports (stdio).
"""

import asyncio
import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ledger.model.strict_json import StrictJsonError, parse_json
from runner.errors import RunnerError

REVISION = "2025-06-18"
LINE_BYTES = 1_000_000
UNASKED_BYTES = 8_000_000  # read between two requests
_CHUNK_BYTES = 1 << 16
_ERRORS_BYTES = 2_000
_NO_METHOD = -32601  # source: jsonrpc.org/specification


class ToolServerError(RunnerError):
    """A request has no result; the message is for the agent. `outcome`: error, timeout or gone."""

    def __init__(self, outcome: str, text: str) -> None:
        self.outcome = outcome
        super().__init__(text)


class StdioClient:
    """Requests to one server and their answers. `errors` is the end of its standard error."""

    def __init__(self, wire: socket.socket, errors: socket.socket) -> None:
        self._wire, self._errors = wire, errors
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._sent = self._unasked_bytes = 0
        self._tail = b""
        self._gone = ""
        self._writer: asyncio.StreamWriter | None = None
        self._error_writer: asyncio.StreamWriter | None = None
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    @property
    def gone(self) -> str:
        """Why nothing more comes from it; empty while it lives."""
        return self._gone

    @property
    def said(self) -> str:
        """The end of its standard error."""
        return self._tail.decode("utf-8", "replace").strip()

    async def open(self) -> None:
        """Connect; its output is read from now on."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._wire)
        errors, self._error_writer = await asyncio.open_unix_connection(sock=self._errors)
        self._tasks = (
            asyncio.create_task(self._listen(reader)),
            asyncio.create_task(self._keep_errors(errors)),
        )

    async def ask(self, method: str, params: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        """Return the result of a request. Raises ToolServerError."""
        if self._gone:
            raise ToolServerError("gone", self._gone)
        self._sent += 1
        number, self._unasked_bytes = self._sent, 0
        answer = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(limit_s):
                await self.tell({"id": number, "method": method, "params": dict(params)})
                message = await answer
        except TimeoutError as error:
            why = {"requestId": number, "reason": "timeout"}
            self._send({"method": "notifications/cancelled", "params": why})
            raise ToolServerError("timeout", f"it did not answer within {limit_s:.0f} s") from error
        finally:
            del self._pending[number]
        if isinstance(message.get("result"), dict):
            return dict(message["result"])
        problem = message.get("error")
        text = problem.get("message") if isinstance(problem, dict) else None
        raise ToolServerError("error", str(text or "its answer has no result"))

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message, and wait until it is read. Raises ToolServerError."""
        self._send(message)
        if self._writer is not None:
            try:
                await self._writer.drain()
            except OSError as error:
                self._end("it ended")
                raise ToolServerError("gone", self._gone) from error

    def close(self, why: str) -> None:
        """Let go of it: nothing more is read, and who waits for it is told why."""
        for task in self._tasks:
            task.cancel()
        self._end(why)
        if self._error_writer is not None:
            self._error_writer.transport.abort()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._writer is not None and not self._gone:
            self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        line, skips = bytearray(), False
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK_BYTES):
                self._unasked_bytes += len(chunk)
                if self._unasked_bytes > UNASKED_BYTES:
                    self._end(f"it wrote more than {UNASKED_BYTES // 1_000_000} MB at once")
                    return
                first, *others = chunk.split(b"\n")
                line += first
                for piece in others:
                    if not skips:
                        self._take(bytes(line))
                    line, skips = bytearray(piece), False
                if len(line) > LINE_BYTES:
                    line, skips = bytearray(), True
                    self._fail_pending(f"its answer is larger than {LINE_BYTES // 1_000_000} MB")
        self._end("it ended")

    def _take(self, line: bytes) -> None:
        try:
            message = parse_json(line)
        except StrictJsonError as error:
            if line.startswith(b'{"'):  # no line of a log
                self._fail_pending(f"its answer is refused: {error.because}")
            return
        if not isinstance(message, dict):
            return
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            self._answer(number, method)
        elif type(number) is int and number in self._pending and not self._pending[number].done():
            self._pending[number].set_result(message)

    def _answer(self, number: object, method: str) -> None:
        """Answer a request of the server; a notification has no number."""
        if not isinstance(number, int | str):
            return
        if method == "ping":
            self._send({"id": number, "result": {}})
        else:
            refusal = {"code": _NO_METHOD, "message": "Cardinal offers nothing to tool servers"}
            self._send({"id": number, "error": refusal})

    def _fail_pending(self, why: str) -> None:
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_result({"error": {"message": why}})

    def _end(self, why: str) -> None:
        self._gone = self._gone or why
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_exception(ToolServerError("gone", self._gone))
        if self._writer is not None:
            self._writer.transport.abort()

    async def _keep_errors(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK_BYTES):
                self._tail = (self._tail + chunk)[-_ERRORS_BYTES:]
