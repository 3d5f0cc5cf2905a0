"""The forge as a web server on this machine."""

import errno
import http.client
import logging
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Condition, Thread
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Response, g, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from forge.errors import ForgeError
from forge.graphql import blueprint as graphql_blueprint
from forge.pages import blueprint as pages_blueprint
from forge.payloads.judging import Judge
from forge.payloads.webhook import Announcer
from forge.rest import blueprints
from forge.rest.context import FORGE, forge, store
from forge.store import Store
from forge.store.authorizations import REFRESH_VALID, TOKEN_VALID, AuthorizationError
from forge.store.registration import Delivery
from forge.web.control import blueprint as control_blueprint
from forge.web.gateway import READING, Gateway, message_response
from forge.web.git_http import blueprint as git_blueprint

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

DEADLINE_S = 10  # docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks
REVERSE_WAIT_S = 2.0  # a batch to be reversed goes out after this long, even when it is not full


class Sender:
    """Sends the deliveries that the store records, with injected faults."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: deque[Delivery] = deque()
        self._held: list[Delivery] = []
        self._wake = Condition()
        self._stopping = False
        self._busy = False
        self._thread = Thread(target=self._run, name="forge-hooks", daemon=True)
        store.deliveries.outlets.append(self.take)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop sending; returns when the thread has ended (at most the deadline of one request)."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(DEADLINE_S + 1)

    def take(self, delivery: Delivery) -> None:
        with self._wake:
            self._queue.append(delivery)
            self._wake.notify_all()

    def resume(self) -> None:
        """Take what a stopped forge had not sent, the oldest first."""
        for delivery in reversed(self._store.deliveries.all()):
            if delivery.status == "pending":
                self.take(delivery)

    def drain(self, timeout_s: float = 10) -> bool:
        """Wait until all queued deliveries are sent; return whether that was in time."""
        with self._wake:
            return self._wake.wait_for(
                lambda: not self._queue and not self._held and not self._busy, timeout_s
            )

    def _run(self) -> None:
        while True:
            with self._wake:
                ready = self._wake.wait_for(
                    lambda: self._queue or self._stopping, REVERSE_WAIT_S if self._held else None
                )
                if self._stopping:
                    return
                batch = self._next_batch() if ready else self._take_held()
                self._busy = True
            with self._store.lock:  # what is told was kept first
                pass
            for delivery in batch:
                self._send_with_faults(delivery)
            with self._wake:
                self._busy = False
                self._wake.notify_all()

    def _next_batch(self) -> list[Delivery]:
        delivery = self._queue.popleft()
        if not self._store.faults.take("reverse"):
            return [*self._take_held(), delivery]
        self._held.append(delivery)
        return [] if self._store.faults.deliveries.reverse else self._take_held()

    def _take_held(self) -> list[Delivery]:
        batch, self._held = list(reversed(self._held)), []
        return batch

    def _send_with_faults(self, delivery: Delivery) -> None:
        faults = self._store.faults
        if faults.deliveries.delay_s:
            with self._wake:
                self._wake.wait_for(lambda: self._stopping, faults.deliveries.delay_s)
        if faults.take("lose"):
            self._record_answer(delivery, 0, "failed to connect to host", 0.0)
            return
        self._send(delivery)
        if faults.take("duplicate"):
            self._send(delivery)

    def _send(self, delivery: Delivery) -> None:
        target = urlsplit(delivery.app.webhook_url)
        kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
        began = time.monotonic()
        connection = kind(target.netloc, timeout=DEADLINE_S)
        try:
            connection.request("POST", target.path or "/", delivery.body, delivery.headers)
            answer = connection.getresponse()
            text = answer.read(65_536).decode(errors="replace")
        except TimeoutError:
            self._record_answer(delivery, 0, "timed out", time.monotonic() - began)
        except (OSError, http.client.HTTPException):
            self._record_answer(delivery, 502, "failed to connect to host", time.monotonic() - began)
        else:
            delivery.response_headers = dict(answer.getheaders())
            delivery.response_body = text
            status = "OK" if 200 <= answer.status < 300 else f"Invalid HTTP Response: {answer.status}"
            self._record_answer(delivery, answer.status, status, time.monotonic() - began)
        finally:
            connection.close()

    def _record_answer(self, delivery: Delivery, code: int, status: str, took_s: float) -> None:
        with self._store.lock:
            delivery.status_code, delivery.status, delivery.duration_s = code, status, took_s
            delivery.delivered_at = self._store.clock.now()


login_blueprint = Blueprint("login", __name__)


@login_blueprint.post("/login/oauth/access_token")
def exchange() -> Response:
    """Answer with a person's token or an error; both are a 200, as on GitHub. The forge writes only JSON."""
    names = ("client_id", "client_secret", "code", "redirect_uri", "code_verifier")
    client_id, secret, code, redirect_uri, verifier = (request.values.get(name, "") for name in names)
    try:
        token = store().authorizations.exchange(client_id, secret, code, redirect_uri, verifier)
    except AuthorizationError as error:
        return jsonify(error.fields())
    return jsonify(
        access_token=token,
        expires_in=int(TOKEN_VALID.total_seconds()),
        refresh_token=f"ghr_{token.removeprefix('ghu_')}",
        refresh_token_expires_in=int(REFRESH_VALID.total_seconds()),
        scope="",
        token_type="bearer",  # noqa: S106  GitHub's word
    )


