"""For the network tests: a proxy on a unix socket, and a host on 127.0.0.1 that notes what it hears."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from runner.gateway.network.addresses import Address, NetworkAccess, NetworkRules
from runner.gateway.network.proxy import NetworkLimits, serve_proxy

WAIT_S = 60.0
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


Meet = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


def served(meet: Meet) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
    """Return what serves each connection by `meet`; none is left open when a play ends before its task."""
    tasks = set[asyncio.Task[None]]()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def over(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            if task.cancelled():  # perhaps before it began: no `finally` of its own would be enough
                writer.transport.abort()

        tasks.add(task := asyncio.create_task(meet(reader, writer)))
        task.add_done_callback(over)

    return begin


@dataclass
class Host:
    """One host. `heard` is what each connection said until it fell silent for a moment."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)
    answer: bytes = ANSWER
    closes: bool = True
    ended: int = 0

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.heard)
        self.heard.append(b"")
        with suppress(OSError):
            while chunk := await reader.read(65536):
                self.heard[number] += chunk
                if b"\r\n\r\n" in self.heard[number] and self.answer:
                    writer.write(self.answer)
                    await writer.drain()
                    if self.closes:
                        break
        self.ended += 1
        writer.close()


@dataclass
class Stage:
    """A proxy to talk to. `told` is what it told; `resolved` are the names that it looked up."""

    path: Path
    host: Host
    reach: NetworkAccess = field(default_factory=lambda: NetworkAccess(NetworkRules()))
    told: list[Mapping[str, object]] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(str(self.path))

    async def say(self, *parts: bytes) -> bytes:
        """Return all that the proxy answers to these bytes until it hangs up."""
        reader, writer = await self.connect()
        try:
            with suppress(OSError):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
            async with asyncio.timeout(WAIT_S):
                return await reader.read(-1)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    def hosts(self) -> list[tuple[object, object, object]]:
        return [(one["host"], one["port"], one["allowed"]) for one in self.told if one["type"] == "host"]


@asynccontextmanager
async def stage(
    folder: Path,
    *,
    network: str = "list",
    private: bool = True,
    names: Mapping[str, str] | None = None,
    limits: NetworkLimits | None = None,
    tls: bool = False,
) -> AsyncIterator[Stage]:
    """Play with a proxy that allows `good.test` at the host's port, and finds the names at 127.0.0.1 unless
    `names` says otherwise. `tls`: that port is one for TLS alone.
    """
    host = Host()
    server = await asyncio.start_server(served(host.meet), "127.0.0.1", 0)
    host.port = server.sockets[0].getsockname()[1]
    new_stage = Stage(folder / "n.sock", host)
    known = names or {}

    async def resolve(name: str) -> tuple[Address, ...]:
        new_stage.resolved.append(name)
        if known.get(name) == "":
            raise OSError("Name or service not known")
        return tuple(map(ip_address, known.get(name, "127.0.0.1").split()))

    allowed = (f"good.test:{host.port}", f"*.wild.test:{host.port}", f"127.0.0.1:{host.port}")
    new_stage.reach = NetworkAccess(NetworkRules(network, allowed, allowed if private else ()))
    if tls:
        limits = replace(limits or NetworkLimits(), tls_ports=(host.port,))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(new_stage.path))
    listener.listen(200)
    proxy = asyncio.create_task(
        serve_proxy(listener, new_stage.reach, new_stage.told.append, resolve=resolve, limits=limits)
    )
    try:
        yield new_stage
    finally:
        proxy.cancel()
        await asyncio.gather(proxy, return_exceptions=True)
        server.close()


Play = Callable[[Stage], Awaitable[None]]


def play(folder: Path, part: Play, **given: Any) -> None:
    async def whole() -> None:
        async with stage(folder, **given) as new_stage:
            await part(new_stage)

    asyncio.run(whole())


def plain(made: Stage, host: str = "good.test", extra: bytes = b"", path: str = "/a?b") -> bytes:
    where = f"{host}:{made.host.port}"
    return f"GET http://{where}{path} HTTP/1.1\r\nHost: {where}\r\n".encode() + extra + b"\r\n"


def connect(made: Stage, host: str = "good.test", extra: bytes = b"") -> bytes:
    where = f"{host}:{made.host.port}"
    return f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n".encode() + extra + b"\r\n"


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not true():
            await asyncio.sleep(0.01)
