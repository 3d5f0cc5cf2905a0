"""Secrets for hosts: they reach the host alone, by TLS that is ended here, and never the client."""

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import pytest

from runner.exec.proxy import proxy_environment, trust_environment
from runner.gateway.network.added_header import AddedHeader
from runner.gateway.network.addresses import NetworkAccess, NetworkRules
from runner.gateway.network.authority import Authority, system_bundle
from runner.gateway.network.proxy import serve_proxy
from runner.gateway.network.secret_tunnel import SecretTunnels, close_writer
from tests.runner.gateway.package_registry import registry_of
from tests.runner.gateway.wires import WAIT_S, Stage, connect, served, status

HOST, SECRET = "npm.example.test", "s3cret-of-the-registry"
OTHER = "files.example.test"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Registry:
    """A host with TLS that notes what it hears; `answer` makes its answer from a request."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)
    answer: Callable[[bytes], bytes] = lambda _: OK

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            self.heard.append(request)
            writer.write(self.answer(request))
            await writer.drain()
        await close_writer(writer)


@dataclass
class Scene:
    """A proxy that adds the secret for HOST; `bundle` is what its clients trust."""

    registry: Registry
    wire: Stage
    bundle: Path
    client: ssl.SSLContext

    async def get(self, request: bytes, host: str = HOST, client: ssl.SSLContext | None = None) -> bytes:
        """Return the answer to a request in a tunnel to the host; empty where TLS fails."""
        reader, writer = await self.wire.connect()
        writer.write(connect(self.wire, host))
        assert status(await reader.readuntil(b"\r\n\r\n")) == 200
        async with asyncio.timeout(WAIT_S):
            await writer.start_tls(client or self.client, server_hostname=host)
            writer.write(request)
            try:
                return await reader.read(-1)
            finally:
                await close_writer(writer)

    def request(self, method: str = "GET", path: str = "/left-pad", extra: str = "", host: str = "") -> bytes:
        where = host or f"{HOST}:{self.registry.port}"
        return f"{method} {path} HTTP/1.1\r\nHost: {where}\r\n{extra}\r\n".encode()

    def uses(self) -> list[tuple[object, object]]:
        return [(each["host"], each["secret"]) for each in self.wire.told if each["type"] == "secret_use"]


@asynccontextmanager
async def scene(folder: Path, *, is_trusted: bool = True, limit: int = 100) -> AsyncIterator[Scene]:
    """Play with one registry under two names; the secret is for the first."""
    theirs, registry = Authority((HOST, OTHER)), Registry()
    certificates = {name: theirs.context(name) for name in (HOST, OTHER)}

    def choose(tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        tls.context = certificates[name or HOST]

    certificates[HOST].sni_callback = choose
    server = await asyncio.start_server(served(registry.meet), "127.0.0.1", 0, ssl=certificates[HOST])
    registry.port = server.sockets[0].getsockname()[1]
    roots = ssl.create_default_context(cadata=theirs.certificate.decode() if is_trusted else None)
    ours = Authority((HOST,))
    bundle = folder / "bundle.pem"
    bundle.write_bytes(system_bundle() + ours.certificate + theirs.certificate)
    hosts = tuple(f"{name}:{registry.port}" for name in (HOST, OTHER))
    wire = Stage(folder / "n.sock", registry)  # type: ignore[arg-type]  # of it only the port is read
    wire.reach = NetworkAccess(NetworkRules("list", hosts, hosts))
    added = AddedHeader.of(hosts[0], "NPM_TOKEN", "Authorization", "Bearer {}", SECRET)
    tunnels = SecretTunnels((added,), ours, roots, wire.told.append, limit)

    async def resolve(_: str) -> tuple[object, ...]:
        return (ip_address("127.0.0.1"),)

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(wire.path))
    listener.listen(100)
    proxy = asyncio.create_task(
        serve_proxy(listener, wire.reach, wire.told.append, resolve=resolve, secrets=tunnels)  # type: ignore[arg-type]
    )
    try:
        yield Scene(registry, wire, bundle, ssl.create_default_context(cafile=str(bundle)))
    finally:
        proxy.cancel()
        await asyncio.gather(proxy, return_exceptions=True)
        server.close()


def play(folder: Path, part: Callable[[Scene], Awaitable[None]], **options: object) -> None:
    async def whole() -> None:
        async with scene(folder, **options) as new_scene:  # type: ignore[arg-type]
            await part(new_scene)

    asyncio.run(whole())


def test_the_host_gets_the_secret_in_place_of_what_the_agent_sent(tmp_path: Path) -> None:
    async def part(made: Scene) -> None:
        extra = (
            "AUTHORIZATION: mine\r\nConnection: authorization\r\nAccept-Encoding: gzip\r\nRange: bytes=1-\r\n"
        )
        assert (await made.get(made.request(extra=extra))).endswith(b"\r\n\r\nok")
        lines = made.registry.heard[0].lower().split(b"\r\n")
        assert [line for line in lines if line.startswith(b"auth")] == [
            f"authorization: bearer {SECRET}".encode()
        ]
        assert b"accept-encoding: identity" in lines
        assert not [line for line in lines if line.startswith(b"range")]
        assert made.uses() == [(HOST, "NPM_TOKEN")]

    play(tmp_path, part)


def test_another_host_gets_no_secret_also_by_a_redirect(tmp_path: Path) -> None:
    async def part(made: Scene) -> None:
        away = f"https://{OTHER}:{made.registry.port}/file"
        made.registry.answer = lambda _: f"HTTP/1.1 302 Found\r\nLocation: {away}\r\n\r\n".encode()
        answer = await made.get(made.request())
        assert (status(answer), away.encode() in answer) == (302, True)
        await made.get(made.request(host=f"{OTHER}:{made.registry.port}"), OTHER)
        assert [SECRET.encode() in request for request in made.registry.heard] == [True, False]

    play(tmp_path, part)


@pytest.mark.parametrize(
    ("method", "path", "host"),
    [
        ("GET", "/", OTHER),
        ("GET", "/", HOST),  # of another port
        ("GET", "/", f"127.0.0.1:{443}"),
        ("TRACE", "/", ""),
        ("GET", f"https://{OTHER}/", ""),
        ("CONNECT", f"{OTHER}:443", ""),
    ],
)
def test_what_is_for_another_host_or_would_show_the_secret_is_refused(
    tmp_path: Path, method: str, path: str, host: str
) -> None:
    async def part(made: Scene) -> None:
        assert status(await made.get(made.request(method, path, host=host))) == 400
        assert (made.registry.heard, made.uses()) == ([], [])

    play(tmp_path, part)


@pytest.mark.parametrize("framing", ["length", "chunks", "end"])
def test_an_answer_that_shows_the_secret_is_masked(tmp_path: Path, framing: str) -> None:
    async def part(made: Scene) -> None:
        def echo(request: bytes) -> bytes:
            match framing:
                case "length":
                    head, body = f"Content-Length: {len(request)}", request
                case "chunks":
                    head = "Transfer-Encoding: chunked"
                    body = b"".join(b"%x\r\n%b\r\n" % (1, request[at : at + 1]) for at in range(len(request)))
                    body += b"0\r\n\r\n"
                case _:
                    head, body = "X-Ends: with the connection", request
            return f"HTTP/1.1 200 OK\r\nX-Seen: {SECRET}\r\n{head}\r\n\r\n".encode() + body

        made.registry.answer = echo
        answer = await made.get(made.request())
        assert SECRET.encode() not in answer
        assert answer.replace(b"\r\n", b"").count(b"*") == len(SECRET) + len(f"Bearer {SECRET}")

    play(tmp_path, part)


def test_a_host_without_the_right_certificate_gets_nothing(tmp_path: Path) -> None:
    async def part(made: Scene) -> None:
        answer = await made.get(made.request())
        assert (status(answer), b"is not trusted with a secret" in answer) == (502, True)
        assert (made.registry.heard, made.uses()) == ([], [])

    play(tmp_path, part, is_trusted=False)


def test_the_authority_can_speak_for_its_host_alone(tmp_path: Path) -> None:
    wide = Authority((HOST,))
    client = ssl.create_default_context(cadata=wide.certificate.decode())
    for name, works in ((HOST, True), (OTHER, False)):
        inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = (
            client.wrap_bio(inward, outward, server_hostname=name),
            wide.context(name).wrap_bio(outward, inward, server_side=True),
        )
        problem = ""
        for _ in range(4):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                except ssl.SSLError as error:
                    problem = problem or str(error)
        assert (not problem) is works, problem


def test_requests_with_secrets_end_at_a_limit_that_is_said_once(tmp_path: Path) -> None:
    async def part(made: Scene) -> None:
        answers = [status(await made.get(made.request())) for _ in range(4)]
        assert answers == [200, 200, 429, 429]
        assert len(made.uses()) == 2
        assert [each["type"] for each in made.wire.told].count("warned") == 1

    play(tmp_path, part, limit=2)


def test_a_body_goes_up_and_bytes_without_tls_go_nowhere(tmp_path: Path) -> None:
    async def part(made: Scene) -> None:
        sent = made.request("PUT", extra="Content-Length: 4\r\n") + b"body"
        assert status(await made.get(sent)) == 200
        assert b"content-length: 4" in made.registry.heard[0].lower()
        answer = await made.wire.say(connect(made.wire, HOST) + made.request())
        assert SECRET.encode() not in answer
        assert len(made.registry.heard) == 1

    play(tmp_path, part)


async def door_to(wire: Stage) -> asyncio.Server:
    """Return a port of 127.0.0.1 that leads to the proxy's socket, as one does in a container."""

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(65536):
                target.write(chunk)
        finally:
            await close_writer(target)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await wire.connect()
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer), return_exceptions=True)

    return await asyncio.start_server(served(forward), "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (
            "pip",
            "{python} -m pip install --no-cache-dir --isolated --no-deps -t got -i {at}/simple pad",
        ),
        ("npm", "npm install --no-audit --no-fund --prefix got --registry {at} pad"),
    ],
)
def test_real_clients_install_from_a_registry_that_wants_the_token(
    tmp_path: Path, kind: str, command: str
) -> None:
    if kind == "npm" and not shutil.which("npm"):
        pytest.skip("npm is not installed")

    async def part(made: Scene) -> None:
        door = await door_to(made.wire)
        proxy = f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}"
        address = f"https://{HOST}:{made.registry.port}"
        made.registry.answer = registry_of(kind, address, SECRET)
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        env |= proxy_environment(proxy) | trust_environment(str(made.bundle))
        words = command.format(python=sys.executable, at=address).split()
        done = await asyncio.to_thread(
            subprocess.run, words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        door.close()
        assert done.returncode == 0, done.stderr
        assert SECRET not in done.stdout + done.stderr
        assert len(made.uses()) >= 2
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert [path for path in files if path.name in ("pad.py", "index.js") and "got" in path.parts]
        assert not [path for path in files if SECRET.encode() in path.read_bytes()]

    play(tmp_path, part)
