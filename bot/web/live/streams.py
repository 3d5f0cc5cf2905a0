"""Open streams of one web process: one reader of the log for all of them, and no thread for any.

Nothing is queued for a reader. Each has its place in the log, and gets later events when it has taken the
earlier ones: a slow one costs one batch, and one that does not read at all is closed. The browser comes back
with the number of the last event that it got. Each stream ends after a while for the same reason: the
identity and the rights of who comes back are checked again.
"""

import asyncio
import logging
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from flask import Response
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from bot.web.live.response import ALIVE, OPENING, PageUpdate, StreamResponse, over
from ledger.errors import CardinalError
from ledger.log import event_store
from runner.gateway.control.asgi import Receive, Send, wait_for_disconnect

log = logging.getLogger(__name__)
MAX_EVENTS = 5000  # that the reader takes notice of at once
COME_BACK_S = 60
BUSY = "Too many live pages are open. Close some, or reload this page in a minute.\n"
MAX_KEPT = 4  # batches of one stream: readers are at the same place, or few of them are behind


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Limits: how many streams there are, in all and of one person, and the seconds of their parts.

    `life_s` ends each; it is less than the server's deadline for an answer. `look_s` lies between two looks
    at the log, `alive_s` between two signs of life, `read_s` is a reader's time for one batch. Pages that are
    loaded anew for each news are told so seldom, and lists are made so seldom, that all together are at most
    `loads_per_s`.
    """

    streams: int = 250
    of_person: int = 20
    life_s: float = 60.0
    alive_s: float = 15.0
    read_s: float = 10.0
    look_s: float = 0.25
    loads_per_s: float = 5.0

    def pause_s(self, wanted_s: float, pages: int) -> float:
        """Return the pause between two pieces of news; so many pages and lists are made anew for each."""
        return max(wanted_s, pages / self.loads_per_s)


@dataclass(eq=False, slots=True)
class _Place:
    """One open stream: `stir` is set when there may be something new for it, and both when it has to end."""

    response: StreamResponse
    stir: asyncio.Event = field(default_factory=asyncio.Event)
    ends: asyncio.Event = field(default_factory=asyncio.Event)
    shown: int = hash(b"")

    def end(self) -> None:
        """Let it end."""
        self.ends.set()
        self.stir.set()


@dataclass(slots=True)
class _Channel:
    """All places of one stream of the log, and the batches that they share until the next event."""

    places: set[_Place] = field(default_factory=set)
    batches: "dict[int, asyncio.Future[PageUpdate]]" = field(default_factory=dict)
    latest: PageUpdate | None = None  # of a standing stream, as are those below
    is_stale: bool = True
    due: float = 0.0

    def stir(self, *, end: bool = False) -> None:
        """Let all of them look again, or end."""
        self.batches.clear()
        for place in self.places:
            place.end() if end else place.stir.set()

    @property
    def of_all(self) -> bool:
        """Whether every event concerns it."""
        return any(place.response.of_all for place in self.places)

    @property
    def pages(self) -> int:
        """How many pages or lists are made for each news."""
        return sum(place.response.reloads for place in self.places) or self.standing

    @property
    def standing(self) -> bool:
        """Whether one look does for all its readers."""
        return any(place.response.standing for place in self.places)


class Streams:
    """The open streams over a ledger; one thread reads it and makes the batches for all."""

    def __init__(self, engine: Engine, limits: StreamLimits | None = None) -> None:
        self._engine, self._limits = engine, limits or StreamLimits()
        self._pool, self._lists = ThreadPoolExecutor(1), ThreadPoolExecutor(1)  # lines wait for no list
        self._channels: dict[tuple[str, str], _Channel] = {}
        self._of_person: Counter[int] = Counter()
        self._reader: asyncio.Task[None] | None = None
        self._making = set[asyncio.Future[None]]()  # tasks that nobody holds may vanish
        self._closed = False

    def close(self) -> None:
        """End all streams: the server stops."""
        self._closed = True
        self._stir_all(end=True)

    async def serve(self, response: StreamResponse, receive: Receive, send: Send) -> None:
        """Send messages until the reader leaves, the run ends, or the stream's time is over."""
        refused = self._refusal(response.person)
        if refused is not None:
            await _refuse(send, refused, response)
            return
        place = self._enter(response)
        gone = asyncio.ensure_future(wait_for_disconnect(receive))
        gone.add_done_callback(lambda _: place.end())
        try:
            await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": _raw(response)})
            await self._send(send, OPENING)
            await self._follow(place, send)
            await send({"type": "http.response.body", "body": b""})
        except (TimeoutError, DBAPIError) as error:  # incomplete, so the server closes the connection
            log.info("stream closed stream=%s reason=%s", response.about, type(error).__name__)
        finally:
            gone.cancel()
            self._drop(place)

    async def _follow(self, place: _Place, send: Send) -> None:
        """Send batch after batch, from one place in the log to the next."""
        now = asyncio.get_running_loop().time
        until, after = now() + self._limits.life_s, place.response.after
        while not place.ends.is_set():
            place.stir.clear()
            update = await self._batch(place.response, after)
            now_shown = update.now
            if not isinstance(now_shown, bytes):
                loop = asyncio.get_running_loop()
                now_shown = await loop.run_in_executor(self._lists, place.response.rendered, update)
            fresh = now_shown if hash(now_shown) != place.shown else b""
            if update.lines or fresh:
                await self._send(send, update.lines + fresh)
                place.shown = hash(now_shown) if now_shown else place.shown
            after = update.last
            if update.ended:
                await self._send(send, over(after))
            left_s = until - now()
            if update.ended or left_s <= 0:
                return
            if await self._rests(place, send, left_s):
                return
            if not update.more and not await _set(place.stir, min(until - now(), self._limits.alive_s)):
                await self._send(send, ALIVE)

    async def _rests(self, place: _Place, send: Send, left_s: float) -> bool:
        """Wait until the page may be told the next news; tell whether its stream ended meanwhile.

        The page gets later news when it comes back.
        """
        if place.response.standing:
            return False
        wanted_s = self._pause_s(place.response) if place.response.reloads else place.response.pause_s
        pause_s = min(left_s, wanted_s)
        while pause_s > self._limits.alive_s:
            if await _set(place.ends, self._limits.alive_s):
                return True
            await self._send(send, ALIVE)
            pause_s -= self._limits.alive_s
        return pause_s > 0 and (await _set(place.ends, pause_s) or wanted_s >= left_s)

    def _pause_s(self, response: StreamResponse) -> float:
        pages = sum(channel.pages for channel in self._channels.values())
        return self._limits.pause_s(response.pause_s, pages)

    async def _send(self, send: Send, payload: bytes) -> None:
        async with asyncio.timeout(self._limits.read_s):
            await send({"type": "http.response.body", "body": payload, "more_body": True})

    async def _batch(self, response: StreamResponse, after: int) -> PageUpdate:
        """Return the updates later than `after`; readers at the same place share them."""
        channel = self._channels[response.channel]
        if response.standing:
            is_later = channel.latest is not None and channel.latest.last > after
            return channel.latest if channel.latest and is_later else PageUpdate(b"", b"", after)
        batches = channel.batches
        made = batches.get(after)
        if made is None or (made.done() and made.exception() is not None):
            if len(batches) >= MAX_KEPT:
                batches.clear()
            loop = asyncio.get_running_loop()
            made = batches[after] = loop.run_in_executor(self._pool, response.pull, after)
        return await asyncio.shield(made)

    # --- places ----------------------------------------------------------------------------------------

    def _refusal(self, person: int) -> HTTPStatus | None:
        if self._closed or self._of_person.total() >= self._limits.streams:
            return HTTPStatus.SERVICE_UNAVAILABLE
        if self._of_person[person] >= self._limits.of_person:
            return HTTPStatus.TOO_MANY_REQUESTS
        return None

    def _enter(self, response: StreamResponse) -> _Place:
        place = _Place(response)
        self._channels.setdefault(response.channel, _Channel()).places.add(place)
        self._of_person[response.person] += 1
        if self._reader is None or self._reader.done():
            self._reader = asyncio.ensure_future(self._read_log())
        return place

    def _drop(self, place: _Place) -> None:
        response = place.response
        channel = self._channels[response.channel]
        channel.places.discard(place)
        if not channel.places:
            del self._channels[response.channel]
        self._of_person[response.person] -= 1
        self._of_person += Counter[int]()  # drops whoever has none

    def _stir_all(self, *, end: bool = False) -> None:
        for channel in self._channels.values():
            channel.stir(end=end)

    # --- the reader ------------------------------------------------------------------------------------

    async def _read_log(self) -> None:
        """Stir the places whose streams go on, until there are none. If the log cannot be read, all end."""
        loop = asyncio.get_running_loop()
        try:
            after = await loop.run_in_executor(self._pool, self._last_seq)
            self._stir_all()  # what happened before the first look
            while self._channels:
                after, changed = await loop.run_in_executor(self._pool, self._read_changes, after)
                for (about, _), channel in self._channels.items():
                    is_new = about in changed or (bool(changed) and channel.of_all)
                    if channel.standing:
                        channel.is_stale |= is_new
                        self._renew(channel)
                    elif is_new:
                        channel.stir()
                await asyncio.sleep(self._limits.look_s)
        except (DBAPIError, CardinalError) as error:
            log.warning("streams ended reason=%s", type(error).__name__)
            self._stir_all(end=True)

    def _renew(self, channel: _Channel) -> None:
        """Let the standing update be found again, if it may have changed and its pause is over."""
        now = asyncio.get_running_loop().time
        if not channel.is_stale or now() < channel.due:
            return
        response, seen = next(iter(channel.places)).response, channel.latest
        channel.is_stale, channel.due = False, math.inf

        async def make() -> None:
            look = asyncio.get_running_loop().run_in_executor(
                self._lists, response.pull, seen.last if seen else 0
            )
            try:
                made = await look
            except (DBAPIError, CardinalError) as error:
                log.warning("streams ended stream=%s reason=%s", response.about, type(error).__name__)
                channel.is_stale = True  # for who comes before all have left
                channel.stir(end=True)
            else:
                channel.latest = made if made.now or not seen else replace(made, now=seen.now)
                channel.stir()
            finally:
                channel.due = now() + self._pause_s(response)

        self._making.add(task := asyncio.ensure_future(make()))
        task.add_done_callback(self._making.discard)

    def _last_seq(self) -> int:
        with event_store.reading(self._engine) as db:
            return event_store.last_seq(db)

    def _read_changes(self, after: int) -> tuple[int, frozenset[str]]:
        with event_store.reading(self._engine) as db:
            return event_store.streams_after(db, after, limit=MAX_EVENTS)


async def _set(event: asyncio.Event, within_s: float) -> bool:
    """Wait for it to be set; tell whether it was in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            return await event.wait()
    return False


async def _refuse(send: Send, status: HTTPStatus, response: StreamResponse) -> None:
    refusal = Response(BUSY, status, response.headers, content_type="text/plain; charset=utf-8")
    refusal.headers["Retry-After"] = str(COME_BACK_S)
    await send({"type": "http.response.start", "status": status, "headers": _raw(refusal)})
    await send({"type": "http.response.body", "body": refusal.data})


def _raw(response: Response) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in response.headers]
