"""Events are found in a stream whatever pieces it comes in, and a hostile one costs no memory."""

import pytest

from runner.gateway.models.protocol import SseParser, event_bytes

STREAM = (
    b'event: a\ndata: {"x": 1}\n\n'
    b": a comment\n\n"
    b"data:no space\r\n\r\n"
    b"data: one\ndata: two\nid: 7\n\n"
    b"event: b\r\ndata: three\r\n\r\n"
    b"data: last\r\r"
)
PAYLOADS = [b'{"x": 1}', b"no space", b"one\ntwo", b"three", b"last"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_found_however_the_stream_is_cut(size: int) -> None:
    events = SseParser()
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert [payload for piece in pieces for payload in events.feed(piece)] == PAYLOADS


def test_the_border_is_where_the_last_whole_event_ends() -> None:
    events = SseParser()
    events.feed(b"data: a\n\ndata: b")
    assert events.border == 9
    events.feed(b"bbb")
    assert events.border == 0
    events.feed(b"\n\nrest")
    assert events.border == 2


def test_an_event_over_the_cap_is_skipped_and_the_next_one_is_not() -> None:
    events = SseParser(cap_bytes=1000)
    found = []
    for piece in (b"data: " + b"x" * 600, b"y" * 600, b"z\n" + b"z" * 5000, b"\n\ndata: small\n\n"):
        found += events.feed(piece)
        assert len(events._rest) <= 1000
    assert found == [b"small"]


def test_what_is_packed_is_one_event() -> None:
    assert SseParser().feed(event_bytes(b"{}", "error")) == [b"{}"]
