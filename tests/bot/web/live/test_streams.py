"""Open streams: each event once and in order, within bounds, and no thread for any of them."""

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

import pytest
from flask import Flask, request
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from bot.web.live.response import PageUpdate, StreamResponse, message
from bot.web.live.streams import StreamLimits
from ledger.log import event_store
from ledger.queries import run_lines
from tests.bot.web.live.reading import Reader
from tests.bot.web.live.serving import serving
from tests.ledger.conftest import ledger, ledger_url
from tests.ledger.queries.test_run_lines import RUNS, begun, say
from tests.waiting import until

__all__ = ["begun", "ledger", "ledger_url"]
COUNT = 40
BIG = 1_000_000  # bytes of a batch


def lines_after(engine: Engine, after: int) -> PageUpdate:
    """Return at most three lines of the run, one message each, and its end after the word `end`."""
    with event_store.reading(engine) as db:
        fresh = run_lines.later_lines(db, RUNS[0], after, 3)
        newest = run_lines.later_lines(db, RUNS[0], 0, 1, behind=1).lines
    sent = b"".join(message("lines", line.text, line.seq) for line in fresh.lines)
    over = not fresh.more and newest[0].text == "end"
    return PageUpdate(sent, message("now", f"up to {fresh.last}", fresh.last), fresh.last, fresh.more, over)


def application(
    pull: Callable[[int], PageUpdate], pause_s: float = 0.0, *, reloads: bool = True, standing: bool = False
) -> Flask:
    """Return an application that lets everybody follow the run; /<number> says which person asks."""
    app = Flask(__name__)

    @app.get("/<int:person>")
    def follow(person: int) -> StreamResponse:
        after = int(request.headers.get("Last-Event-ID", "0"))
        about, is_list = run_lines.stream_of(RUNS[0]), pause_s > 0
        return StreamResponse(
            about, person, after, pull, of_all=is_list, pause_s=pause_s, reloads=is_list and reloads,
            standing=standing, login=f"p{person}",
        )  # fmt: skip

    @app.get("/healthz")
    def health() -> str:
        return "well"

    return app


@contextlib.contextmanager
def opened(*readers: Reader) -> Iterator[None]:
    """Open all, and close them in the end."""
    try:
        assert [reader.open() for reader in readers] == [200] * len(readers)
        yield
    finally:
        for reader in readers:
            reader.close()


def test_lines_come_once_and_in_order_over_cut_connections_and_a_new_server(
    begun: Engine,
) -> None:
    app = application(partial(lines_after, begun))
    got, mine = list[str](), Reader(("", 0), "/1")

    def writes() -> None:
        for number in range(COUNT):
            say(begun, RUNS[1], "of another run")
            say(begun, RUNS[0], str(number))
        say(begun, RUNS[0], "end")

    def reads(most: int) -> bool:
        """Read so many messages and the beginning of another; tell whether the last one of all came."""
        assert mine.open() == 200
        for seen in islice(mine.messages(), most):
            got.extend([seen.data] * (seen.event == "lines"))
            if seen.event == "over":
                return True
        mine.answer.readline()
        mine.close()
        return False

    writer = threading.Thread(target=writes)
    writer.start()
    with serving(app, begun) as mine.place:
        reads(1)
        reads(8)
    with serving(app, begun) as mine.place:
        while not reads(7):
            pass
        mine.close()
    writer.join(60)
    assert got[1:] == [*map(str, range(COUNT)), "end"]


def test_a_server_that_stops_ends_its_streams(begun: Engine) -> None:
    mine = Reader(("", 0), "/1")
    with serving(application(partial(lines_after, begun)), begun) as mine.place:
        assert mine.open() == 200
        assert next(mine.messages()).event == "lines"
    assert mine.answer.read().startswith(b"id: ")  # to its end: one that is cut off raises
    mine.close()


