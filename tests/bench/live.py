"""How soon an event is on an open run page, and what 200 of them, or of lists, cost the web process."""

import contextlib
import http.client
import multiprocessing
import queue
import re
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bot.daemon import web_server
from bot.system.config import Config
from ledger.events.run import AgentSaid, RunClaimed, RunStepped
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import RunState
from tests.bench.figures import Figure, percentile
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.web.pages.world import PUBLIC, Pages

READERS, FEW_READERS = 200, 20
OF_ONE = 20  # streams of one person, on one run
EVENTS_PER_S = 20
WATCHED_S, BRIEFLY_S = 20, 2
OPENING_S = 8  # in which each list is loaded as soon as it is open
LISTED_S, LOADERS = 40, 4  # one round of news for each list; requests at once
PATIENCE_S = 60
MB = 1024 * 1024
STAMP = re.compile(rb"sent at ([0-9.]+)")
SERVER = "the real web process"


def measure(*, quick: bool) -> Iterator[Figure]:
    """Open streams of several people's runs, let events happen, and read them as they come."""
    readers, watched_s = (FEW_READERS, BRIEFLY_S) if quick else (READERS, WATCHED_S)
    with (
        tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder,
        opened(Path(folder), public_url=PUBLIC) as cardinal,
    ):
        pages = Pages.over(cardinal)
        cookies = [_cookie(pages, number) for number in range(readers // OF_ONE)]
        run_ids = [begin_run(pages) for _ in cookies]
        with web(cardinal.services.config) as (process, port):
            for cookie, run_id in zip(cookies, run_ids, strict=True):
                _open(port, cookie, f"/runs/{run_id}").close()  # what every page needs is loaded before
            bare_mb = process.memory_full_info().uss / MB
            follow = [(cookie, run_id) for cookie, run_id in zip(cookies, run_ids, strict=True)] * OF_ONE
            crowd = _Crowd([_open(port, cookie, f"/live/runs/{run_id}") for cookie, run_id in follow])
            share = _busy(process, crowd, cardinal, run_ids, watched_s)
            held_mb = process.memory_full_info().uss / MB - bare_mb
            crowd.close()
            lists = _Lists(
                [_open(port, cookie, "/live/inbox?after=1") for cookie, _ in follow], port, cookies
            )
            listed_s = BRIEFLY_S if quick else LISTED_S
            lists_share = _busy(process, lists, cardinal, run_ids, listed_s, first_s=OPENING_S)
            lists.close()
    note = f"{readers} streams of {len(run_ids)} runs, {EVENTS_PER_S} events/s for {watched_s} s, {SERVER}"
    yield Figure("live_event_p95", percentile(crowd.took_ms, 0.95), "ms", 500, f"appended to read; {note}")
    yield Figure("live_lost", watched_s * EVENTS_PER_S * OF_ONE - len(crowd.took_ms), "lines", 0, note)
    yield Figure(f"live_memory_{readers}", held_mb, "MB", 100, f"beyond {bare_mb:.0f} MB without streams")
    yield Figure(f"live_cpu_{readers}", share, "% of one core", 10, note)
    loads = f"{len(lists.sizes)} loads of up to {max(lists.sizes, default=0):,} bytes"
    note = f"{readers} open inboxes of {len(cookies)} people, cards move, {EVENTS_PER_S} events/s; {loads}"
    yield Figure(f"live_lists_cpu_{readers}", lists_share, "% of one core", 10, note)


@dataclass(slots=True)
class _Crowd:
    """Open pages, all read by one thread; `took_ms` has an entry for each line that one of them got."""

    talks: list[socket.socket]
    took_ms: list[float] = field(default_factory=list)

    def read(self, until: threading.Event) -> None:
        """Read what comes until then, and what was on its way."""
        with selectors.DefaultSelector() as ready:
            for talk in self.talks:
                ready.register(talk, selectors.EVENT_READ, talk)
            while True:
                came = ready.select(1.0)
                if not came and until.is_set():
                    return
                now = time.perf_counter()
                for key, _ in came:
                    if sent := key.data.recv(1_000_000):
                        self.took(key.data, sent, now)
                    else:
                        ready.unregister(key.data)

    def took(self, talk: socket.socket, came: bytes, now: float) -> None:
        """Take notice of what one of them got."""
        self.took_ms += [(now - float(stamp)) * 1000 for stamp in STAMP.findall(came)]

    def close(self) -> None:
        """Leave all pages."""
        for talk in self.talks:
            talk.close()


class _Lists(_Crowd):
    """Open lists: each is loaded anew when its stream says that there is news, as its script does."""

    def __init__(self, talks: list[socket.socket], port: int, cookies: list[str]) -> None:
        super().__init__(talks)
        self.sizes = list[int]()  # of the pages that were loaded
        self._owed = queue.SimpleQueue[str | None]()
        self._whose = dict(zip(talks, cookies * OF_ONE, strict=True))
        self._loading = [threading.Thread(target=self._load, args=(port,)) for _ in range(LOADERS)]
        for each in self._loading:
            each.start()

    def took(self, talk: socket.socket, came: bytes, now: float) -> None:
        """Let the page be loaded."""
        if b"event: news" in came:
            self._owed.put(self._whose[talk])

    def _load(self, port: int) -> None:
        while (cookie := self._owed.get()) is not None:
            with contextlib.closing(
                http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            ) as talk:
                talk.request("GET", "/", headers={"Host": PUBLIC.removeprefix("https://"), "Cookie": cookie})
                answer = talk.getresponse()
                size = len(answer.read())
            if answer.status != http.HTTPStatus.OK:
                raise RuntimeError(f"an inbox was answered with {answer.status}")
            self.sizes.append(size)

    def close(self) -> None:
        """Leave all pages, once those are loaded that are owed."""
        for _ in self._loading:
            self._owed.put(None)
        for each in self._loading:
            each.join(PATIENCE_S)
        super().close()


def _busy(
    process: psutil.Process,
    crowd: _Crowd,
    cardinal: Cardinal,
    run_ids: list[RunId],
    watched_s: int,
    *,
    first_s: int = 1,
) -> float:
    """Let events happen; return which share of a core the process takes meanwhile, in percent.

    `first_s` before that the streams begin.
    """
    over = threading.Event()
    reading = threading.Thread(target=crowd.read, args=(over,))
    reading.start()
    time.sleep(first_s)
    crowd.took_ms.clear()
    start, before = time.perf_counter(), process.cpu_times()
    for number in range(watched_s * EVENTS_PER_S):
        time.sleep(max(0.0, start + number / EVENTS_PER_S - time.perf_counter()))
        say_on(cardinal, run_ids[number % len(run_ids)])
    share = _cpu_s(process.cpu_times()) - _cpu_s(before)
    took_s = time.perf_counter() - start
    over.set()
    reading.join(PATIENCE_S)
    return share / took_s * 100


def _cpu_s(times: "psutil._ntuples.pcputimes") -> float:
    return float(times.user + times.system)


def say_on(cardinal: Cardinal, run_id: RunId) -> None:
    """Append a word of the run's agent, with the time in it."""
    with event_store.writing(cardinal.services.engine) as db:
        said = AgentSaid(run_id, f"sent at {time.perf_counter():.6f}")
        event_store.append(db, said, at=cardinal.clock())


def begin_run(pages: Pages) -> RunId:
    """Return a run at work."""
    run_id = pages.run()
    with event_store.writing(pages.cardinal.services.engine) as db:
        claimed = RunClaimed(run_id, 1, "worker")
        preparing = RunStepped(run_id, RunState.CLAIMED, RunState.PREPARING)
        working = RunStepped(run_id, RunState.PREPARING, RunState.WORKING)
        event_store.append(db, claimed, preparing, working, at=pages.cardinal.clock())
    return run_id


def _cookie(pages: Pages, number: int) -> str:
    """Return the cookie of a new person who signed in."""
    login = f"reader{number}"
    pages.cardinal.forge.store.users.add(login)
    cookie = pages.browser(login).here.get_cookie("__Host-cardinal", domain=PUBLIC.removeprefix("https://"))
    assert cookie is not None
    return f"{cookie.key}={cookie.value}"


def _open(port: int, cookie: str, path: str) -> socket.socket:
    """Ask for a page; return the connection once its answer has begun."""
    talk = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    talk.sendall(f"GET {path} HTTP/1.1\r\nHost: cardinal.example.com\r\nCookie: {cookie}\r\n\r\n".encode())
    begun = talk.recv(12)
    if begun != b"HTTP/1.1 200":
        raise RuntimeError(f"{path} was answered with {begun!r}")
    return talk


@contextmanager
def web(config: Config) -> Iterator[tuple[psutil.Process, int]]:
    """Run the web process; give it and its port."""
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        web = spawning.Process(target=web_server.serve, args=(config, listener, ready.set))
        web.start()
        try:
            if not ready.wait(PATIENCE_S):
                raise RuntimeError("the web process did not start")
            yield psutil.Process(web.pid), listener.getsockname()[1]
        finally:
            web.terminate()
            web.join(PATIENCE_S)
