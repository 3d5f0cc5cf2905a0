"""A tunnel carries TLS for the host that was granted, and for no other behind the same address."""

import asyncio
import ssl
from pathlib import Path

import pytest

from runner.gateway.network.proxy import NetworkLimits
from runner.gateway.network.tls_hello import UNRECOGNIZED_NAME, BadHelloError, Hellos, server_name
from tests.runner.gateway.wires import WAIT_S, Stage, connect, play, status, until

DATA = b"\x17\x03\x03\x00\x05hello"


def hello(name: str | None) -> bytes:
    """Return the first record of a real client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    there = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), there, server_hostname=name).do_handshake()
    return there.read()


def record(message: bytes, kind: int = 0x16) -> bytes:
    return bytes((kind, 3, 1)) + len(message).to_bytes(2) + message


def shaped(*extensions: tuple[int, bytes], kind: int = 1) -> bytes:
    """Return a ClientHello with these extensions."""
    packed = b"".join(number.to_bytes(2) + len(value).to_bytes(2) + value for number, value in extensions)
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + len(packed).to_bytes(2) + packed
    return bytes((kind,)) + len(body).to_bytes(3) + body


def named(*names: bytes, kind: int = 0) -> tuple[int, bytes]:
    listed = b"".join(bytes((kind,)) + len(name).to_bytes(2) + name for name in names)
    return 0, len(listed).to_bytes(2) + listed


def test_a_real_client_hello_says_its_name() -> None:
    assert server_name(hello("Good.test")[5:]) == "good.test"
    assert server_name(hello(None)[5:]) == ""
    assert server_name(shaped(named(b"GOOD.test"))) == "good.test"


GOOD = shaped(named(b"good.test"))
BAD = {
    "another name": shaped(named(b"evil.test")),
    "a name below": shaped(named(b"a.good.test")),
    "a dot more": shaped(named(b"good.test.")),
    "no name": shaped(),
    "two names": shaped(named(b"good.test", b"evil.test")),
    "two lists of names": shaped(named(b"good.test"), named(b"evil.test")),
    "an empty name": shaped(named(b"")),
    "a NUL": shaped(named(b"good.test\0.evil.test")),
    "a name with a port": shaped(named(b"good.test:443")),
    "a name that is a text": shaped(named(b"`@everybody`")),
    "another kind of name": shaped(named(b"good.test", kind=1)),
    "a hidden name": shaped(named(b"good.test"), (0xFE0D, b"\0" * 40)),
    "a hidden name, as in a draft": shaped(named(b"good.test"), (0xFFCE, b"\0" * 40)),
    "other letters": shaped(named("göod.test".encode())),
    "no ClientHello": shaped(named(b"good.test"), kind=2),
    "one byte less": GOOD[:-1],
    "one byte more": GOOD + b"\0",
    "two in one record": GOOD + GOOD,
    "nothing": b"\x01",
}


@pytest.mark.parametrize("trick", BAD)
def test_a_hello_that_is_not_plainly_for_the_host_is_refused(trick: str) -> None:
    with pytest.raises(BadHelloError):
        Hellos("good.test").feed(record(BAD[trick]))


@pytest.mark.parametrize(
    "said",
    [b"GET / HTTP/1.1\r\n", b"SSH-2.0-x\r\n", b"\x80\x2e\x01\x03\x01", DATA, b"\x16\x02\x00", record(b""),
     b"\x16\x03\x01\xff\xff", record(GOOD[:40]) + record(GOOD[40:]), b"\x14\x03\x03\x00\x01\x01" +
     record(GOOD)],
)  # fmt: skip
def test_what_is_no_tls_or_split_over_records_is_refused(said: bytes) -> None:
    with pytest.raises(BadHelloError):
        Hellos("good.test").feed(said)


def test_a_hello_in_many_segments_goes_on_once_it_is_whole() -> None:
    hellos, whole = Hellos("good.test"), record(GOOD) + DATA
    passed = [hellos.feed(whole[at : at + 1]) for at in range(len(whole))]
    assert not any(passed[: len(record(GOOD)) - 1])
    assert b"".join(passed) == whole


def test_a_second_hello_has_to_name_the_host_too_whatever_came_between() -> None:
    change = b"\x14\x03\x03\x00\x01\x01"
    key = record(b"\x10\x00\x00\x21" + b"k" * 33)
    finished = record(bytes(range(200, 240)))
    assert Hellos("good.test").feed(whole := record(GOOD) + key + change + finished + DATA * 3) == whole
    for between in (b"", change, DATA, key):
        hellos = Hellos("good.test")
        assert hellos.feed(record(GOOD) + between + record(GOOD)).endswith(GOOD)
        for second in (record(BAD["another name"]), record(BAD["another name"][:40]), record(b"\x01")):
            with pytest.raises(BadHelloError):
                Hellos("good.test").feed(record(GOOD) + between + second)


def test_an_address_is_asked_without_a_name() -> None:
    assert Hellos("192.0.2.1", has_name=False).feed(record(shaped()))
    with pytest.raises(BadHelloError):
        Hellos("192.0.2.1", has_name=False).feed(record(GOOD))


def test_a_tunnel_to_a_granted_host_carries_its_tls_both_ways(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        made.host.answer = b""
        reader, writer = await made.connect()
        first = hello("good.test")
        writer.write(connect(made) + first[:100])
        assert status(await reader.readuntil(b"\r\n\r\n")) == 200
        writer.write(first[100:] + DATA)
        await until(lambda: made.host.heard == [first + DATA])
        writer.close()
        assert made.hosts() == [("good.test", made.host.port, True)]

    play(tmp_path, part, tls=True)


@pytest.mark.parametrize(
    "said", [hello("other.test"), hello(None), b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"]
)
def test_no_byte_of_a_tunnel_goes_to_another_host_behind_the_same_address(
    tmp_path: Path, said: bytes
) -> None:
    async def part(made: Stage) -> None:
        assert (await made.say(connect(made), said)).endswith(UNRECOGNIZED_NAME)
        await until(lambda: made.host.ended == 1)
        assert made.host.heard == [b""]
        refused = made.told[-1]
        assert (refused["allowed"], "tunnel" in str(refused["why"])) == (False, True)

    play(tmp_path, part, tls=True)


def test_tls_is_read_on_every_port_and_other_protocols_only_pass_on_ports_of_their_own(
    tmp_path: Path,
) -> None:
    async def part(made: Stage) -> None:
        assert (await made.say(connect(made), hello("other.test"))).endswith(UNRECOGNIZED_NAME)
        assert (await made.say(connect(made), b"SSH\r\n\r\n")).endswith(b"hello")

    play(tmp_path, part)


def test_with_the_whole_network_a_tunnel_may_carry_anything(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        assert (await made.say(connect(made), hello("other.test") + b"\r\n\r\n")).endswith(b"hello")

    play(tmp_path, part, tls=True, network="full")


@pytest.mark.parametrize("said", [b"", b"\x16\x03", hello("good.test")[:200]])
def test_a_client_that_does_not_finish_its_hello_is_not_waited_for(tmp_path: Path, said: bytes) -> None:
    async def part(made: Stage) -> None:
        reader, writer = await made.connect()
        writer.write(connect(made) + said)
        async with asyncio.timeout(WAIT_S):
            await reader.read(-1)
        assert made.host.heard == [b""]
        writer.close()

    play(tmp_path, part, tls=True, limits=NetworkLimits(head_s=0.2))