MAX_BODY_BYTES = 512 * 1024 * 1024  # a push may be large; the limits of the API are checked elsewhere
STOP_TIMEOUT_S = 10
LINK = re.compile(r'(href="http://127\.0\.0\.1:)([0-9]+)')
POLL_S = 0.02  # the longest wait of a stop for the loop that accepts connections


class ForgeApp(Flask):
    """A Flask application that answers one request at a time, but for the views marked `unlocked`."""

    def dispatch_request(self) -> ResponseReturnValue:
        """Answer under the store's lock, so that an answer never shows half of a change."""
        view = self.view_functions.get(request.endpoint or "")
        if view is None or getattr(view, "unlocked", False):
            return super().dispatch_request()
        with store().lock:
            answer = super().dispatch_request()
            if request.method not in {"GET", "HEAD"} and not g.get("operation", "").startswith(READING):
                forge().keep()
            return answer


class QuietHandler(WSGIRequestHandler):
    """Writes no access log, and no date of its own: the forge's clock may be another."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def send_response(self, code: int, message: str | None = None) -> None:
        """Send the first line alone: the rest is the application's."""
        self.send_response_only(code, message)


class Forge:
    """One forge: its state, its web server and its webhook sender. Repositories are kept under `root`."""

    former: Mapping[str, str] = {}  # ports of earlier starts, and those that links to them lead to now
    judge: ClassVar[Judge | None] = None  # judges all forges of a process, if somebody sets it

    def __init__(
        self, root: Path, port: int = 0, *, store: Store | None = None, listen: str = "127.0.0.1"
    ) -> None:
        """Open a forge at `port`, by default any free one, with the state of `store` if there is one."""
        self.store = store or Store(root)
        self.keep: Callable[[], None] = lambda: None  # after each change, before it is answered or sent
        self.sender = Sender(self.store)
        self.announcer = Announcer(self.store, self.judge)
        self.gateway = Gateway(self.store, self.judge)
        self.store.listeners.append(self.announcer)
        self._server: BaseWSGIServer = make_server(
            listen, port, self.answer, threaded=True, request_handler=QuietHandler
        )
        self.store.base_url = self.url
        self._thread = Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="forge-web", daemon=True
        )

    @property
    def url(self) -> str:
        """Return the address, without a trailing slash."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> "Forge":
        """Begin to serve; returns when connections are accepted."""
        application()  # Python before 3.11.5 fails where threads parse at once: cpython issue 106905
        if self.judge is not None:
            self.judge.prepare()
        self.sender.start()
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving and sending; returns when both have stopped."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(STOP_TIMEOUT_S)
        self._server.server_close()
        self.sender.stop()

    def answer(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterator[bytes]:
        """Answer one request: the WSGI application of this forge."""
        environ[FORGE] = self
        body = application().wsgi_app(environ, start)
        # Closed here, for werkzeug 3.1 forgets to close a body whose reader went away.
        try:
            yield from body
        finally:
            getattr(body, "close", lambda: None)()

    def redirect_links(self, response: Response) -> Response:
        """Let the links of a page that name a former port lead to the present one."""
        if self.former and response.mimetype == "text/html":
            page = response.get_data(as_text=True)
            response.set_data(LINK.sub(lambda link: link[1] + self.former.get(link[2], link[2]), page))
        return response


@cache
def application() -> Flask:
    """Return the application of all forges of this process: compiling its routes takes a tenth of a second.

    The server puts the forge of a request into the request's environment.
    """
    app = ForgeApp(__name__, static_folder=None, template_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    app.before_request(lambda: forge().gateway.before())
    app.after_request(lambda response: forge().gateway.after(response))
    app.after_request(lambda response: forge().redirect_links(response))
    app.register_error_handler(ForgeError, Gateway.answer_refused)
    for prefix, name in (("", "rest"), ("/api/v3", "rest_v3")):
        for blueprint in blueprints():
            inner = blueprint.url_prefix or ""
            app.register_blueprint(blueprint, url_prefix=prefix + inner, name=f"{name}_{blueprint.name}")
    app.register_blueprint(graphql_blueprint, name="graphql")
    app.register_blueprint(graphql_blueprint, url_prefix="/api", name="graphql_api")
    app.register_blueprint(git_blueprint)
    app.register_blueprint(login_blueprint)
    app.register_blueprint(control_blueprint)
    app.register_blueprint(pages_blueprint())
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(OSError, _no_room)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    return app


def _no_room(error: OSError) -> Response:
    """Say that the disk is full, in place of a traceback for each request that cannot be kept."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        raise error
    print("the disk is full: make room there; the board goes on then", file=sys.stderr, flush=True)
    return message_response(503, "The disk is full")


def _http_error(error: HTTPException) -> Response:
    return message_response(error.code or 500, "Not Found" if error.code == 404 else error.name)
