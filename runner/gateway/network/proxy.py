"""Forward proxy of an agent: lets granted hosts through, and reports all requests.

A name is resolved here, and the very address that was checked is connected to. A plain request is parsed and
rewritten, so that the checked request is the one that is sent; each connection carries one.
"""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import h11

from runner.gateway.control.messages import HostRequest, Warned, encode_event
from runner.gateway.network.addresses import (
    Address,
    BadAuthorityError,
    NetworkAccess,
    literal,
    plain_address,
    reachable_addresses,
)
from runner.gateway.network.request import BadRequestError, ProxyRequest, onward, target_of
from runner.gateway.network.secret_tunnel import (
    CHUNK_BYTES,
    Ends,
    RequestRefusedError,
    SecretTunnels,
    abort,
    both,
    close_writer,
    drain_stream,
    pump,
    read_request,
    send_body,
)
from runner.gateway.network.tls_hello import HANDSHAKE, UNRECOGNIZED_NAME, BadHelloError, Hellos

# linux/in.h, in6.h: the size of a packet on the route of a connected socket. The loopback device alone takes
# more than the largest packet of IP; nothing else shows an address behind a `local` route of IPv6.
_ROUTE_MTU = {4: (socket.IPPROTO_IP, 14), 6: (socket.IPPROTO_IPV6, 24)}
_LARGEST_PACKET = 65_535
# Nobody has these (RFC 5737, RFC 3849): where one can be bound, the kernel lets everything be bound.
_NOBODYS = {4: "192.0.2.1", 6: "2001:db8::1"}


def is_own_address(address: Address) -> bool:
    """Whether a connection to `address` would stay on this host, by its interfaces or its routes.

    Nothing is sent. The kernel gives a connection to itself the same address at both ends; where a route says
    so (`local` routes), it lets a program bind the address.
    """
    plain = plain_address(address)
    return _leads_back(str(plain), plain.version) or (
        _can_bind(str(plain), plain.version) and not _can_bind(_NOBODYS[plain.version], plain.version)
    )


def _socket(version: int) -> socket.socket:
    return socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)


def _leads_back(address: str, version: int) -> bool:
    try:
        with _socket(version) as probe:
            probe.connect((address, 9))  # datagrams: the route is looked up, and nothing leaves
            mtu = probe.getsockopt(*_ROUTE_MTU[version])
            return bool(probe.getsockname()[0] == address) or mtu > _LARGEST_PACKET
    except OSError:
        return False  # there is no way to it: then nothing answers there either


def _can_bind(address: str, version: int) -> bool:
    try:
        with _socket(version) as probe:
            probe.bind((address, 0))
        return True
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return False
        raise


Resolve = Callable[[str], Awaitable[tuple[Address, ...]]]
Tell = Callable[[Mapping[str, object]], None]

_TRIED = 3  # addresses of one host


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


