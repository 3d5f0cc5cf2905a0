"""What a gateway says is read back as it was meant, and nothing that it says can harm its supervisor."""

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest

from runner.agents.board_tools import BadCall, BoardCall
from runner.agents.contract import Usage
from runner.gateway.control.messages import (
    MESSAGE_BYTES,
    CallRefusal,
    Drained,
    GatewayMessage,
    HostRequest,
    ProviderFailure,
    Warned,
    encode_event,
    read,
)
from runner.gateway.control.uplink import Uplink
from runner.gateway.models.limits import RateLimiter

ALL: tuple[GatewayMessage, ...] = (
    ProviderFailure("openai", 500, "oh", 2, final=True),
    CallRefusal("budget", "no", 0.5),
    HostRequest("example.org", 443, allowed=False, why="none"),
    Warned("look"),
    Drained(),
    Usage(0.25, 10, 5, 1),
)


def test_every_event_is_read_as_it_was_written() -> None:
    for told in ALL:
        assert read(json.dumps(encode_event(told))) == (told,)
    call = {"type": "call", "id": "c1", "tool": "progress", "input": {"text": "on it"}}
    (read_call,) = read(json.dumps(call))
    assert isinstance(read_call, BoardCall)
    (bad,) = read(json.dumps({**call, "tool": "fly"}))
    assert isinstance(bad, BadCall)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        '{"type":"usage"}',
        '{"type":["usage"]}',
        '{"type":"usage","usd":"1","input_tokens":1,"output_tokens":1,"turns":1}',
        '{"type":"usage","usd":true,"input_tokens":1,"output_tokens":1,"turns":1}',
        '{"type":"warned","text":"a","more":1}',
        '{"type":"call","id":1,"tool":"progress","input":{}}',
    ],
)
def test_a_message_without_meaning_is_nothing(message: str) -> None:
    assert read(message) == ()


def test_figures_beyond_belief_are_made_believable() -> None:
    wild = '{"type":"usage","usd":NaN,"input_tokens":-5,"output_tokens":1,"turns":1}'
    assert read(wild) == (Usage(0.0, 0, 1, 1),)


def test_a_text_of_any_length_fits_a_datagram() -> None:
    for told in (
        Warned("漢" * 100_000),
        CallRefusal("budget", "\n" * 9),
        HostRequest("h" * 99_999, 1, True, "w"),
    ):
        assert len(json.dumps(encode_event(told))) < MESSAGE_BYTES


class Far:
    """A supervisor's end in the hands of a test."""

    def __init__(self) -> None:
        self.near, self.line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def order(self, **message: Any) -> None:
        self.line.send(json.dumps(message).encode())

    def heard(self) -> Any:
        self.line.settimeout(60)
        return json.loads(self.line.recv(1 << 16))

    def close(self) -> None:
        self.near.close()
        self.line.close()


@pytest.fixture
def far() -> Any:
    made = Far()
    yield made
    made.close()


async def turns(count: int = 5) -> None:
    """Let the loop hear what waits."""
    for _ in range(count):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)


def test_a_call_is_answered_by_its_own_reply_and_asked_once(far: Far) -> None:
    async def play() -> tuple[Mapping[str, object], ...]:
        uplink = Uplink(far.near)
        far.order(type="open", turn="t1", usd_left=1, tools=["ask", "note"], withheld=[])
        await turns()
        assert (uplink.is_open, uplink.turn, uplink.tools) == (True, "t1", ("ask", "note"))
        one = asyncio.create_task(uplink.ask("c1", {"id": "c1"}, 5))
        same = asyncio.create_task(uplink.ask("c1", {"id": "c1"}, 5))
        other = asyncio.create_task(uplink.ask("c2", {"id": "c2"}, 5))
        await turns()
        assert [far.heard()["id"], far.heard()["id"]] == ["c1", "c2"]
        far.order(type="reply", id="c2", result={"n": 2})
        far.order(type="reply", id="c1", result={"n": 1})
        far.order(type="reply", id="c1", result={"n": 9})
        answers = (await one, await same, await other)
        uplink.close()
        return answers

    assert asyncio.run(play()) == ({"n": 1}, {"n": 1}, {"n": 2})
    far.line.setblocking(False)
    with pytest.raises(BlockingIOError):
        far.line.recv(1)


def test_a_call_without_an_answer_ends_with_an_error(far: Far) -> None:
    async def play() -> list[Mapping[str, object]]:
        uplink = Uplink(far.near)
        closed = await uplink.ask("c0", {}, 5)
        far.order(type="open", turn="t1", usd_left=1, tools=[], withheld=[])
        await turns()
        late = await uplink.ask("c1", {}, 0.05)
        large = await uplink.ask("c2", {"x": "y" * MESSAGE_BYTES}, 5)
        waiting = asyncio.create_task(uplink.ask("c3", {}, 5))
        await turns()
        far.order(type="shut")
        over = await waiting
        assert (uplink.is_open, uplink.tools) == (False, ())
        uplink.close()
        return [closed, late, large, over]

    said = [str(one["error"]) for one in asyncio.run(play())]
    assert ["no turn" in said[0], "did not answer" in said[1], "larger" in said[2]] == [True] * 3
    assert said[3] == "the turn is over"


def test_a_supervisor_that_does_not_listen_stops_nothing_and_misses_no_usage(far: Far) -> None:
    async def play() -> list[str]:
        uplink = Uplink(far.near)
        for number in range(5000):
            uplink.say(Warned(f"{number} " + "x" * 400))
            if number % 100 == 0:
                uplink.say(Usage(1.0, number, 0, 0))
        heard: list[str] = []
        far.line.setblocking(False)
        for _ in range(10_000):
            try:
                heard.append(json.loads(far.line.recv(1 << 16))["type"])
            except BlockingIOError:
                await asyncio.sleep(0)
            if heard.count("usage") == 50:
                break
        uplink.close()
        return heard

    heard = asyncio.run(play())
    assert heard.count("usage") == 50
    assert heard.count("warned") < 4000


def test_the_end_of_the_supervisor_is_noticed(far: Far) -> None:
    async def play() -> bool:
        gone = asyncio.Event()
        Uplink(far.near, gone=gone.set)
        far.line.close()
        await asyncio.wait_for(gone.wait(), 5)
        return True

    assert asyncio.run(play())


def test_a_pace_gives_a_minutes_worth_at_once_and_then_one_by_one() -> None:
    now = [0.0]
    pace = RateLimiter(6, lambda: now[0])
    assert [pace.allows() for _ in range(8)] == [True] * 6 + [False] * 2
    now[0] = 10.0
    assert [pace.allows(), pace.allows()] == [True, False]
    now[0] = 1000.0
    assert [pace.allows() for _ in range(8)].count(True) == 6