def test_a_hundred_open_pages_are_one_reader_and_share_what_it_reads(begun: Engine) -> None:
    pulled = list[int]()

    def pull(after: int) -> PageUpdate:
        pulled.append(after)
        return lines_after(begun, after)

    first, crowd = Reader(("", 0), "/1"), [Reader(("", 0), "/1") for _ in range(100)]
    with serving(application(pull), begun, StreamLimits(of_person=200)) as first.place, opened(first):
        assert next(first.messages()).event == "lines"
        threads = threading.active_count()
        for reader in crowd:
            reader.place = first.place
        with opened(*crowd):
            read = [reader.messages() for reader in crowd]
            assert len({(next(each).data, next(each).data) for each in read}) == 1
            assert threading.active_count() <= threads + 1  # of two that answer requests, one had begun
            del pulled[:]
            say(begun, RUNS[0], "end")
            assert {tuple(seen.event for seen in each) for each in read} == {("lines", "now", "over")}
        assert len(pulled) < len(crowd)


def test_beyond_the_bounds_it_is_said_when_to_come_back_and_pages_are_served(begun: Engine) -> None:
    app, limits = application(partial(lines_after, begun)), StreamLimits(streams=3, of_person=2)

    def refused(path: str) -> int:
        late = Reader(place, path)
        status = late.open()
        assert late.answer.headers["Retry-After"] == "60"
        assert "reload this page" in late.answer.read().decode()
        late.close()
        return status

    with serving(app, begun, limits) as place:
        first, second, third, fourth = (Reader(place, f"/{person}") for person in (1, 1, 2, 3))
        with opened(second):
            with opened(first):
                assert refused("/1") == 429
                with opened(third):
                    assert refused("/3") == 503
                    healthy = Reader(place, "/healthz")
                    assert (healthy.open(), healthy.answer.read()) == (200, b"well")
                    healthy.close()
            while fourth.open() != 200:  # until the server sees that two are gone
                fourth.close()
            fourth.close()


@pytest.mark.parametrize("pause_s", [0.0, 3600.0])  # between two looks: no pause outlasts the stream's time
def test_a_stream_ends_after_its_time_so_that_it_is_asked_again_who_reads(
    begun: Engine, pause_s: float
) -> None:
    with serving(application(partial(lines_after, begun), pause_s), begun, StreamLimits(life_s=0.1)) as place:
        mine = Reader(place, "/1")
        with opened(mine):
            assert [seen.event for seen in mine.messages()] == ["lines", "now"]
        with opened(mine):
            assert [seen.event for seen in mine.messages()] == ["now"]


