"""Small requests that are answered without ASGI, which costs more than all that a delivery needs.

They are POSTs that announce a body of at most SMALL_BYTES; all others take the usual way.
"""

import json
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

if TYPE_CHECKING:
    from bot.web.connections import Connection

log = logging.getLogger(__name__)

SMALL_BYTES = 256 * 1024  # a signature and JSON of that size take a few milliseconds
OTHER_FIELDS = frozenset((b"transfer-encoding", b"expect", b"upgrade"))  # that ask for more than a body

Answer = Callable[[HTTPStatus, Mapping[str, object]], None]
# Takes a request's headers, their names in lower case, and its body; then it, or what it starts, calls Answer
# once, in the event loop.
Take = Callable[[Mapping[str, str], bytes, Answer], None]


def is_small(method: bytes, headers: list[tuple[bytes, bytes]]) -> bool:
    """Tell whether a request is one of these."""
    fields = dict(headers)
    size = fields.get(b"content-length", b"")
    is_short = size.isdigit() and len(size) < len(str(10 * SMALL_BYTES)) and int(size) <= SMALL_BYTES
    return method == b"POST" and is_short and OTHER_FIELDS.isdisjoint(fields)


class SmallRequest:
    """What uvicorn's protocol takes for the `cycle` of a request: it reads and sets these attributes.

    It calls `message_event.set` when something came, or the client left.
    """

    def __init__(self, connection: "Connection", take: Take, hold: Callable[[int], None]) -> None:
        self._connection, self._take, self._hold = connection, take, hold
        self._held_bytes, self._is_taken = 0, False
        self.body, self.more_body, self.message_event = bytearray(), True, self
        self.disconnected = self.response_started = self.response_complete = False
        parser = connection.parser
        self.keep_alive = parser.get_http_version() != "1.0" and parser.should_keep_alive()

    def set(self) -> None:
        """Continue: a piece of the body came, or its end, or the client left."""
        if self._is_taken:
            return
        if self.disconnected or self._connection.transport.is_closing():
            self._keep_bytes(0)
            return
        self._connection.flow.resume_reading()
        self._keep_bytes(len(self.body))
        if self.more_body:
            return
        self._is_taken = True
        headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in self._connection.headers}
        try:
            self._take(headers, bytes(self.body), self._answer)
        except Exception:  # the top of a request: logged, and answered
            log.exception("request failed path=%s", self._connection.url.decode("latin-1"))
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "Cardinal's log has the reason"})

    def _keep_bytes(self, count: int) -> None:
        more, self._held_bytes = count - self._held_bytes, count
        if more:
            self._hold(more)

    def _answer(self, status: HTTPStatus, document: Mapping[str, object]) -> None:
        self._keep_bytes(0)
        connection = self._connection
        if self.response_complete or self.disconnected or connection.transport.is_closing():
            return
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        fields = [
            *connection.server_state.default_headers,
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            *(() if self.keep_alive else ((b"connection", b"close"),)),
        ]
        head = b"".join([b"%s: %s\r\n" % field for field in fields])
        self.response_started = self.response_complete = True
        connection.transport.write(b"%s%s\r\n%s" % (STATUS_LINE[status], head, body))
        if not self.keep_alive:
            connection.transport.close()
        connection.on_response_complete()
