"""The door of a forge that holds somebody's own code: other users of this machine do not come in.

Cardinal brings its App's key or tokens; a browser, a cookie; git, the key as its password. Browsers show a
cookie to all ports of a host, so it is not the key, and opens only to processes of this user.
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import socket
import sys
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from forge.errors import ForbiddenError, UnauthorizedError
from forge.rest.access import identify
from forge.store import Store
from forge.store.users import PERSON_TOKEN_PREFIX

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

COOKIE = "cardinal_try"  # and the port, so that two boards do not take each other's away
ENTER = "/-/enter"
OPEN = ("/login/oauth/access_token", "/-/assets/")  # asks for a secret of its own; nothing in it is anybody's
SOCKETS = Path("/proc/net/tcp")
HOSTS = ("127.0.0.1", "localhost")
ESTABLISHED = "01"


class LoopbackAuth:
    """Lets in who has the key of `login`, the one person here, and who proves to be the App.

    `board` is the path of the page that the person's address leads to.
    """

    def __init__(self, key: str, login: str, board: str, store: Store) -> None:
        self._key, self._login, self._board, self._store = key, login, board, store
        self._ticket = ""
        self._session = hmac.new(key.encode(), b"cookie", hashlib.sha256).hexdigest()

    def address(self, url: str, *, once: bool = False) -> str:
        """Return the address that lets a browser in; `once`: it does so only one time."""
        if once:
            self._ticket = secrets.token_urlsafe(24)
        return f"{url}{ENTER}?key={self._ticket if once else self._key}"  # one line of a terminal

    def answer(self, environ: "WSGIEnvironment") -> tuple[str, list[tuple[str, str]], bytes] | None:
        """Return status, headers and body where the request ends here; None where it goes on."""
        host = str(environ.get("HTTP_HOST", "")).rpartition(":")[0]
        if host not in HOSTS:
            return _refusal("This board answers on this machine only, at 127.0.0.1.")
        path = str(environ.get("PATH_INFO", ""))
        if path == ENTER:
            return self._entrance(environ, parse_qs(str(environ.get("QUERY_STRING", ""))))
        authorization = str(environ.get("HTTP_AUTHORIZATION", ""))
        if authorization:
            return self._answer_program(environ, authorization)
        if path.startswith(OPEN):
            return None
        if hmac.compare_digest(_cookie(environ).encode(), self._session.encode()):
            return self._answer_browser(environ)
        if path.endswith(("/info/refs", "/git-upload-pack", "/git-receive-pack")):
            return _unknown()
        return _refusal("Open the address that `cardinal try` has printed: it holds the key.")

    def _answer_browser(self, environ: "WSGIEnvironment") -> tuple[str, list[tuple[str, str]], bytes] | None:
        origin = environ.get("HTTP_ORIGIN")
        if origin not in (None, f"http://{environ['HTTP_HOST']}"):
            return _refusal("A page of another port wants this: go back to the board.")
        if not _is_own_process(environ):
            return _refusal("This board answers to programs of the user who has started it.")
        return None

    def _answer_program(
        self, environ: "WSGIEnvironment", authorization: str
    ) -> tuple[str, list[tuple[str, str]], bytes] | None:
        scheme, _, rest = authorization.partition(" ")
        secret = _password(rest) if scheme.lower() == "basic" else rest.strip()
        if secret.startswith(PERSON_TOKEN_PREFIX):
            return _refusal("People have no such token here.")
        if self._is_key(secret):
            environ["HTTP_AUTHORIZATION"] = f"token {PERSON_TOKEN_PREFIX}{self._login}"
            return None
        # The forge's pages and its control interface look at no token: they would take any.
        try:
            identify(self._store, authorization)
        except UnauthorizedError:
            return _unknown()
        except ForbiddenError as error:
            return _refusal(str(error))
        return None

    def _entrance(
        self, environ: "WSGIEnvironment", query: dict[str, list[str]]
    ) -> tuple[str, list[tuple[str, str]], bytes]:
        given = query.get("key", [""])[0]
        is_ticket = bool(self._ticket) and hmac.compare_digest(given.encode(), self._ticket.encode())
        if is_ticket and not _is_own_process(environ):
            return _refusal("Open the address that `cardinal try` has printed: it holds the key.")
        if is_ticket:
            self._ticket = ""
        if not (is_ticket or self._is_key(given)):
            return _refusal("That key does not fit. Open the address that `cardinal try` has printed.")
        cookie = f"{_cookie_name(environ)}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        return "303 See Other", [("Location", quote(self._board)), ("Set-Cookie", cookie)], b""

    def _is_key(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._key.encode())


def _is_own_process(environ: "WSGIEnvironment") -> bool:
    """Tell whether a process of this user or of root asks: others may read the ticket in a command line, or
    be shown the cookie.
    """
    ports = (environ.get(name, "") for name in ("REMOTE_PORT", "SERVER_PORT"))
    client, server = (int(port) if str(port).isdecimal() else 0 for port in ports)
    return owner_of(SOCKETS.read_text(), client, server) in {os.geteuid(), 0}


def owner_of(table: str, client: int, server: int) -> int | None:
    """Return the user whose process connects from one port of 127.0.0.1 to another one; `None`: nobody does.

    A connection that its process has closed counts as nobody's: the kernel shows it as root's.
    Source: proc_net_tcp.txt of the kernel's documentation.
    """
    address = int.from_bytes(socket.inet_aton("127.0.0.1"), sys.byteorder)
    ends = [f"{address:08X}:{port:04X}" for port in (client, server)]
    rows = (line.split() for line in table.splitlines()[1:])
    return next((int(row[7]) for row in rows if row[1:4] == [*ends, ESTABLISHED]), None)


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _cookie_name(environ: "WSGIEnvironment") -> str:
    return f"{COOKIE}_{environ.get('SERVER_PORT', '')}"


def _cookie(environ: "WSGIEnvironment") -> str:
    try:
        known = SimpleCookie(str(environ.get("HTTP_COOKIE", ""))).get(_cookie_name(environ))
    except CookieError:
        return ""
    return known.value if known is not None else ""


def _unknown() -> tuple[str, list[tuple[str, str]], bytes]:
    wanted = ("WWW-Authenticate", 'Basic realm="cardinal try"')
    return "401 Unauthorized", [wanted, ("Content-Type", "text/plain")], b"the key is the password\n"


def _refusal(said: str) -> tuple[str, list[tuple[str, str]], bytes]:
    return "403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")], f"{said}\n".encode()
