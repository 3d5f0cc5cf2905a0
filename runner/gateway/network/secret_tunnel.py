"""Tunnels that end here, because the operator's secrets are added to their requests.

Each carries one request of HTTP/1.1. A redirect is the client's to follow: another host gets no secret.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

import h11

from runner.gateway.control.messages import SecretUse, Warned, encode_event
from runner.gateway.network.added_header import AddedHeader, Mask, with_secrets
from runner.gateway.network.addresses import BadAuthorityError
from runner.gateway.network.authority import Authority
from runner.gateway.network.request import BadRequestError
from runner.text.plain import one_line

CHUNK_BYTES = 1 << 16
_LAST_WORDS_S = 5.0
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    429: "Too Many Requests",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
MAX_REQUESTS = 50_000  # with secrets in one claim: an agent could ask all day
MAX_BYTES = 4_000_000_000  # of one request and its answer
_HEAD_BYTES = 65_536
_OPEN_S = 10.0  # for a handshake and the head of a request
T = TypeVar("T")


class Reads(Protocol):
    """An end that bytes come from; none is its end."""

    async def read(self, n: int) -> bytes:
        """Return at most `n` bytes."""


async def read_request(head: h11.Connection, reader: Reads) -> h11.Request:
    """Return the next request. Raises ConnectionResetError when none comes, and h11's own errors."""
    while True:
        event = head.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            raise ConnectionResetError("it closed before it asked for anything")
        head.receive_data(await reader.read(CHUNK_BYTES))


async def send_body(
    head: h11.Connection,
    onwards: h11.Connection,
    reader: Reads,
    writer: asyncio.StreamWriter,
    beat: Callable[[], None],
) -> None:
    """Send the body of the request in `head` onwards."""
    while True:
        event = head.next_event()
        if event is h11.NEED_DATA:
            head.receive_data(await reader.read(CHUNK_BYTES))
            beat()
        elif isinstance(event, h11.Data):
            writer.write(onwards.send(h11.Data(data=event.data)) or b"")
            await writer.drain()
        elif isinstance(event, h11.EndOfMessage):
            writer.write(onwards.send(h11.EndOfMessage()) or b"")
            return
        else:
            raise ConnectionResetError("it went away within its request")


async def pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    beat: Callable[[], None],
    checked: Callable[[bytes], bytes] = bytes,
) -> None:
    """Carry bytes until one end has no more."""
    while chunk := await reader.read(CHUNK_BYTES):
        beat()
        writer.write(checked(chunk))
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def drain_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the rest: a socket closed with unread bytes would discard its answer."""
    with suppress(OSError):
        writer.write_eof()
        async with asyncio.timeout(_LAST_WORDS_S):
            while await reader.read(CHUNK_BYTES):
                pass


async def close_writer(writer: asyncio.StreamWriter) -> None:
    """Send the rest within the time of an active reader, then close."""
    writer.close()
    try:
        async with asyncio.timeout(_LAST_WORDS_S):
            await writer.wait_closed()
    except (OSError, asyncio.CancelledError):
        abort(writer)


def abort(writer: asyncio.StreamWriter) -> None:
    """End the connection at once; Python 3.11.2, Debian 12's, fails where one with TLS was lost before."""
    with suppress(AttributeError):
        writer.transport.abort()


async def both(first: asyncio.Task[None], second: asyncio.Task[None]) -> None:
    """Wait for two tasks; when one fails, or the wait is cancelled, the other ends too."""
    try:
        await asyncio.wait((first, second), return_when=asyncio.FIRST_EXCEPTION)
    finally:
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)


class RequestRefusedError(Exception):
    """The request is answered with this status and reason, and goes nowhere."""

    def __init__(self, status: int, why: str) -> None:
        self.status, self.why = status, why
        super().__init__(why)

    @property
    def answer(self) -> bytes:
        body = one_line(self.why, 600).encode() + b"\n"
        return (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        ).encode() + body


class TlsEnd:
    """Plain bytes of one client: at most `cap_bytes` in both directions together.

    asyncio's own start_tls would lose the bytes that the client sent early.
    Every method raises OSError when the client is gone or breaks TLS.
    """

    def __init__(self, context: ssl.SSLContext, ends: Ends, early: bytes, cap_bytes: int) -> None:
        self._reader, self._writer = ends
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._incoming.write(early)
        self._left_bytes = cap_bytes

    async def open(self) -> None:
        await self._retry_until_done(self._tls.do_handshake)

    async def read(self, n: int) -> bytes:
        """Return at most `n` bytes; none once the client has no more."""
        try:
            chunk = await self._retry_until_done(lambda: self._tls.read(n))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        self._count(len(chunk))
        return chunk

    async def write(self, data: bytes) -> None:
        if data:
            self._count(len(data))
            await self._retry_until_done(lambda: self._tls.write(data))

    async def close(self) -> None:
        with suppress(ssl.SSLError):  # the client's own goodbye is not waited for
            self._tls.unwrap()
        await self._flush()

    async def _retry_until_done(self, act: Callable[[], T]) -> T:
        while True:
            try:
                done = act()
            except ssl.SSLWantReadError:
                await self._flush()
                chunk = await self._reader.read(CHUNK_BYTES)
                if chunk:
                    self._incoming.write(chunk)
                else:
                    self._incoming.write_eof()
            except ssl.SSLError:
                await self._flush()  # its alert says why
                raise
            else:
                await self._flush()
                return done

    async def _flush(self) -> None:
        if self._outgoing.pending:
            self._writer.write(self._outgoing.read())
            await self._writer.drain()

    def _count(self, count_bytes: int) -> None:
        self._left_bytes -= count_bytes
        if self._left_bytes < 0:
            raise ConnectionAbortedError("more bytes than one request may have")


