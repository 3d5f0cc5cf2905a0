"""GitHub with a limit: each call of a rehearsal is counted, there are not too many, and none too soon."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from bot.admin.rehearsal.belief import NotTriedError
from bot.github.client import Hub
from bot.github.errors import RateLimitedError
from bot.github.transport import READ, WRITE, Answer

T = TypeVar("T")
MAX_WAIT_S = 61.0
MAX_CALLS = 600  # a whole rehearsal needs about half


class CountingHub(Hub):
    """Counts the calls, waits for GitHub's limits, and raises NotTriedError beyond `max_calls`."""

    calls: Counter[str]
    max_calls: int
    pause: Callable[[float], None]

    def begin(self, max_calls: int = MAX_CALLS, pause: Callable[[float], None] = time.sleep) -> None:
        """Begin to count, with this limit; `pause` waits so many seconds."""
        self.calls, self.max_calls, self.pause = Counter(), max_calls, pause

    @property
    def points(self) -> int:
        """The price of all calls in the secondary limits."""
        reads = sum(count for name, count in self.calls.items() if name.endswith("read"))
        return reads * READ.points + (self.calls.total() - reads) * WRITE.points

    def rest(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        workflows: bool = False,
    ) -> Answer:
        """Send it as the installation, counted."""
        send = partial(super().rest, method, path, body=body, params=params, workflows=workflows)
        return self._count_and_send("REST", method == "GET", send)

    def as_app(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Send it as the App, counted."""
        send = partial(super().as_app, method, path, body=body, params=params)
        return self._count_and_send("as the App", method == "GET", send)

    def graphql(
        self,
        document: str,
        variables: Mapping[str, Any],
        *,
        repository: str | None = None,
        may_miss: frozenset[str] = frozenset(),
    ) -> dict[str, Any]:
        """Send it, counted."""
        send = partial(super().graphql, document, variables, repository=repository, may_miss=may_miss)
        return self._count_and_send("GraphQL", not document.lstrip().startswith("mutation"), send)

    def _count_and_send(self, door: str, reads: bool, send: Callable[[], T]) -> T:
        """Count the call and send it; once more after a limit that is soon over: GitHub did nothing."""
        if self.calls.total() >= self.max_calls:
            raise NotTriedError(f"the limit of {self.max_calls} calls was reached")
        self.calls[f"{door}, {'read' if reads else 'write'}"] += 1
        try:
            return send()
        except RateLimitedError as error:
            if error.retry_after_s > MAX_WAIT_S:  # a spent hour is not waited for
                raise
            self.pause(error.retry_after_s)
        return send()
