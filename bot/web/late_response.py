"""A response that waits for a future: without a thread where the server can, else in the request's own."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from flask import Response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

# In the environment of a request: a list that takes the response, by a server that calls it again once its
# future is done.
LATER = "cardinal.later"


class LateResponse(Response):
    """A response whose status and JSON `make` makes of a future when it is done, or `within_s` is over."""

    def __init__(
        self,
        future: "Future[Any]",
        make: Callable[["Future[Any]"], tuple[HTTPStatus, str]],
        within_s: float,
    ) -> None:
        super().__init__()
        self.future, self.within_s = future, within_s
        self._make = make

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        later = environ.get(LATER)
        if later is not None:
            later.append(self)
            return ()
        wait([self.future], self.within_s)
        status, text = self._make(self.future)
        body = text.encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return (body,)
