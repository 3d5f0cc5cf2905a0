"""Forward proxy of an agent: lets granted hosts through, and reports all requests.

A name is resolved here, and the very address that was checked is connected to. A plain request is parsed and
rewritten, so that the checked request is the one that is sent; each connection carries one.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import h11

from runner.gateway.control.messages import HostRequest, Warned, written
from runner.gateway.network.addresses import Address, BadAuthorityError, NetworkAccess, literal, reachable
from runner.gateway.network.request import BadRequestError, ProxyRequest, onward, target_of
from runner.gateway.network.tls_hello import HANDSHAKE, UNRECOGNIZED_NAME, BadHelloError, Hellos
from runner.text.plain import one_line

Resolve = Callable[[str], Awaitable[tuple[Address, ...]]]
Tell = Callable[[Mapping[str, object]], None]

_CHUNK_BYTES = 1 << 16
_LAST_WORDS_S = 5.0
_TRIED = 3  # addresses of one host
_REASONS = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable"}


@dataclass(frozen=True, slots=True)
class NetworkLimits:
    """Load limits of one run's agent on the proxy."""

    connections: int = 64
    head_bytes: int = 16_384
    head_s: float = 10.0  # for the whole head of a request
    reach_s: float = 10.0  # for the name, and for each address
    idle_s: float = 300.0  # without a byte in either direction
    hosts_told: int = 500
    tls_ports: tuple[int, ...] = (80, 443)  # of a pattern without a port; tunnels to them carry TLS


async def resolved(host: str) -> tuple[Address, ...]:
    """Return the addresses of a name, as this machine resolves it. Raises OSError."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    texts = dict.fromkeys(str(entry[4][0]) for entry in infos)
    return tuple(address for address in map(literal, texts) if address is not None)


async def serve(
    listener: socket.socket,
    reach: NetworkAccess,
    tell: Tell,
    *,
    resolve: Resolve = resolved,
    limits: NetworkLimits | None = None,
) -> None:
    """Serve on a listening unix socket until cancelled; then every connection ends."""
    proxy = _Proxy(reach, tell, resolve, limits or NetworkLimits())
    server = await asyncio.start_unix_server(proxy.meet, sock=listener, limit=_CHUNK_BYTES)
    try:
        async with server:
            await server.serve_forever()
    finally:
        await proxy.close()


class _RefusedError(Exception):
    """The request is answered with this status and reason, and goes nowhere."""

    def __init__(self, status: int, why: str) -> None:
        self.status, self.why = status, why
        super().__init__(why)


class _Proxy:
    """One run's proxy: open connections, and hosts that were reported."""

    def __init__(self, reach: NetworkAccess, tell: Tell, resolve: Resolve, limits: NetworkLimits) -> None:
        self._open_to, self._report, self._resolve, self._limits = reach, tell, resolve, limits
        self._open: set[asyncio.Task[None]] = set()
        self._reported: set[tuple[str, int, bool]] = set()
        self._over = False

    def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to serve one connection; it is gone when its task is, also when that never began."""
        if self._over:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._open.add(task)

        def over(_: asyncio.Task[None]) -> None:
            self._open.discard(task)
            writer.transport.abort()

        task.add_done_callback(over)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        crowd, most = len(self._open), self._limits.connections
        try:
            if crowd > 2 * most:
                raise ConnectionAbortedError("not even refusals are for free")
            if crowd > most:
                raise _RefusedError(503, f"network: more than {most} connections at once")
            await self._obey(reader, writer)
        except _RefusedError as refused:
            writer.write(_answer(refused))
            await _drain(reader, writer)
        except OSError:  # one of the two is gone or fell silent
            return
        await _closed(writer)

    async def close(self) -> None:
        """End every connection, and those that are still on their way in."""
        self._over = True
        tasks = tuple(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _obey(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head_bytes)
        try:
            async with asyncio.timeout(self._limits.head_s):
                request = target_of(await _request(head, reader))
        except (BadRequestError, BadAuthorityError, h11.RemoteProtocolError) as error:
            raise _RefusedError(400, str(error)) from error
        upstream_reader, upstream = await self._reach(request)
        try:
            if request.tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._tunnel(
                    request, head.trailing_data[0], (reader, writer), (upstream_reader, upstream)
                )
            else:
                await self._forward(request, head, (reader, writer), (upstream_reader, upstream))
        except BaseException:
            upstream.transport.abort()
            raise
        await _closed(upstream)

    async def _reach(self, request: ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the requested host, or refuse it."""
        why = self._open_to.refusal(request.host, request.port)
        addresses = () if why else await self._addresses(request)
        permitted = reachable(self._open_to.granted, request.host, request.port, addresses)
        if not why and not permitted:
            why = f"network: {request.host} has no public address: only the operator can allow a private one"
        self._report_once(request, why)
        if why:
            raise _RefusedError(403, why)
        problem = ""
        for address in permitted[:_TRIED]:
            try:
                async with asyncio.timeout(self._limits.reach_s):
                    return await asyncio.open_connection(str(address), request.port, limit=_CHUNK_BYTES)
            except OSError as error:
                problem = str(error) or "it does not answer"
        raise _RefusedError(502, f"network: {request.host}:{request.port} cannot be reached: {problem}")

    async def _addresses(self, request: ProxyRequest) -> tuple[Address, ...]:
        written_out = literal(request.host)
        if written_out is not None:
            return (written_out,)
        try:
            async with asyncio.timeout(self._limits.reach_s):
                return await self._resolve(request.host)
        except (OSError, UnicodeError) as error:
            self._report_once(request, "")
            raise _RefusedError(502, f"network: {request.host} has no address: {error}") from error

    def _report_once(self, request: ProxyRequest, why: str) -> None:
        allowed = not why
        key = (request.host, request.port, allowed)
        if key in self._reported or len(self._reported) > self._limits.hosts_told:
            return
        self._reported.add(key)
        if len(self._reported) > self._limits.hosts_told:
            self._report(written(Warned("network: further hosts that the agent asks for are not recorded")))
            return
        reason = why or f"network: {self._open_to.network} allows it"
        self._report(written(HostRequest(request.host, request.port, allowed, reason)))

    async def _tunnel(self, request: ProxyRequest, early: bytes, inner: "_Ends", outer: "_Ends") -> None:
        async with asyncio.timeout(self._limits.idle_s) as limit:
            beat = self._beat(limit)
            there = asyncio.create_task(self._carry(request, early, inner, outer[1], beat))
            back = asyncio.create_task(_pump(outer[0], inner[1], beat))
            await _both(there, back)

    async def _carry(
        self,
        request: ProxyRequest,
        early: bytes,
        inner: "_Ends",
        upstream: asyncio.StreamWriter,
        beat: Callable[[], None],
    ) -> None:
        """Forward a client's bytes through its tunnel, as long as its TLS names the granted host.

        A port that the policy names explicitly may carry another protocol, unless it begins with TLS.
        """
        reader, writer = inner
        strict = request.port in self._limits.tls_ports
        if strict and not early:
            async with asyncio.timeout(self._limits.head_s):
                early = await reader.read(_CHUNK_BYTES)
        early = early or await reader.read(_CHUNK_BYTES)
        if (not strict and early[:1] != bytes((HANDSHAKE,))) or self._open_to.network == "full":
            upstream.write(early)
            await _pump(reader, upstream, beat)
            return
        hellos = Hellos(request.host, has_name=literal(request.host) is None)
        try:
            upstream.write(hellos.feed(early))
            async with asyncio.timeout(self._limits.head_s):
                while not hellos.begun and (chunk := await reader.read(_CHUNK_BYTES)):
                    upstream.write(hellos.feed(chunk))
            await _pump(reader, upstream, beat, hellos.feed)
        except BadHelloError as bad:
            self._report_once(replace(request, host=bad.name or request.host), str(bad))
            writer.write(UNRECOGNIZED_NAME)
            raise ConnectionAbortedError(str(bad)) from bad

    async def _forward(
        self, request: ProxyRequest, head: h11.Connection, inner: "_Ends", outer: "_Ends"
    ) -> None:
        onwards = h11.Connection(h11.CLIENT)
        outer[1].write(onwards.send(onward(request)))
        async with asyncio.timeout(self._limits.idle_s) as limit:
            beat = self._beat(limit)
            body = asyncio.create_task(_send_body(head, onwards, inner[0], outer[1], beat))
            back = asyncio.create_task(_pump(outer[0], inner[1], beat))
            # An answer may come before the body is through, and then ends it.
            back.add_done_callback(lambda _: body.cancel())
            await _both(body, back)

    def _beat(self, limit: asyncio.Timeout) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        return lambda: limit.reschedule(loop.time() + self._limits.idle_s)


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _request(head: h11.Connection, reader: asyncio.StreamReader) -> h11.Request:
    while True:
        event = head.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            raise ConnectionResetError("it closed before it asked for anything")
        head.receive_data(await reader.read(_CHUNK_BYTES))


