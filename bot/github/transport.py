"""One identity's connection to GitHub's API: PyGithub sends, this counts, limits and types failures."""

import fcntl
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast
from uuid import uuid4

import requests
from github.Auth import Auth
from github.Requester import Requester
from pydantic import TypeAdapter, ValidationError

from bot.github.errors import RateLimitedError, RefusedError, UnavailableError, from_answer
from bot.github.github_time import GithubTime
from bot.github.rate_limit import ApiBudget, SentCall
from bot.github.shared_records import Result, SharedRecords
from bot.github.token_scope import TokenScope
from bot.system import github_address, private_file
from bot.system.clock import Clock
from ledger.db.transactions import is_held

log = logging.getLogger(__name__)
CONNECT_S = 10.0
MAX_AT_ONCE = 20
MAX_EVERYWHERE = 90  # git's own calls count, too
LEASE_S = 60.0  # longer than a call may take
MAX_WAIT_S = 30.0
_LEASES = TypeAdapter(dict[str, float])
POLL_S = 0.02
USER_AGENT = "cardinal-board"
ACCEPT = "application/vnd.github+json"


@dataclass(frozen=True, slots=True)
class CallCost:
    """The cost of a call in the secondary limits; `creates`: it makes content that people see."""

    points: int
    creates: bool


READ = CallCost(points=1, creates=False)
WRITE = CallCost(points=5, creates=False)
CREATE = CallCost(points=5, creates=True)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call of the API. `reach` limits its token; None: no limit.

    With `redirects` a redirection counts as an answer: its address is in the header `location`.
    """

    method: str
    path: str
    price: CallCost
    body: Mapping[str, Any] | None = None
    params: Mapping[str, Any] | None = None
    reach: TokenScope | None = None
    redirects: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """GitHub's answer: header names in lower case, `body` is parsed JSON, None if empty."""

    status: int
    headers: Mapping[str, str]
    body: Any


def plain_headers(api_url: str) -> dict[str, str]:
    """Return the headers of a call that PyGithub does not send."""
    return {"Accept": ACCEPT, "X-GitHub-Api-Version": github_address.api_version(api_url)}


def send_plain(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    timeout_s: tuple[float, float],
    form: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
    stream: bool = False,
) -> requests.Response:
    """Send one request without a token, and follow no redirection. Raises requests.RequestException."""
    return requests.request(
        method,
        url,
        headers={"User-Agent": USER_AGENT, **headers},
        data=form,
        json=body,
        auth=lambda prepared: prepared,  # else requests uses ~/.netrc; readthedocs, "netrc Authentication"
        timeout=timeout_s,
        allow_redirects=False,
        stream=stream,
    )


class Speaker(Auth):
    """Gives PyGithub the current token for `reach`, and keeps it out of its debug log."""

    def __init__(self, token: Callable[[TokenScope | None], str]) -> None:
        self._current = token
        self.reach: TokenScope | None = None

    @property
    def token_type(self) -> str:
        return "Bearer"

    @property
    def token(self) -> str:
        return self._current(self.reach)


@dataclass(frozen=True, slots=True)
class CallSlots:
    """The limit of concurrent calls: on this machine a locked file each, free at once if its process dies.

    GitHub allows a hundred for all of an App's installations together. Where `everywhere` has records of
    several machines, each call also holds a lease in `record`. Source:
    docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits.
    """

    folder: Path
    everywhere: SharedRecords | None = None
    record: str = ""
    most: int = MAX_AT_ONCE
    most_everywhere: int = MAX_EVERYWHERE
    wait_s: float = MAX_WAIT_S

    @contextmanager
    def hold(self, call: str) -> Iterator[None]:
        """Hold a slot for one call. Raises UnavailableError if none gets free in time; nothing was sent."""
        until = time.monotonic() + self.wait_s
        slot = _wait_for(self._take, until, f"{self.most} calls are under way here", call)
        lease = uuid4().hex
        try:
            if self.everywhere is not None:
                change = partial(self.everywhere.change, self.record)
                full = f"{self.most_everywhere} calls are under way on all hosts"
                _wait_for(lambda: change(partial(_lease, lease, self.most_everywhere)), until, full, call)
            yield
        finally:
            os.close(slot)
            if self.everywhere is not None:
                with suppress(UnavailableError):  # the lease ends by itself
                    self.everywhere.change(self.record, partial(_give_back, lease))

    def _take(self) -> int | None:
        for n in range(self.most):
            slot = private_file.open_or_make(self.folder / str(n))
            with suppress(BlockingIOError):
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return slot
            os.close(slot)
        return None


def _wait_for(take: Callable[[], Result | None], until: float, full: str, call: str) -> Result:
    """Return the result of `take`; raises UnavailableError when there is none until then."""
    while (taken := take()) is None:
        if time.monotonic() >= until:
            raise UnavailableError(call, 0, f"{full}: it is tried again")
        time.sleep(POLL_S)
    return taken


def _lease(lease: str, most: int, record: bytes, now_s: float) -> tuple[bytes, str | None]:
    held = {name: until_s for name, until_s in _leases(record).items() if until_s > now_s}
    if len(held) >= most:
        return record, None
    return json.dumps({**held, lease: now_s + LEASE_S}).encode(), lease