class SecretTunnels:
    """The secrets of one claim by host; every use is reported by name.

    `roots` decide whom they are sent to.
    """

    def __init__(
        self,
        added: Sequence[AddedHeader],
        authority: Authority,
        roots: ssl.SSLContext,
        report: Callable[[Mapping[str, object]], None],
        max_requests: int = MAX_REQUESTS,
    ) -> None:
        self._roots, self._report, self._left = roots, report, max_requests
        self._added: dict[tuple[str, int], list[AddedHeader]] = {}
        for header in added:
            self._added.setdefault((header.host, header.port), []).append(header)
        self._contexts = {host: authority.context(host) for host, _ in self._added}

    def has(self, host: str, port: int) -> bool:
        return (host, port) in self._added

    async def carry(
        self, where: tuple[str, int], early: bytes, inner: Ends, outer: Ends, beat: Callable[[], None]
    ) -> None:
        """Serve one request in a tunnel. Raises OSError when one of the two is gone or not to be trusted."""
        client = TlsEnd(self._contexts[where[0]], inner, early, MAX_BYTES)
        try:
            async with asyncio.timeout(_OPEN_S):
                await client.open()
                head = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
                request = self._add_secret(await self._read(head, client), where)
                await self._open(where, outer[1])
            await self._exchange(head, request, where, client, outer, beat=beat)
        except RequestRefusedError as refused:
            await client.write(refused.answer)
        await client.close()

    async def _read(self, head: h11.Connection, client: TlsEnd) -> h11.Request:
        try:
            return await read_request(head, client)
        except h11.RemoteProtocolError as error:
            raise RequestRefusedError(400, str(error)) from error

    def _add_secret(self, request: h11.Request, where: tuple[str, int]) -> h11.Request:
        try:
            request = with_secrets(request, *where, self._added[where])
        except (BadRequestError, BadAuthorityError) as error:
            raise RequestRefusedError(400, str(error)) from error
        if self._left <= 0:
            raise RequestRefusedError(429, "network: no more requests with secrets in this run")
        self._left -= 1
        if not self._left:
            self._report(encode_event(Warned("network: this was the last request with a secret in this run")))
        return request

    async def _open(self, where: tuple[str, int], upstream: asyncio.StreamWriter) -> None:
        try:
            await upstream.start_tls(self._roots, server_hostname=where[0], ssl_handshake_timeout=_OPEN_S)
        except (ssl.SSLError, ConnectionError) as error:
            why = getattr(error, "verify_message", "") or getattr(error, "reason", "") or "it hung up"
            raise RequestRefusedError(
                502, f"network: {where[0]} is not trusted with a secret: {why}"
            ) from error

    async def _exchange(
        self,
        head: h11.Connection,
        request: h11.Request,
        where: tuple[str, int],
        client: TlsEnd,
        outer: Ends,
        *,
        beat: Callable[[], None],
    ) -> None:
        onwards = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
        mask = Mask(text for header in self._added[where] for text in (header.value, header.hidden))
        outer[1].write(onwards.send(request) or b"")
        for header in self._added[where]:
            self._report(encode_event(SecretUse(header.host, header.secret)))
        body = asyncio.create_task(send_body(head, onwards, client, outer[1], beat))
        back = asyncio.create_task(_return(onwards, head, outer[0], client, mask, beat=beat))
        back.add_done_callback(lambda _: body.cancel())  # an answer may come before the body is through
        await both(body, back)


async def _return(
    onwards: h11.Connection,
    head: h11.Connection,
    upstream: asyncio.StreamReader,
    client: TlsEnd,
    mask: Mask,
    *,
    beat: Callable[[], None],
) -> None:
    """Carry the answer back, without secrets."""

    async def give(event: h11.Event) -> None:
        await client.write(head.send(event) or b"")

    while True:
        event = onwards.next_event()
        match event:
            case h11.NEED_DATA:
                onwards.receive_data(await upstream.read(CHUNK_BYTES))
                beat()
            case h11.InformationalResponse(status_code=status):
                await give(h11.InformationalResponse(status_code=status, headers=mask.headers(event)))
            case h11.Response(status_code=status):
                headers = [*mask.headers(event), (b"connection", b"close")]
                await give(h11.Response(status_code=status, headers=headers))
            case h11.Data(data=data):
                await give(h11.Data(data=mask.feed(bytes(data))))
            case h11.EndOfMessage():
                if left := mask.rest():
                    await give(h11.Data(data=left))
                await give(h11.EndOfMessage())
                return
            case _:
                raise ConnectionResetError("it went away within its answer")
