"""The web server beside clients that are slow, silent or greedy: they lose their place, deliveries do not."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import psutil
import pytest
from flask import Flask, Response, request

from bot.web.connections import MAX_HEAD_BYTES, ConnectionLimits, ConnectionPhase
from bot.web.small_request import SMALL_BYTES, Answer
from bot.web.wsgi import Bridge
from tests.bot.daemon.test_web_server import post, server
from tests.bot.web.serving import served
from tests.waiting import until

__all__ = ["server"]
LONG = {ConnectionPhase.HEAD: 600.0, ConnectionPhase.BODY: 600.0, ConnectionPhase.ANSWER: 600.0}
LARGE = 40_000_000  # more than the kernel takes for a client that does not read
HEAD = b"POST /door HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
POST = b"POST /door HTTP/1.1\r\nHost: a\r\n"
GET = b"GET /seen HTTP/1.1\r\nHost: a\r\n"

Start = Callable[[ConnectionLimits], tuple[str, int]]


application = Flask(__name__)


@application.route("/<path:_>", methods=["GET", "POST"])
def answer(_: str) -> Response:
    """Answer with what it was given; at /large with more than anybody wants."""
    if request.path == "/large":
        return Response(b"x" * 1_000_000 for _ in range(LARGE // 1_000_000))
    names = ("SCRIPT_NAME", "PATH_INFO", "REMOTE_ADDR", "wsgi.url_scheme")
    seen = {name: value for name, value in request.environ.items() if name in names or name[:5] == "HTTP_"}
    return Response(f"{seen} {len(request.get_data())}")


async def nobody(*_: object) -> None:
    """Serve no stream: the application has none."""


@pytest.fixture
def start() -> Iterator[Start]:
    """Return what starts a server with these bounds in a thread, and gives its address."""
    with contextlib.ExitStack() as until_then:
        yield lambda limits: until_then.enter_context(
            served(Bridge(application, threads=1, follow=nobody), limits)
        )


def opened(place: tuple[str, int], sent: bytes = b"") -> socket.socket:
    talk = socket.create_connection(place, timeout=60)
    talk.sendall(sent)
    return talk


def answered(talk: socket.socket) -> bytes:
    """Return all that comes until the server hangs up."""
    with talk, contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: talk.recv(65536), b""))
    return b""


def test_a_delivery_is_taken_beside_600_clients_that_are_silent_slow_or_half_done(
    server: tuple[Any, str],
) -> None:
    host, _, port = server[1].removeprefix("http://").rpartition(":")
    body = b"POST /webhooks/github HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n{"
    with contextlib.ExitStack() as until_then:
        crowd = [
            until_then.enter_context(opened((host, int(port)), sent))
            for sent in (b"", b"POST /webh", body) * 200
        ]
        for talk in crowd[1::3]:
            talk.sendall(b"o")
        assert post(server[1], "d-1") == 202


def test_the_oldest_client_that_is_not_done_makes_room_for_a_new_one(start: Start) -> None:
    place = start(ConnectionLimits(connections=5, seconds=LONG))
    crowd = [opened(place, GET if number % 2 else b"") for number in range(5)]
    assert b"200 OK" in answered(opened(place, GET + b"Connection: close\r\n\r\n"))
    assert answered(crowd[0]).startswith(b"HTTP/1.1 503 ")
    crowd[1].sendall(b"Connection: close\r\n\r\n")  # the next oldest has kept its place
    assert b"200 OK" in answered(crowd[1])
    for talk in crowd[2:]:
        talk.close()


@pytest.mark.parametrize(
    ("phase", "sent"),
    [(ConnectionPhase.HEAD, b""), (ConnectionPhase.HEAD, GET), (ConnectionPhase.BODY, HEAD)],
)
def test_who_is_late_with_head_or_body_is_told_so(start: Start, phase: ConnectionPhase, sent: bytes) -> None:
    place = start(ConnectionLimits(seconds={**LONG, phase: 0.1}))
    assert answered(opened(place, sent)).startswith(b"HTTP/1.1 408 ")


def test_trickling_does_not_move_a_deadline(start: Start) -> None:
    place = start(ConnectionLimits(seconds={**LONG, ConnectionPhase.BODY: 0.5}))
    with opened(place, HEAD) as talk, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        for _ in range(600):
            talk.settimeout(0.1)
            with contextlib.suppress(TimeoutError):
                assert b"408" in talk.recv(100)
                return
            talk.sendall(b"x")
        pytest.fail("it went on for a minute")


def test_a_second_request_on_a_connection_has_its_own_deadline(start: Start) -> None:
    place = start(ConnectionLimits(seconds={**LONG, ConnectionPhase.BODY: 0.1}))
    with opened(place, GET + b"\r\n") as talk:
        assert b"200 OK" in talk.recv(65536)
        talk.sendall(HEAD)
        assert b"408" in answered(talk)


def test_large_bodies_that_are_not_done_hold_a_bounded_sum_of_bytes(start: Start) -> None:
    place = start(ConnectionLimits(held_bytes=150_000, seconds=LONG))
    first, second = opened(place, HEAD + b"x" * 90_000), opened(place, HEAD + b"x" * 90_000)
    assert answered(first).startswith(b"HTTP/1.1 503 ")
    second.sendall(b"x" * 10_000)
    assert b"200 OK" in second.recv(65536)
    second.close()


def test_bytes_of_requests_that_are_done_count_no_more(start: Start) -> None:
    place = start(ConnectionLimits(held_bytes=150_000, seconds=LONG))
    for _ in range(3):
        with opened(place, HEAD + b"x" * 100_000) as talk:
            assert b"200 OK" in talk.recv(65536)


def test_who_does_not_read_the_answer_loses_the_place(start: Start) -> None:
    place = start(ConnectionLimits(seconds={**LONG, ConnectionPhase.ANSWER: 0.2}))
    talk = opened(place, b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert talk.recv(1) == b"H"  # it was let in
    own = psutil.Process()
    until(
        lambda: all(it.laddr != place or not it.raddr for it in own.net_connections("tcp4")), "it hung up"
    )  # it hung up
    assert len(answered(talk)) < LARGE


def test_who_does_not_read_takes_no_thread_from_others(start: Start) -> None:
    place = start(ConnectionLimits(seconds=LONG))
    with opened(place, b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"):  # there is one thread
        assert b"200 OK" in answered(opened(place, GET + b"Connection: close\r\n\r\n"))


def test_a_whole_large_answer_comes_to_who_reads_it(start: Start) -> None:
    place = start(ConnectionLimits(seconds=LONG))
    talk = opened(place, b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert answered(talk).count(b"x" * 1_000) == LARGE // 1_000


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "Script_Name", "X_Hub_Signature_256", "REMOTE_ADDR"])
def test_a_header_with_an_underscore_is_none(start: Start, name: str) -> None:
    place = start(ConnectionLimits())
    sent = GET + f"{name}: /seen\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\n".encode()
    seen = answered(opened(place, sent + b"X-Forwarded-Prefix: /p\r\nConnection: close\r\n\r\n")).decode()
    assert "'SCRIPT_NAME': ''" in seen
    assert "'PATH_INFO': '/seen'" in seen
    assert "'REMOTE_ADDR': '127.0.0.1'" in seen
    assert "'wsgi.url_scheme': 'http'" in seen
    assert "SIGNATURE" not in seen


def test_a_head_without_an_end_is_refused_once_it_is_large(start: Start) -> None:
    place = start(ConnectionLimits(seconds=LONG))
    begun = GET + b"X-Fill: "  # what is sent beyond the limit would not be read, and reset the connection
    talk = opened(place, begun + b"x" * (MAX_HEAD_BYTES + 1 - len(begun)))
    assert answered(talk).startswith(b"HTTP/1.1 431 ")


def test_a_request_before_the_answer_to_another_ends_the_connection(start: Start) -> None:
    place = start(ConnectionLimits(seconds=LONG))
    assert b"200 OK" not in answered(opened(place, (GET + b"\r\n") * 1000))
    assert b"200 OK" in answered(opened(place, GET + b"Connection: close\r\n\r\n"))


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /seen HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET /seen HTTP/1.1\r\nHost : a\r\n\r\n",
        POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        POST + b"Content-Length: +1\r\n\r\na",
        POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        POST + b"Transfer-Encoding: gzip\r\n\r\na",
        POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\na",
        POST + b"Connection: Upgrade\r\nUpgrade: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(start: Start, sent: bytes) -> None:
    assert answered(opened(start(ConnectionLimits(seconds=LONG)), sent)).startswith(b"HTTP/1.1 400 ")


def test_a_wish_for_another_protocol_is_not_granted(start: Start) -> None:
    place = start(ConnectionLimits(seconds=LONG))
    talk = opened(place, GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n")
    answer = answered(talk)  # and no bytes after it are a request
    assert answer.startswith(b"HTTP/1.1 400 ")  # Flask's
    assert b"\r\nconnection: close\r\n" in answer


def test_fields_behind_a_body_are_no_headers(start: Start) -> None:
    head = GET.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    sent = head + b"3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\nHost: b\r\n\r\n"
    seen = answered(opened(start(ConnectionLimits(seconds=LONG)), sent)).decode()
    assert "'HTTP_HOST': 'a'" in seen
    assert "AUTHORIZATION" not in seen


def take(headers: Mapping[str, str], body: bytes, reply: Answer) -> None:
    """Answer with the length of the body, in a moment; a body of `!` is a fault."""
    if body == b"!":
        raise RuntimeError("broken on purpose")
    document = {"bytes": len(body), "signature": headers.get("x-hub-signature-256")}
    asyncio.get_running_loop().call_soon(reply, HTTPStatus.ACCEPTED, document)


@pytest.fixture
def start_small() -> Iterator[Start]:
    """Return what starts a server that takes small requests at /small by `take`."""
    with contextlib.ExitStack() as until_then:
        yield lambda limits: until_then.enter_context(
            served(Bridge(application, threads=1, follow=nobody), limits, takers={b"/small": take})
        )


def small(body: bytes, more: bytes = b"") -> bytes:
    return b"POST /small HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s" % (more, len(body), body)


def test_small_requests_are_answered_on_one_connection_however_they_are_cut(start_small: Start) -> None:
    place = start_small(ConnectionLimits(seconds=LONG))
    with opened(place) as talk:
        for body in (b"", b"x" * 200_000, b"!", b"y"):
            whole = small(body, b"X-Hub-Signature-256: z\r\n")
            for first in range(0, len(whole), 60_000):
                talk.sendall(whole[first : first + 60_000])
            seen = talk.recv(65536)
            told = b'{"bytes":%d,"signature":"z"}' % len(body)
            assert seen.startswith(b"HTTP/1.1 500 " if body == b"!" else b"HTTP/1.1 202 ")
            assert body == b"!" or seen.endswith(told)
    last = answered(opened(place, small(b"x", b"Connection: close\r\n")))
    assert b"\r\nconnection: close\r\n" in last


@pytest.mark.parametrize(
    "sent",
    [
        small(b"x" * (SMALL_BYTES + 1), b"Connection: close\r\n"),
        small(b"x", b"Connection: close\r\nExpect: 100-continue\r\n"),
        b"POST /small HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ],
)
def test_any_other_request_there_takes_the_usual_way(start_small: Start, sent: bytes) -> None:
    assert b"PATH_INFO" in answered(opened(start_small(ConnectionLimits(seconds=LONG)), sent))


def test_bodies_of_small_requests_are_bounded_and_given_back(start_small: Start) -> None:
    place = start_small(ConnectionLimits(held_bytes=150_000, seconds=LONG))
    for _ in range(3):  # they count no more, answered or given up
        with opened(place, small(b"x" * 100_000)) as talk:
            assert b" 202 " in talk.recv(65536)
        opened(place, small(b"x" * 100_000)[:-50_000]).close()
    first, second = (opened(place, small(b"x" * 100_000)[:-1]) for _ in range(2))
    assert answered(first).startswith(b"HTTP/1.1 503 ")
    second.sendall(b"x")
    assert b" 202 " in second.recv(65536)
    second.close()


def test_a_stop_waits_for_no_unfinished_request(server: tuple[Any, str]) -> None:
    process, address = server
    host, _, port = address.removeprefix("http://").rpartition(":")
    with opened((host, int(port)), HEAD) as half, opened((host, int(port))):
        assert post(address, "d-1") == 202
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "408" not in answered(half).decode()
