"""A response that goes on: server-sent events for an open page.

Source: html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import Response, request

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

AFTER = re.compile(r"[0-9]{1,18}")
RETRY_MS = 500  # a browser's wait before it comes back to a stream that ended
OPENING = f"retry: {RETRY_MS}\n\n".encode()
ALIVE = b": alive\n\n"


@dataclass(frozen=True, slots=True)
class PageUpdate:
    """A page's update after an event. `lines` comes once; `now` replaces the one shown before it, and may be
    made for each reader, by their login.

    `last` is the event up to which both go; `more`: lines follow at once; `ended`: nothing will follow.
    """

    lines: bytes
    now: bytes | Callable[[str], bytes]
    last: int
    more: bool = False
    ended: bool = False


Pull = Callable[[int], PageUpdate]


class StreamResponse(Response):
    """A response with the updates that `pull` finds after the event `after`.

    Those with the same `about` and `form` share their updates. The former is the log's stream to wait for;
    with `of_all` any event is waited for, and `pause_s` lies between two looks; `reloads`: a page is loaded
    for each. A server that takes no streams gets one batch; the browser comes back for the next. `standing`:
    an update stands for all who have not seen its event, so that one look in `pause_s` does for all, the
    first at 0.
    """

    def __init__(
        self,
        about: str,
        person: int,
        after: int,
        pull: Pull,
        *,
        of_all: bool = False,
        pause_s: float = 0.0,
        reloads: bool = False,
        standing: bool = False,
        login: str = "",
        form: str = "page",
    ) -> None:
        super().__init__(content_type="text/event-stream; charset=utf-8")
        self.about, self.person, self.after, self.pull = about, person, after, pull
        self.channel = about, form
        self.of_all, self.pause_s, self.reloads = of_all, pause_s, reloads
        self.standing, self.login = standing, login
        # For nginx, which would keep messages until it has 4 kB of them: nginx.org/r/proxy_buffering.
        self.headers["X-Accel-Buffering"] = "no"
        del self.headers["Content-Length"]

    def rendered(self, update: PageUpdate) -> bytes:
        """Return the content for its reader now."""
        return update.now if isinstance(update.now, bytes) else update.now(self.login)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        start_response(self.status, self.get_wsgi_headers(environ).to_wsgi_list())
        if environ["REQUEST_METHOD"] == "HEAD":
            return ()
        batch = self.pull(self.after)
        return (OPENING, batch.lines, self.rendered(batch), over(batch.last) if batch.ended else b"")


def last_seen_event() -> int:
    """Return the last event that the page has; a browser that comes back names it in a header."""
    shown = request.args.get("after", "")
    return last_event_id(int(shown) if AFTER.fullmatch(shown) else 0)


def last_event_id(otherwise: int) -> int:
    """Return the last event that whoever comes back names in a header; `otherwise` without one."""
    named = request.headers.get("Last-Event-ID", "")
    return int(named) if AFTER.fullmatch(named) else otherwise


def message(event: str, text: str, last: int | None = None) -> bytes:
    """Return one message, after which a browser has seen the event `last`, if given; empty for no text."""
    if not text:
        return b""
    data = "".join(f"data: {line}\n" for line in text.splitlines())
    seen = "" if last is None else f"id: {last}\n"
    return f"{seen}event: {event}\n{data}\n".encode(errors="replace")


def over(last: int) -> bytes:
    """Return the message that nothing will follow."""
    return message("over", "over", last)