async def _send_body(
    head: h11.Connection,
    onwards: h11.Connection,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    beat: Callable[[], None],
) -> None:
    while True:
        event = head.next_event()
        if event is h11.NEED_DATA:
            head.receive_data(await reader.read(_CHUNK_BYTES))
            beat()
        elif isinstance(event, h11.Data):
            writer.write(onwards.send(h11.Data(data=event.data)) or b"")
            await writer.drain()
        elif isinstance(event, h11.EndOfMessage):
            writer.write(onwards.send(h11.EndOfMessage()) or b"")
            return
        else:
            raise ConnectionResetError("it went away within its request")


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    beat: Callable[[], None],
    checked: Callable[[bytes], bytes] = bytes,
) -> None:
    while chunk := await reader.read(_CHUNK_BYTES):
        beat()
        writer.write(checked(chunk))
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _drain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the rest: a socket closed with unread bytes would discard its answer."""
    with suppress(OSError):
        writer.write_eof()
        async with asyncio.timeout(_LAST_WORDS_S):
            while await reader.read(_CHUNK_BYTES):
                pass


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Send the rest within the time of an active reader, then close."""
    writer.close()
    try:
        async with asyncio.timeout(_LAST_WORDS_S):
            await writer.wait_closed()
    except (OSError, asyncio.CancelledError):
        writer.transport.abort()


async def _both(first: asyncio.Task[None], second: asyncio.Task[None]) -> None:
    """Wait for two tasks; when one fails, or the wait is cancelled, the other ends too."""
    try:
        await asyncio.wait((first, second), return_when=asyncio.FIRST_EXCEPTION)
    finally:
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)


def _answer(refused: _RefusedError) -> bytes:
    body = one_line(refused.why, 600).encode() + b"\n"
    return (
        f"HTTP/1.1 {refused.status} {_REASONS[refused.status]}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode() + body
