"""What the proxy bears: how many, how much, how long; and its end."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gateway.network.proxy import NetworkLimits
from tests.runner.gateway.wires import WAIT_S, Stage, connect, plain, play, stage, status, until


def test_each_host_is_told_once_and_a_flood_of_names_is_cut(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        for number in (1, 1, 2, 3, 4, 5):
            await made.say(connect(made, f"h{number}.test"))
        assert [name for name, _, _ in made.hosts()] == ["h1.test", "h2.test", "h3.test"]
        assert [one["type"] for one in made.told] == ["host", "host", "host", "warned"]

    play(tmp_path, part, limits=NetworkLimits(hosts_told=3))


def test_one_connection_too_many_is_refused_until_another_ends(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        held = [await made.connect() for _ in range(3)]
        for _, writer in held:
            writer.write(connect(made))
        for reader, _ in held:
            assert status(await reader.readuntil(b"\r\n\r\n")) == 200
        answer = await made.say(plain(made))
        assert status(answer) == 503
        assert b"more than 3 connections" in answer
        for _, writer in held:
            writer.close()
        async with asyncio.timeout(WAIT_S):
            while status(await made.say(plain(made))) != 200:
                await asyncio.sleep(0.01)

    play(tmp_path, part, limits=NetworkLimits(connections=3))


def test_far_too_many_connections_are_cut_without_a_word(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        held = [await made.connect() for _ in range(2)]
        for reader, writer in held:
            writer.write(connect(made))
            await reader.readuntil(b"\r\n\r\n")
        assert await made.say(plain(made)) == b""
        for _, writer in held:
            writer.close()

    play(tmp_path, part, limits=NetworkLimits(connections=1))


def test_a_head_that_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        assert await made.say(b"GET http://good.test") == b""

    play(tmp_path, part, limits=NetworkLimits(head_s=0.1))


@pytest.mark.parametrize("ask", [plain, connect])
def test_silence_ends_a_connection_and_traffic_keeps_it(tmp_path: Path, ask: Callable[..., bytes]) -> None:
    async def part(made: Stage) -> None:
        made.host.answer, made.host.closes = b"HTTP/1.1 200 OK\r\n\r\n", False
        reader, writer = await made.connect()
        writer.write(ask(made))
        began = asyncio.get_running_loop().time()
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(5 if ask is connect else 0):
            writer.write(b"still here")
            await asyncio.sleep(0.2)
            assert not reader.at_eof()
        async with asyncio.timeout(WAIT_S):
            await reader.read(-1)
        lived_s = asyncio.get_running_loop().time() - began
        assert lived_s > (1.6 if ask is connect else 0.7)
        await until(lambda: made.host.ended == 1)
        writer.close()

    play(tmp_path, part, limits=NetworkLimits(idle_s=0.8))


def test_a_reader_that_does_not_read_does_not_stay(tmp_path: Path) -> None:
    async def part(made: Stage) -> None:
        made.host.answer = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 8_000_000
        _, writer = await made.connect()
        writer.write(plain(made))
        await until(lambda: made.host.ended == 1)
        writer.close()

    play(tmp_path, part, limits=NetworkLimits(idle_s=0.3))


def test_the_end_of_the_run_ends_every_connection(tmp_path: Path) -> None:
    async def whole() -> None:
        async with stage(tmp_path) as new_stage:
            reader, writer = await new_stage.connect()
            writer.write(connect(new_stage))
            await reader.readuntil(b"\r\n\r\n")
        async with asyncio.timeout(WAIT_S):
            assert await reader.read(-1) == b""
        await until(lambda: new_stage.host.ended == 1)
        writer.close()

    asyncio.run(whole())


def test_a_proxy_that_ends_leaves_nobody_waiting_and_nothing_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def whole() -> None:
        async with stage(tmp_path) as new_stage:
            refused, writer = await new_stage.connect()
            writer.write(connect(new_stage, "evil.test"))
            assert status(await refused.readuntil(b"\r\n\r\n")) == 403  # and it waits for the end of the talk
            silent, other = await new_stage.connect()
        async with asyncio.timeout(WAIT_S):
            await refused.read()
            await silent.read()
        writer.close()
        other.close()

    asyncio.run(whole())
    assert caplog.records == []
