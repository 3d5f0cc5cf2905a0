"""The proxy on real sockets: what it lets through, what it refuses, and what it can bear."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gateway.network.proxy import resolve_host
from tests.runner.gateway.wires import WAIT_S, Stage, connect, plain, play, status, until


def test_a_plain_request_reaches_an_allowed_host_and_is_told(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        for _ in range(2):
            assert (await made.say(plain(made))).endswith(b"hello")
        assert made.host.heard[0].startswith(b"GET /a?b HTTP/1.1\r\n")
        assert made.told == [
            {
                "type": "host",
                "host": "good.test",
                "port": made.host.port,
                "allowed": True,
                "why": "network: list allows it",
            }
        ]

    play(tmp_path, part)


def test_a_tunnel_carries_bytes_both_ways_with_half_closes(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        made.host.answer = b""
        reader, writer = await made.connect()
        writer.write(connect(made) + b"early\x00\xff")
        assert status(await reader.readuntil(b"\r\n\r\n")) == 200
        await until(lambda: made.host.heard == [b"early\x00\xff"])
        made.host.answer = b"x" * 3_000_000
        writer.write(b"more\r\n\r\n")
        writer.write_eof()
        async with asyncio.timeout(WAIT_S):
            assert await reader.read(-1) == made.host.answer
        assert made.host.heard == [b"early\x00\xffmore\r\n\r\n"]
        writer.close()

    play(tmp_path, part)


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        (b"Content-Length: 4\r\n\r\nbody", b"\r\n\r\nbody"),
        (
            b"Transfer-Encoding: chunked\r\n\r\n4;x=y\r\nbody\r\n0\r\nX: y\r\n\r\n",
            b"\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ),
    ],
)
def test_an_upload_goes_through_framed_anew(tmp_path: Path, sent: bytes, arrives: bytes) -> None:
    async def part(made: Stage) -> None:
        made.host.answer = b""
        where = f"good.test:{made.host.port}".encode()
        _, writer = await made.connect()
        writer.write(b"POST http://" + where + b"/up HTTP/1.1\r\nHost: " + where + b"\r\n" + sent + b"GET /")
        await until(lambda: bool(made.host.heard) and made.host.heard[0].endswith(arrives))
        writer.close()

    play(tmp_path, part)


def test_what_is_said_to_the_proxy_stays_with_it(tmp_path: Path) -> None:
    extra = (
        b"Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\n"
        b"Connection: X-Own, keep-alive\r\nX-Own: 1\r\nUpgrade: h2c\r\nX-Kept: 1\r\n"
    )

    async def part(made: Stage) -> None:
        assert status(await made.say(plain(made, extra=extra))) == 200
        lines = made.host.heard[0].lower().split(b"\r\n")
        assert f"host: good.test:{made.host.port}".encode() in lines
        assert lines.count(b"connection: close") == 1
        assert b"x-kept: 1" in lines
        assert not [
            line for line in lines if line.startswith((b"proxy-", b"x-own", b"upgrade", b"keep-alive"))
        ]

    play(tmp_path, part)


def test_only_one_request_goes_through_a_connection(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        second = plain(made, path="/second").replace(b"good.test", b"evil.test")
        assert (await made.say(plain(made) + second)).count(b"hello") == 1
        assert b"second" not in b"".join(made.host.heard)

    play(tmp_path, part)


@pytest.mark.parametrize("ask", [plain, connect])
def test_a_host_that_is_not_listed_is_refused_by_name_without_a_look_up(
    tmp_path: Path, ask: Callable[..., bytes]
) -> None:
    async def part(made: Stage) -> None:
        answer = await made.say(ask(made, "evil.test"))
        assert status(answer) == 403
        wanted = (
            f"network: list does not allow evil.test:{made.host.port}: add it to `tools: {{network: […]}}`"
        )
        assert wanted in answer.decode()
        assert (made.resolved, made.host.heard) == ([], [])
        assert made.hosts() == [("evil.test", made.host.port, False)]

    play(tmp_path, part)


@pytest.mark.parametrize("host", ["good.test", "127.0.0.1"])
def test_without_network_nothing_is_reached(tmp_path: Path, host: str) -> None:
    async def part(made: Stage) -> None:
        for ask in (plain, connect):
            assert "network: none does not allow" in (await made.say(ask(made, host))).decode()
        assert (made.resolved, made.host.heard) == ([], [])

    play(tmp_path, part, network="none")


@pytest.mark.parametrize("network", ["list", "full"])
@pytest.mark.parametrize(
    "addresses",
    ["127.0.0.1", "::1", "10.0.0.1 192.168.0.1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"],
)
def test_a_name_that_leads_to_a_private_address_is_refused(
    tmp_path: Path, network: str, addresses: str
) -> None:
    async def part(made: Stage) -> None:
        for ask in (plain, connect):
            answer = await made.say(ask(made))
            assert status(answer) == 403
            assert b"good.test has no public address: only the operator" in answer
        assert made.host.heard == []
        assert made.hosts() == [("good.test", made.host.port, False)]

    play(tmp_path, part, network=network, private=False, names={"good.test": addresses})


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254"])
def test_a_private_address_by_itself_is_refused_too(tmp_path: Path, host: str) -> None:
    async def part(made: Stage) -> None:
        for ask in (plain, connect):
            assert status(await made.say(ask(made, host))) == 403
        assert (made.resolved, made.host.heard) == ([], [])

    play(tmp_path, part, network="full", private=False)


def test_the_address_that_was_checked_is_the_one_that_is_reached(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        assert status(await made.say(plain(made))) == 200
        assert made.resolved == ["good.test"]

    play(tmp_path, part)


def test_the_metadata_address_stays_closed_beside_a_good_one(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        assert status(await made.say(plain(made))) == 200

    play(tmp_path, part, names={"good.test": "169.254.169.254 127.0.0.1"})


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "user@good.test", "good%2etest", "good.test\\@x",
     "gööd.test", "-good.test", "good..test", "[::1%lo]"],
)  # fmt: skip
def test_an_odd_spelling_is_refused_before_anything_is_asked(tmp_path: Path, host: str) -> None:
    async def part(made: Stage) -> None:
        for ask in (plain, connect):
            assert status(await made.say(ask(made, host))) == 400
        assert (made.resolved, made.host.heard, made.told) == ([], [], [])

    play(tmp_path, part, network="full")


@pytest.mark.parametrize("host", ["GOOD.test", "good.test.", "a.b.wild.test"])
def test_another_spelling_of_an_allowed_host_reaches_it_under_its_one_name(tmp_path: Path, host: str) -> None:
    async def part(made: Stage) -> None:
        assert status(await made.say(plain(made, host))) == 200
        assert f"\r\nhost: {host.lower().removesuffix('.')}:".encode() in made.host.heard[0].lower()

    play(tmp_path, part)


GET = b"GET http://good.test:PORT/ HTTP/1.1\r\n"
POST = b"POST http://good.test:PORT/ HTTP/1.1\r\nHost: good.test:PORT\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SMUGGLED = {
    "two Host headers": GET + b"Host: good.test:PORT\r\nHost: evil.test\r\n\r\n",
    "no Host header": GET + b"\r\n",
    "another Host": GET + b"Host: evil.test:PORT\r\n\r\n",
    "another port in Host": GET + b"Host: good.test\r\n\r\n",
    "length and chunks": POST + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nbodyx",
    "odd chunking": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks in 1.0": POST.replace(b"1.1", b"1.0") + CHUNKED + b"\r\n0\r\n\r\n",
    "space before colon": GET + b"Host : good.test:PORT\r\n\r\n",
    "a NUL": GET.replace(b"/ HTTP", b"/\x00 HTTP") + b"Host: good.test:PORT\r\n\r\n",
    "no proxy request": b"GET / HTTP/1.1\r\nHost: good.test:PORT\r\n\r\n",
    "https in full": GET.replace(b"http:", b"https:") + b"Host: good.test:PORT\r\n\r\n",
    "one slash more": GET.replace(b"//", b"///") + b"Host: good.test:PORT\r\n\r\n",
    "a fragment": GET.replace(b"PORT/", b"PORT#@evil.test/") + b"Host: good.test:PORT\r\n\r\n",
    "CONNECT with a body": b"CONNECT good.test:PORT HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
    "CONNECT without a port": b"CONNECT good.test HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "CONNECT to an address": b"CONNECT http://good.test:PORT/ HTTP/1.1\r\nHost: good.test:PORT\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a head without end": GET + b"X: " + b"x" * 20_000,
}


@pytest.mark.parametrize("trick", SMUGGLED)
def test_a_request_that_can_be_read_in_two_ways_goes_nowhere(tmp_path: Path, trick: str) -> None:
    async def part(made: Stage) -> None:
        sent = SMUGGLED[trick].replace(b"PORT", str(made.host.port).encode())
        assert status(await made.say(sent)) == 400
        assert (made.host.heard, made.told) == ([], [])

    play(tmp_path, part)


def test_a_broken_chunk_ends_the_request(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        made.host.answer = b""
        where = f"good.test:{made.host.port}".encode()
        head = (
            b"POST http://"
            + where
            + b"/ HTTP/1.1\r\nHost: "
            + where
            + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        await made.say(head + b"4\r\nbody\r\nZZ\r\nGET / HTTP/1.1\r\n\r\n")
        await until(lambda: made.host.ended == 1)
        assert b"GET /" not in made.host.heard[0]

    play(tmp_path, part)


def test_a_host_without_an_address_and_one_that_refuses_are_two_sentences(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        assert b"good.test has no address" in await made.say(connect(made))
        made.host.port = 1
        assert status(await made.say(connect(made, "a.wild.test"))) == 403

    play(tmp_path, part, names={"good.test": ""})


def test_a_host_that_is_down_is_a_bad_gateway(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        answer = await made.say(connect(made, "a.wild.test"))
        assert status(answer) == 502
        assert f"a.wild.test:{made.host.port} cannot be reached" in answer.decode()

    play(tmp_path, part, names={"a.wild.test": "127.0.0.2"})


def test_names_are_resolved_as_the_machine_does_it() -> None:
    assert "127.0.0.1" in map(str, asyncio.run(resolve_host("localhost")))
