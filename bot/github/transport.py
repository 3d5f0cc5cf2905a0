"""One identity's connection to GitHub's API: PyGithub sends, this counts, limits and types the failures."""

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import requests
from github.Auth import Auth
from github.Requester import Requester

from bot.github.concurrency import CallSlots
from bot.github.errors import RateLimitedError, RefusedError, UnavailableError, from_answer
from bot.github.rate_limit import ApiBudget
from bot.github.token_scope import TokenScope
from bot.system.clock import Clock

API_VERSION = "2026-03-10"  # the version whose published contract the calls follow
CONNECT_S = 10.0
USER_AGENT = "cardinal-board"


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub answered: header names in lower case, `body` is parsed JSON, None if empty."""

    status: int
    headers: Mapping[str, str]
    body: Any


def as_it_is(asked: requests.PreparedRequest) -> requests.PreparedRequest:
    """Give a request no other credentials: without an `auth`, requests puts what ~/.netrc says of the host
    in place of our header. Source: requests.readthedocs.io, "netrc Authentication".
    """
    return asked


class Speaker(Auth):
    """Gives PyGithub the token of the moment, as far as `reach` says, and keeps it out of its debug log."""

    def __init__(self, token: Callable[[TokenScope | None], str]) -> None:
        self._current = token
        self.reach: TokenScope | None = None

    @property
    def token_type(self) -> str:
        return "Bearer"

    @property
    def token(self) -> str:
        return self._current(self.reach)


class Wire:
    """Sends as one identity. Connections are made at the first call of each process: none crosses a fork."""

    def __init__(
        self,
        base_url: str,
        token: Callable[[TokenScope | None], str],
        clock: Clock,
        budget: ApiBudget | None,
        read_s: float,
        places: CallSlots,
    ) -> None:
        self._places = places
        self._base_url, self._clock, self._budget, self._read_s = base_url, clock, budget, read_s
        self._speaker = Speaker(token)
        self._made: tuple[int, Requester] | None = None

    @property
    def graphql_url(self) -> str:
        """The address of GraphQL, which is not below the REST root on an own GitHub server."""
        return self._requester().graphql_url

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        price: "CallCost",
        reach: TokenScope | None = None,
        redirects: bool = False,
    ) -> Answer:
        """Return GitHub's answer to one call, whose token goes as far as `reach`; nothing is tried twice.

        With `redirects` a redirection is an answer, too: its address is in the header `location`.

        Raises the GithubError that fits; UnavailableError where a write may or may not have happened.
        """
        call = f"{method} {path}"
        self._keep_still(call)
        self._speaker.reach = reach
        try:
            with self._places.one(call):
                status, headers, text = self._requester().requestJson(
                    method, path, parameters=dict(params or {}), headers={"Accept": ACCEPT}, input=body
                )
        except requests.RequestException as error:
            raise UnavailableError(call, 0, type(error).__name__) from error
        except RuntimeError as error:  # PyGithub's word for a redirect that it will not follow
            raise RefusedError(call, 301, str(error)) from error
        if self._budget is not None:
            self._budget.count(headers, points=price.points, creates=price.creates)
        found = _parsed(text)
        if redirects and status == 302 and headers.get("location"):
            return Answer(status, headers, None)
        if 200 <= status < 300:
            if text and found is None:
                raise UnavailableError(call, status, "an answer that is not JSON")
            return Answer(status, headers, found)
        refusal = from_answer(call, status, headers, found, self._clock().timestamp())
        self.note(refusal)
        raise refusal

    def _keep_still(self, call: str) -> None:
        """Ask nothing while a limit lasts: GitHub bans who goes on.

        Source: docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api.
        """
        left_s = self._budget.shut_s() if self._budget is not None else 0.0
        if left_s > 0:
            raise RateLimitedError(call, 429, "not asked before the limit that GitHub told is over", left_s)

    def note(self, error: Exception) -> None:
        """Close the budget for as long as a rate limit says."""
        if isinstance(error, RateLimitedError) and self._budget is not None:
            self._budget.close(error.retry_after_s, told=error.told)

    def _requester(self) -> Requester:
        pid = os.getpid()
        if self._made is None or self._made[0] != pid:
            self._made = (pid, self._new_requester())
        return self._made[1]

    def _new_requester(self) -> Requester:
        """Make PyGithub's requester, without its own retries and throttles: outbox and budget do those."""
        # At the debug level it logs whole answers, and one of them is a token.
        logging.getLogger("github.Requester").setLevel(logging.INFO)
        return Requester(
            auth=self._speaker,
            base_url=self._base_url,
            timeout=cast(int, (CONNECT_S, self._read_s)),  # goes to requests as it is, which takes the pair
            user_agent=USER_AGENT,
            per_page=100,
            verify=True,
            retry=None,
            pool_size=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
            api_version=API_VERSION,
        )


ACCEPT = "application/vnd.github+json"


@dataclass(frozen=True, slots=True)
class CallCost:
    """What a call costs of the secondary limits; `creates` tells content that people see."""

    points: int
    creates: bool


READ = CallCost(points=1, creates=False)
WRITE = CallCost(points=5, creates=False)
CREATE = CallCost(points=5, creates=True)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