async def resolve_host(host: str) -> tuple[Address, ...]:
    """Return the addresses of a name, as this machine resolves it. Raises OSError."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    texts = dict.fromkeys(str(entry[4][0]) for entry in infos)
    return tuple(address for address in map(literal, texts) if address is not None)


async def serve_proxy(
    listener: socket.socket,
    access: NetworkAccess,
    tell: Tell,
    *,
    resolve: Resolve = resolve_host,
    limits: NetworkLimits | None = None,
    secrets: SecretTunnels | None = None,
) -> None:
    """Serve on a listening unix socket until cancelled; then every connection ends."""
    proxy = _Proxy(access, tell, resolve, limits or NetworkLimits(), secrets)
    server = await asyncio.start_unix_server(proxy.meet, sock=listener, limit=CHUNK_BYTES)
    try:
        async with server:
            await server.serve_forever()
    finally:
        await proxy.close()


class _Proxy:
    """One run's proxy: open connections, and hosts that were reported."""

    def __init__(
        self,
        access: NetworkAccess,
        tell: Tell,
        resolve: Resolve,
        limits: NetworkLimits,
        secrets: SecretTunnels | None,
    ) -> None:
        self._secrets = secrets
        self._open_to, self._report, self._resolve, self._limits = access, tell, resolve, limits
        self._open: set[asyncio.Task[None]] = set()
        self._reported: set[tuple[str, int, bool]] = set()
        self._over = False

    def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to serve one connection; it is gone when its task is, also when that never began."""
        if self._over:
            abort(writer)
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._open.add(task)

        def over(_: asyncio.Task[None]) -> None:
            self._open.discard(task)
            abort(writer)

        task.add_done_callback(over)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        crowd, most = len(self._open), self._limits.connections
        try:
            if crowd > 2 * most:
                raise ConnectionAbortedError("not even refusals are for free")
            if crowd > most:
                raise RequestRefusedError(503, f"network: more than {most} connections at once")
            await self._connect(reader, writer)
        except RequestRefusedError as refused:
            writer.write(refused.answer)
            await drain_stream(reader, writer)
        except OSError:  # one of the two is gone or fell silent
            return
        await close_writer(writer)

    async def close(self) -> None:
        """End every connection, and those that are still on their way in."""
        self._over = True
        tasks = tuple(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head_bytes)
        try:
            async with asyncio.timeout(self._limits.head_s):
                request = target_of(await read_request(head, reader))
        except (BadRequestError, BadAuthorityError, h11.RemoteProtocolError) as error:
            raise RequestRefusedError(400, str(error)) from error
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
            abort(upstream)
            raise
        await close_writer(upstream)

    async def _reach(self, request: ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the requested host, or refuse it."""
        why = self._open_to.refusal(request.host, request.port)
        addresses = () if why else await self._addresses(request)
        permitted = reachable_addresses(
            self._open_to.granted, request.host, request.port, addresses, is_own_address
        )
        if not why and not permitted:
            why = f"network: {request.host} has no public address: only the operator can allow a private one"
        self._report_once(request, why)
        if why:
            raise RequestRefusedError(403, why)
        problem = ""
        for address in permitted[:_TRIED]:
            try:
                async with asyncio.timeout(self._limits.reach_s):
                    return await asyncio.open_connection(str(address), request.port, limit=CHUNK_BYTES)
            except OSError as error:
                problem = str(error) or "it does not answer"
        raise RequestRefusedError(502, f"network: {request.host}:{request.port} cannot be reached: {problem}")

    async def _addresses(self, request: ProxyRequest) -> tuple[Address, ...]:
        written_out = literal(request.host)
        if written_out is not None:
            return (written_out,)
        try:
            async with asyncio.timeout(self._limits.reach_s):
                return await self._resolve(request.host)
        except (OSError, UnicodeError) as error:
            self._report_once(request, "")
            raise RequestRefusedError(502, f"network: {request.host} has no address: {error}") from error

    def _report_once(self, request: ProxyRequest, why: str) -> None:
        allowed = not why
        key = (request.host, request.port, allowed)
        if key in self._reported or len(self._reported) > self._limits.hosts_told:
            return
        self._reported.add(key)
        if len(self._reported) > self._limits.hosts_told:
            self._report(
                encode_event(Warned("network: further hosts that the agent asks for are not recorded"))
            )
            return
        reason = why or f"network: {self._open_to.network} allows it"
        self._report(encode_event(HostRequest(request.host, request.port, allowed, reason)))

    async def _tunnel(self, request: ProxyRequest, early: bytes, inner: Ends, outer: Ends) -> None:
        async with asyncio.timeout(self._limits.idle_s) as limit:
            beat = self._beat(limit)
            if self._secrets is not None and self._secrets.has(request.host, request.port):
                await self._secrets.carry((request.host, request.port), early, inner, outer, beat)
                return
            there = asyncio.create_task(self._carry(request, early, inner, outer[1], beat))
            back = asyncio.create_task(pump(outer[0], inner[1], beat))
            await both(there, back)

    async def _carry(
        self,
        request: ProxyRequest,
        early: bytes,
        inner: Ends,
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
                early = await reader.read(CHUNK_BYTES)
        early = early or await reader.read(CHUNK_BYTES)
        if (not strict and early[:1] != bytes((HANDSHAKE,))) or self._open_to.network == "full":
            upstream.write(early)
            await pump(reader, upstream, beat)
            return
        hellos = Hellos(request.host, has_name=literal(request.host) is None)
        try:
            upstream.write(hellos.feed(early))
            async with asyncio.timeout(self._limits.head_s):
                while not hellos.begun and (chunk := await reader.read(CHUNK_BYTES)):
                    upstream.write(hellos.feed(chunk))
            await pump(reader, upstream, beat, hellos.feed)
        except BadHelloError as bad:
            self._report_once(replace(request, host=bad.name or request.host), str(bad))
            writer.write(UNRECOGNIZED_NAME)
            raise ConnectionAbortedError(str(bad)) from bad

    async def _forward(self, request: ProxyRequest, head: h11.Connection, inner: Ends, outer: Ends) -> None:
        onwards = h11.Connection(h11.CLIENT)
        outer[1].write(onwards.send(onward(request)))
        async with asyncio.timeout(self._limits.idle_s) as limit:
            beat = self._beat(limit)
            body = asyncio.create_task(send_body(head, onwards, inner[0], outer[1], beat))
            back = asyncio.create_task(pump(outer[0], inner[1], beat))
            # An answer may come before the body is through, and then ends it.
            back.add_done_callback(lambda _: body.cancel())
            await both(body, back)

    def _beat(self, limit: asyncio.Timeout) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        return lambda: limit.reschedule(loop.time() + self._limits.idle_s)