def _give_back(lease: str, record: bytes, _now_s: float) -> tuple[bytes, None]:
    held = {name: until_s for name, until_s in _leases(record).items() if name != lease}
    return json.dumps(held).encode(), None


def _leases(record: bytes) -> dict[str, float]:
    """Return the leases by name; a damaged record has none."""
    try:
        return _LEASES.validate_json(record)
    except ValidationError:
        return {}


class Wire:
    """Sends as one identity. Connections are made at the first call of each thread: none crosses a fork."""

    requester: ClassVar[Callable[..., Requester]] = Requester  # tests set one that needs no socket

    def __init__(
        self,
        base_url: str,
        token: Callable[[TokenScope | None], str],
        clock: Clock,
        budget: ApiBudget | None,
        read_s: float,
        *,
        places: CallSlots,
        asks_for_tokens: bool = False,
        github_time: GithubTime | None = None,
    ) -> None:
        self._slots, self._asks_for_tokens = places, asks_for_tokens
        self._base_url, self._clock, self._budget, self._read_s = base_url, clock, budget, read_s
        self._token, self._mine, self._time = token, threading.local(), github_time

    @property
    def graphql_url(self) -> str:
        """The address of GraphQL."""
        return github_address.graphql_url(self._base_url)

    def send(self, call: ApiCall) -> Answer:
        """Return GitHub's answer to one call; no call is repeated here.

        Raises the GithubError that fits; UnavailableError where a write may or may not have happened.
        """
        if is_held():
            log.error("asked inside a transaction of the ledger call=%s", call)
        speaker, requester = self._connection()
        speaker.reach = call.reach
        if self._asks_for_tokens:
            self._token(call.reach)  # a missing one is requested before this call holds a slot
        try:
            with self._slots.hold(str(call)):
                self._take(call)
                began = time.monotonic()
                status, headers, text = requester.requestJson(
                    call.method,
                    call.path,
                    parameters=dict(call.params or {}),
                    headers={"Accept": ACCEPT},
                    input=call.body,
                )
        except requests.RequestException as error:
            self._learn({}, SentCall(time.monotonic() - began, 0))
            raise UnavailableError(str(call), 0, type(error).__name__) from error
        except RuntimeError as error:  # PyGithub raises it for a redirect that it will not follow
            raise RefusedError(str(call), 301, str(error)) from error
        took_s, content = time.monotonic() - began, _parse(text)
        if self._time is not None:
            self._time.learn(headers)
        if 200 <= status < 300 or (call.redirects and status == 302 and headers.get("location")):
            self._learn(headers, SentCall(took_s, status))
            if status != 302 and text and content is None:
                raise UnavailableError(str(call), status, "an answer that is not JSON")
            return Answer(status, headers, None if status == 302 else content)
        github_error = from_answer(str(call), status, headers, content, self.now_s())
        self._learn(headers, SentCall(took_s, status, limited=isinstance(github_error, RateLimitedError)))
        self.note(github_error)
        raise github_error

    def _take(self, call: ApiCall) -> None:
        """Count the call; raises RateLimitedError while a limit lasts: GitHub bans clients that go on.

        Source: docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api.
        """
        if self._budget is None:
            return
        resource = "core" if call.path.startswith("/") else "graphql"
        wait_s = self._budget.take(points=call.price.points, creates=call.price.creates, resource=resource)
        if wait_s > 0:
            raise RateLimitedError(str(call), 429, "not asked before GitHub's limit allows it", wait_s)

    def _learn(self, headers: Mapping[str, str], call: SentCall) -> None:
        if self._budget is not None:
            with suppress(UnavailableError):  # the call was counted before, and its answer is here
                self._budget.learn(headers, call)

    def note(self, error: Exception) -> None:
        """Close the budget for as long as a rate limit says."""
        if isinstance(error, RateLimitedError) and self._budget is not None:
            with suppress(UnavailableError):  # the limit itself is the news
                self._budget.close(error.retry_after_s, exact=error.exact)

    def now_s(self) -> float:
        """Return the Unix time by which all hosts count; this host's while nobody tells it."""
        if self._budget is not None:
            with suppress(UnavailableError):
                return self._budget.read_usage()[1]
        return self._clock().timestamp()

    def _connection(self) -> tuple[Speaker, Requester]:
        """Return this thread's own: PyGithub keeps address and body of a call until they are sent."""
        if getattr(self._mine, "pid", None) != os.getpid():
            self._mine.pid, self._mine.speaker = os.getpid(), Speaker(self._token)
            self._mine.requester = self._new_requester(self._mine.speaker)
        return self._mine.speaker, self._mine.requester

    def _new_requester(self, speaker: Speaker) -> Requester:
        """Make PyGithub's requester, without its own retries and throttles: outbox and budget do those."""
        # At the debug level it logs whole answers, and one of them is a token.
        logging.getLogger("github.Requester").setLevel(logging.INFO)
        return self.requester(
            auth=speaker,
            base_url=self._base_url,
            timeout=cast(int, (CONNECT_S, self._read_s)),  # passed on to requests, which takes the pair
            user_agent=USER_AGENT,
            per_page=100,
            verify=True,
            retry=None,
            pool_size=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
            api_version=github_address.api_version(self._base_url),
        )


def _parse(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
