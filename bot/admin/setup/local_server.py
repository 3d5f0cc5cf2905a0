"""Local page that leads to GitHub's form for a new App, and takes the code that comes back."""

import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_urlsafe

from flask import Flask, make_response, redirect, render_template, request
from flask.typing import ResponseReturnValue
from werkzeug.serving import WSGIRequestHandler, make_server

from bot.admin.setup.errors import InitError
from bot.admin.setup.progress import Registered
from bot.github.errors import GithubError, RateLimitedError, UnavailableError

HOST = "127.0.0.1"
BACK = "/registered"
CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
POLL_S = 0.2
REFRESH_S = 2
WORD_BYTES = 16
FOREIGN = "This page is only for this machine."
FOREIGN_ANSWER = "This response does not belong to this set-up: start at the address in the terminal."
STRANGE = "Open the address that `cardinal init` printed: this one is open to everyone on this machine."
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(slots=True)
class Registration:
    """Content of the page. `exchange` makes the App of a code; it raises GithubError or InitError.

    `manifest` (JSON) and `action` are set once the page listens: its address is known only then.
    """

    owner: str
    state: str
    exchange: Callable[[str], Registered]
    word: str = field(default_factory=lambda: token_urlsafe(WORD_BYTES))  # in the first page's address
    manifest: str = ""
    action: str = ""
    app: Registered | None = None
    code: str = ""
    problem: str = ""
    ready: str = ""  # what the last page says; empty while something is missing
    read: threading.Event = field(default_factory=threading.Event)  # the last page was shown
    turn: threading.Lock = field(default_factory=threading.Lock)

    def take(self, state: str, code: str) -> tuple[int, str]:
        """Make the App of GitHub's code; return the HTTP status and, after a failure, the reason.

        The state is good for one code only: the first that comes with it.
        """
        with self.turn:
            if not compare_digest(state.encode(), self.state.encode()) or not CODE.fullmatch(code):
                return 403, FOREIGN_ANSWER
            if self.code and not compare_digest(code, self.code):
                return 403, "GitHub has already responded: see the terminal."
            self.code = code
            if self.app is None:
                try:
                    self.app = self.exchange(code)
                except (UnavailableError, RateLimitedError) as error:
                    return 502, f"{error}. Reload this page."
                except (GithubError, InitError) as error:
                    self.problem = str(error)
                    return 502, f"{error}. Run `cardinal init` again."
        return 302, ""


def application(registration: Registration) -> Flask:
    """Return the page's web application."""
    app = Flask(__name__, template_folder=".", static_folder=None)

    @app.before_request
    def refuse_strangers() -> ResponseReturnValue | None:
        # A page of another site must not reach this one through a name that resolves to this machine.
        return None if request.host.rpartition(":")[0] in (HOST, "localhost") else (FOREIGN, 403)

    @app.after_request
    def protect(response):  # type: ignore[no-untyped-def]  # flask's own
        response.headers.update(HEADERS)
        # Not form-action: Chromium holds redirects to it, and GitHub may send people through a sign-in.
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
        )
        return response

    _add_form(app, registration)
    _add_waiting(app, registration)
    return app


def _add_form(app: Flask, registration: Registration) -> None:
    @app.get("/")
    def strange() -> ResponseReturnValue:
        return STRANGE, 403

    @app.get("/<word>")
    def begin(word: str) -> ResponseReturnValue:
        # The page holds the state: whoever has that can make Cardinal take an App of his own.
        if not compare_digest(word.encode(), registration.word.encode()):
            return STRANGE, 403
        if registration.app is not None or not registration.action:
            return redirect("/done", 302)
        lines = (
            f"Cardinal needs a GitHub App of its own in {registration.owner}. GitHub shows what it asks "
            "for before anything is created.",
            f"Only owners of {registration.owner} can create one there. If GitHub shows a 404, you are "
            "not signed in as an owner, or it is a personal account, which has no such page.",
        )
        return render_template(
            "page.html",
            title="Register the App",
            lines=lines,
            manifest=registration.manifest,
            action=registration.action,
        )

    @app.get(BACK)
    def receive_registration() -> ResponseReturnValue:
        status, problem = registration.take(request.args.get("state", ""), request.args.get("code", ""))
        if status == 302:
            return redirect("/done", 302)  # so that the code leaves the address bar
        return render_template("page.html", title="That did not work", problem=problem), status


def _add_waiting(app: Flask, registration: Registration) -> None:
    @app.get("/done")
    def show_end() -> ResponseReturnValue:
        registered = registration.app
        if registered is None:
            return redirect("/", 302)
        if registration.ready:
            last = make_response(render_template("page.html", title="Done", lines=(registration.ready,)))
            last.call_on_close(registration.read.set)  # when it is sent: the set-up ends then
            return last
        return render_template(
            "page.html",
            title="Install the App",
            lines=(
                f"The App {registered.slug} is registered; its key stays on this machine.",
                f"Install it on {registration.owner}, with the repositories its agents may work in. "
                "This page updates when you are done.",
            ),
            link=f"{registered.page}/installations/new",
            link_text=f"Install it on {registration.owner}",
            refresh_s=REFRESH_S,
        )


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.0"  # one request for each connection: none is open when the set-up ends

    def log(self, type: str, message: str, *args: object) -> None:
        """Write nothing: an address holds the code."""


class LocalServer:
    """The page while it is served, on a port of its own; call `serve_until` for anything to happen."""

    def __init__(self, registration: Registration, port: int) -> None:
        self._word = registration.word
        try:
            listener = socket.create_server((HOST, port))
        except OSError:  # somebody else has it now
            listener = socket.create_server((HOST, 0))
        with listener:  # the server works on a copy; given a port, it would exit where that is taken
            app, (_, port) = application(registration), listener.getsockname()
            self._server = make_server(
                HOST, port, app, threaded=True, request_handler=_Quiet, fd=listener.fileno()
            )
        self._server.timeout = POLL_S

    @property
    def port(self) -> int:
        """The port, which is in the addresses that GitHub sends people back to."""
        return int(self._server.port)

    @property
    def address(self) -> str:
        """The first page's address: its last part is a secret word."""
        return f"http://{HOST}:{self.port}/{self._word}"

    def serve_until(self, finished: Callable[[], bool], within_s: float) -> bool:
        """Answer browsers until `finished` says so, asked several times a second; False when time is up."""
        until = time.monotonic() + within_s
        while not finished():
            if time.monotonic() >= until:
                return False
            self._server.handle_request()
        return True

    def close(self) -> None:
        """Stop listening."""
        self._server.server_close()
