"""A forge of this process that PyGithub calls without a socket, in the thread that asks.

Calls over a socket are proved by `tests/bot/github`, and by the flow of a GitHub Enterprise Server.
"""

import os
from collections.abc import ItemsView, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from github.Requester import Requester
from werkzeug.test import create_environ, run_wsgi_app

from forge.web.server import Forge
from ledger.db.transactions import is_held

_forges: dict[tuple[int, int | None], Forge] = {}  # by process and port: what a fork has is no forge


@contextmanager
def near(forge: Forge) -> Iterator[None]:
    """Let new clients of this process call the forge so until the block ends; git still uses its socket."""
    place = os.getpid(), urlsplit(forge.url).port
    _forges[place] = forge
    try:
        yield
    finally:
        del _forges[place]


@contextmanager
def apart(forge: Forge) -> Iterator[None]:
    """Let new clients of a near forge use its socket until the block ends: their timeouts count there."""
    place = os.getpid(), urlsplit(forge.url).port
    del _forges[place]
    try:
        yield
    finally:
        _forges[place] = forge


class _Connection:
    """What PyGithub wants of a connection, and of its answer."""

    def __init__(self, host: str, port: int, **_: Any) -> None:
        self.host, self._forge = host, _forges[os.getpid(), port]

    def request(
        self, verb: str, url: str, data: str | None, headers: dict[str, str], stream: bool = False
    ) -> None:
        environ = create_environ(url, self._forge.url, method=verb, headers=headers, data=data)
        body, status, self._headers = run_wsgi_app(self._forge.answer, environ, buffered=True)
        self.status, self._text = int(status.split(" ", 1)[0]), b"".join(body).decode()

    def getresponse(self) -> "_Connection":
        return self

    def getheaders(self) -> ItemsView[str, str]:
        return dict(self._headers).items()

    def read(self) -> str:
        return self._text

    def close(self) -> None:
        """There is nothing to close."""


class Watched(Requester):
    """PyGithub's requester, for who holds no ledger: whoever wants to write would wait for GitHub."""

    def requestJson(self, *args: Any, **settings: Any) -> Any:
        assert not is_held(), f"GitHub is asked inside a transaction of the ledger: {args}"
        return super().requestJson(*args, **settings)


class _Near(Watched):
    """The same over such connections."""


_Near.injectConnectionClasses(_Connection, _Connection)  # type: ignore[arg-type]


def requester(base_url: str, **settings: Any) -> Requester:
    """Return a requester: one without a socket where a forge at that address is near."""
    kind = _Near if (os.getpid(), urlsplit(base_url).port) in _forges else Watched
    return kind(base_url=base_url, **settings)