def test_who_does_not_read_is_closed_and_nothing_is_kept_for_it(
    begun: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    pulled = list[int]()

    def endless(after: int) -> PageUpdate:
        pulled.append(after)
        return PageUpdate(message("lines", "x" * BIG, after + 1), b"", after + 1, more=True)

    with serving(application(endless), begun, StreamLimits(read_s=0.2)) as place:
        mine = Reader(place, "/1")
        with opened(mine):
            other = Reader(place, "/healthz")
            assert (other.open(), other.answer.read()) == (200, b"well")
            other.close()
            until(lambda: "without completing" in caplog.text, "the server ended it")  # the server ended it
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                mine.answer.read()
    assert len(pulled) * BIG < 40_000_000  # as much as the kernel takes for one that does not read


def test_a_stream_whose_ledger_is_away_ends_and_another_one_begins(begun: Engine) -> None:
    away = [True]

    def pull(after: int) -> PageUpdate:
        if away:
            away.pop()
            raise OperationalError("SELECT", {}, Exception("the server closed the connection"))
        return lines_after(begun, after)

    with serving(application(pull), begun) as place:
        mine = Reader(place, "/1")
        with opened(mine), pytest.raises(http.client.IncompleteRead):
            mine.answer.read()
        with opened(mine):
            assert next(mine.messages()).event == "lines"


def test_the_more_pages_are_loaded_anew_for_news_the_less_often_each_is_told(begun: Engine) -> None:
    limits = StreamLimits()
    told_every_s = [limits.pause_s(3.0, pages) for pages in (0, 1, 15, 50, 200)]
    assert told_every_s == [3.0, 3.0, 3.0, 10.0, 40.0]
    rare = StreamLimits(life_s=1.0, alive_s=0.05, look_s=0.01, loads_per_s=0.001)  # less than once in a life
    pulled = list[int]()

    def pull(after: int) -> PageUpdate:
        pulled.append(after)
        return lines_after(begun, after)

    with serving(application(pull, 0.01), begun, rare) as place:
        mine = Reader(place, "/1")
        with opened(mine):
            assert next(mine.messages()).event == "lines"
            for number in range(5):
                say(begun, RUNS[0], str(number))
            assert b": alive" in mine.answer.read()
    assert len(pulled) == 1  # when it began: it comes back for the rest


def test_a_list_is_made_once_for_all_its_readers_and_shown_to_each_as_their_own(begun: Engine) -> None:
    pulled = list[int]()

    def pull(after: int) -> PageUpdate:
        pulled.append(after)
        last = lines_after(begun, after).last
        return PageUpdate(b"", lambda login: message("list", f"{login} at {len(pulled)}", last), last)

    app, crowd = (
        application(pull, 0.01, reloads=False, standing=True),
        [Reader(("", 0), f"/{n}") for n in range(20)],
    )
    with serving(app, begun, StreamLimits(look_s=0.01, loads_per_s=0.5)) as place:
        for reader in crowd:
            reader.place = place
        with opened(*crowd):
            read = [reader.messages() for reader in crowd]
            assert [next(each).data for each in read] == [f"p{number} at 1" for number in range(20)]
            for number in range(5):
                say(begun, RUNS[0], str(number))
            assert [next(each).data for each in read] == [f"p{number} at 2" for number in range(20)]
    assert len(pulled) == 2  # two seconds lie between two of them, whatever happens meanwhile


def test_a_list_whose_ledger_is_away_ends(begun: Engine) -> None:
    def pull(after: int) -> PageUpdate:
        raise OperationalError("SELECT", {}, Exception("the server closed the connection"))

    with serving(application(pull, 0.01, reloads=False, standing=True), begun) as place:
        mine = Reader(place, "/1")
        with opened(mine):
            assert mine.answer.read().startswith(b"retry: ")


def test_no_page_slows_down_a_program_that_loads_none(begun: Engine) -> None:
    rare = StreamLimits(look_s=0.01, loads_per_s=0.001)
    with serving(application(partial(lines_after, begun), 0.01, reloads=False), begun, rare) as place:
        mine = Reader(place, "/1")
        with opened(mine):
            assert next(mine.messages()).event == "lines"
            say(begun, RUNS[0], "end")
            assert [it.event for it in mine.messages()][-1] == "over"


def test_a_page_and_a_program_that_follow_one_run_get_each_their_own(begun: Engine) -> None:
    def pull(form: str, after: int) -> PageUpdate:
        found = lines_after(begun, after)
        return replace(found, lines=message(form, "line", found.last), now=b"")

    app = Flask(__name__)

    @app.get("/<form>")
    def follow(form: str) -> StreamResponse:
        return StreamResponse(run_lines.stream_of(RUNS[0]), 1, 0, partial(pull, form), form=form)

    with serving(app, begun) as place:
        readers = [Reader(place, "/page"), Reader(place, "/api")]
        with opened(*readers):
            read = [reader.messages() for reader in readers]
            assert [next(each).event for each in read] == ["page", "api"]
            say(begun, RUNS[0], "end")
            assert [{it.event for it in each} for each in read] == [{"page", "over"}, {"api", "over"}]


def test_only_the_head_of_a_stream_is_no_stream(begun: Engine) -> None:
    with serving(application(partial(lines_after, begun)), begun) as place:
        talk = http.client.HTTPConnection(*place, timeout=60)
        talk.request("HEAD", "/1")
        answer = talk.getresponse()
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
        talk.request("GET", "/healthz")  # the answer was complete
        answer.read()
        assert talk.getresponse().read() == b"well"
        talk.close()
