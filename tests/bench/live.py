"""How soon an event is on an open run page, and what 200 of them, or of lists, cost the web process."""

import multiprocessing
import re
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bot.daemon import web_server
from bot.system.config import Config
from bot.web.site.following import PAUSE_S
from bot.web.site.layout import VISIT_S
from ledger.events.board import CardExplained, CardSeen
from ledger.events.run import AgentSaid, RunClaimed, RunStepped
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queue import sign_ins
from ledger.states import CardState, RunState
from tests.bench.figures import Figure, percentile
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.web.pages.world import PUBLIC, Pages

READERS, FEW_READERS = 200, 20
OF_ONE, OF_LISTS = 20, 4  # streams of one person, on one run and on lists
EVENTS_PER_S = 20
WATCHED_S, BRIEFLY_S = 20, 2
OPENING_S = 5  # in which each list comes once
LISTED = 100
PATIENCE_S = 60
MB = 1024 * 1024
PLACE = re.compile(rb"^id: ([0-9]+)$", re.MULTILINE)
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
            share = _busy(
                process, crowd, lambda number: say_on(cardinal, run_ids[number % len(run_ids)]), watched_s
            )
            held_mb = process.memory_full_info().uss / MB - bare_mb
            crowd.close()
            people = cookies + [_cookie(pages, number) for number in range(len(cookies), readers // OF_LISTS)]
            cards = _listed_cards(pages)
            bare_list_mb = process.memory_full_info().uss / MB
            lists = _Lists([_open(port, cookie, "/live/inbox?after=1") for cookie in people * OF_LISTS])

            def explain(number: int) -> None:
                event = CardExplained(cards[number % len(cards)], f"it waits, {number}")
                with event_store.writing(cardinal.services.engine) as db:
                    (recorded,) = event_store.append(db, event, at=cardinal.clock())
                lists.appended[recorded.seq] = time.perf_counter()

            lists_share = _busy(process, lists, explain, watched_s, first_s=OPENING_S)
            lists_mb = process.memory_full_info().uss / MB - bare_list_mb
            lists.close()
    note = f"{readers} streams of {len(run_ids)} runs, {EVENTS_PER_S} events/s for {watched_s} s, {SERVER}"
    yield Figure("live_event_p95", percentile(crowd.took_ms, 0.95), "ms", 300, f"appended to read; {note}")
    yield Figure("live_lost", watched_s * EVENTS_PER_S * OF_ONE - len(crowd.took_ms), "lines", 0, note)
    yield Figure(f"live_memory_{readers}", held_mb, "MB", 100, f"beyond {bare_mb:.0f} MB without streams")
    yield Figure(f"live_cpu_{readers}", share, "% of one core", 10, note)
    note = f"{readers} inboxes of {len(people)} people, {LISTED} cards in lanes, {EVENTS_PER_S} changes/s"
    late = percentile(lists.took_ms, 0.95)
    yield Figure("live_list_p95", late, "ms", 5000, f"{note}; {lists.sent / MB:.0f} MB were sent")
    lost = watched_s * EVENTS_PER_S * readers - len(lists.took_ms)
    yield Figure("live_list_lost", lost, "events", 0, f"changes that a list did not get; {note}")
    yield Figure(f"live_lists_cpu_{readers}", lists_share, "% of one core", 10, note)
    yield Figure(f"live_lists_memory_{readers}", lists_mb, "MB", 100, note)


@dataclass(slots=True)
class _Crowd:
    """Open pages, all read by one thread; `took_ms` has an entry for each line that one of them got."""

    talks: list[socket.socket]
    took_ms: list[float] = field(default_factory=list)
    quiet_s: float = 1.0  # after which nothing is on its way

    def read(self, until: threading.Event) -> None:
        """Read what comes until then, and what was on its way."""
        with selectors.DefaultSelector() as ready:
            for talk in self.talks:
                ready.register(talk, selectors.EVENT_READ, talk)
            while True:
                came = ready.select(self.quiet_s)
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
    """Open lists; an event is shown to whoever gets a list that goes up to it."""

    def __init__(self, talks: list[socket.socket]) -> None:
        super().__init__(talks, quiet_s=PAUSE_S + 1)
        self.appended = dict[int, float]()  # when, by the event's number
        self.sent = 0  # bytes
        self._shown = dict.fromkeys(talks, 0)

    def took(self, talk: socket.socket, came: bytes, now: float) -> None:
        """Take notice of the place in the log up to which the list is whole now."""
        self.sent += len(came)
        last = max(map(int, PLACE.findall(came)), default=0)
        fresh = range(max(self._shown[talk] + 1, min(self.appended, default=last + 1)), last + 1)
        self.took_ms += [(now - self.appended[seq]) * 1000 for seq in fresh if seq in self.appended]
        self._shown[talk] = max(last, self._shown[talk])


def _busy(
    process: psutil.Process,
    crowd: _Crowd,
    happens: Callable[[int], None],
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
        happens(number)
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
        event = AgentSaid(run_id, f"sent at {time.perf_counter():.6f}")
        event_store.append(db, event, at=cardinal.clock())


def begin_run(pages: Pages) -> RunId:
    """Return a run at work."""
    run_id = pages.run()
    with event_store.writing(pages.cardinal.services.engine) as db:
        claimed = RunClaimed(run_id, 1, "worker")
        preparing = RunStepped(run_id, RunState.CLAIMED, RunState.PREPARING)
        working = RunStepped(run_id, RunState.PREPARING, RunState.WORKING)
        event_store.append(db, claimed, preparing, working, at=pages.cardinal.clock())
    return run_id


def _listed_cards(pages: Pages) -> list[CardId]:
    """Return cards in all lanes, each of another person."""
    of = CardState
    states = (of.NEEDS_INPUT, of.QUEUED, of.IN_REVIEW, of.APPROVED, of.FAILED)
    ids, board_id = [CardId(f"listed{number}") for number in range(LISTED)], pages.cardinal.board_id
    events = [
        CardSeen(
            card_id, board_id, "", "acme/shop", 1000 + number, f"Card {number}", "", "alice", "In Progress",
            states[number % len(states)], by=f"reader{number}",
        )
        for number, card_id in enumerate(ids)
    ]  # fmt: skip
    with event_store.writing(pages.cardinal.services.engine) as db:
        event_store.append(db, *events, at=pages.cardinal.clock())
    return ids


def _cookie(pages: Pages, number: int) -> str:
    """Return the cookie of a new person who signed in."""
    login = f"reader{number}"
    account, services = pages.cardinal.forge.store.users.add(login), pages.cardinal.services
    with event_store.writing(services.engine) as db:  # more people than may sign in within an hour
        sign_ins.begin_sign_in(db, login, user_id=account.id, login=login, now=services.now(), ttl_s=VISIT_S)
    return f"__Host-cardinal={login}"


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
        web = spawning.Process(target=web_server.serve_web, args=(config, listener, ready.set))
        web.start()
        try:
            if not ready.wait(PATIENCE_S):
                raise RuntimeError("the web process did not start")
            yield psutil.Process(web.pid), listener.getsockname()[1]
        finally:
            web.terminate()
            web.join(PATIENCE_S)
