"""Errors of GitHub calls, a tree by the caller's next step."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from bot.github import refusals
from bot.github.refusals import Meaning
from ledger.errors import CardinalError

MIN_WAIT_S = 1.0
# At least a minute. Source: docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
SECONDARY_WAIT_S = 60.0
MAX_WAIT_S = 3600.0  # the primary window is an hour; a longer one is a wrong clock
MESSAGE_CHARS = 500
BEHIND = timedelta(minutes=1)  # GitHub's answers are not older than that


class GithubError(CardinalError):
    """A call to GitHub failed. `status` is 0 without an answer, `because` is GitHub's message."""

    advice = "try again"

    def __init__(self, call: str, status: int, because: str, advice: str = "") -> None:
        self.advice = advice or self.advice
        self.call, self.status, self.because = call, status, because[:MESSAGE_CHARS]
        super().__init__(f"GitHub: {call}: {status or 'no answer'} {self.because} ({self.advice})")


class NotFoundError(GithubError):
    """The resource is missing or invisible to the App; GitHub does not tell which."""

    advice = "it was deleted, or the App is not installed there"


class UnknownNameError(NotFoundError):
    """The installation has no repository of that name; it may have been renamed."""


class PermissionMissingError(GithubError):
    """The App lacks a permission, or its installation has not accepted one yet."""

    advice = "give the App the permissions of app.yml and accept them in the installation's settings"


class RateLimitedError(GithubError):
    """Too many calls; wait for `retry_after_s`, then the same call is fine."""

    advice = "wait, then try again"

    def __init__(
        self, call: str, status: int, because: str, retry_after_s: float, *, exact: bool = True
    ) -> None:
        """`exact`: GitHub gave the wait; otherwise it is a guess, which should grow each time."""
        self.retry_after_s = min(max(retry_after_s, MIN_WAIT_S), MAX_WAIT_S)
        self.exact = exact
        super().__init__(call, status, because)


class ConflictError(GithubError):
    """The resource changed in the meantime; read it again, then decide again."""

    advice = "read it again, then decide again"


class RefusedError(GithubError):
    """GitHub refused the call. `messages` has the reasons; `final`: it is known to refuse it again."""

    advice = refusals.UNKNOWN.advice

    def __init__(
        self,
        call: str,
        status: int,
        because: str,
        messages: tuple[str, ...] = (),
        advice: str = "",
        *,
        final: bool = True,
    ) -> None:
        self.messages, self.final = messages or (because,), final
        super().__init__(call, status, because, advice)


class StatusMissingError(RefusedError):
    """The board has no single-select field Status; `fields`: names of its fields by id."""

    advice = "name the field with the columns Status again"

    def __init__(self, call: str, fields: Mapping[str, str]) -> None:
        self.fields = fields
        super().__init__(call, 200, "it has no single-select field Status")


class UnavailableError(GithubError):
    """No answer in time, or a failure of GitHub; a write may have happened all the same."""

    advice = "try again soon"


class NotYetError(UnavailableError):
    """GitHub refuses the call for now. `held`: until somebody follows `advice`."""

    def __init__(self, call: str, status: int, because: str, advice: str, *, held: bool = False) -> None:
        self.held = held
        super().__init__(call, status, because, advice)


def expect_newer(what: str, since: datetime, now: datetime) -> None:
    """Raise NotYetError while an answer about `what` may still be of before `since`, by the clock of `now`.

    A moment that is still to come was told by a clock that was wrong: nobody waits for it.
    """
    if abs(now - since) < BEHIND:
        raise NotYetError(what, 200, "GitHub shows it as it was before", "Cardinal reads it again by itself")


class TokenError(GithubError):
    """GitHub accepts neither the App's key nor a fresh token made with it."""

    advice = "check CARDINAL_APP_ID and CARDINAL_PRIVATE_KEY, and this machine's clock"


def from_answer(
    call: str, status: int, headers: Mapping[str, str], body: object, now_s: float
) -> GithubError:
    """Return the error for a REST answer with a `status` of 300 or more. Header names are lower case.

    Source: docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api.
    """
    because, messages = _message_of(body)
    if status == 429 or (status == 403 and _is_rate_limit(headers, because)):
        return _limit_of(call, status, because, headers, now_s)
    if status == 401 and "not accessible" in because:  # GraphQL's message for a missing permission
        return PermissionMissingError(call, status, because)
    if refusals.classify(call, status, because).meaning is not Meaning.UNKNOWN:
        return _refusal_of(call, status, because, messages)
    if status == 403:
        needed = headers.get("x-accepted-github-permissions")
        return PermissionMissingError(call, status, f"{because}; needed: {needed}" if needed else because)
    if status == 307:  # a write to a renamed repository
        return UnknownNameError(call, status, because)
    if status >= 500 or status == 408:
        return UnavailableError(call, status, because)
    simple = {401: TokenError, 404: NotFoundError, 409: ConflictError, 410: NotFoundError}
    if status in simple:
        return simple[status](call, status, because)
    return _refusal_of(call, status, because, messages)


def _refusal_of(call: str, status: int, because: str, messages: tuple[str, ...]) -> GithubError:
    refusal = refusals.classify(call, status, because)
    if refusal.meaning in (Meaning.NOT_YET, Meaning.HELD):
        return NotYetError(call, status, because, refusal.advice, held=refusal.meaning is Meaning.HELD)
    final = refusal.meaning is Meaning.NEVER
    return RefusedError(call, status, because, messages, refusal.advice, final=final)


def from_graphql(call: str, errors: Sequence[Any], headers: Mapping[str, str], now_s: float) -> GithubError:
    """Return the error for the `errors` of a GraphQL answer; the first typed one decides.

    A rate limit comes as a 200.
    Source: docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api.
    """
    known = [error for error in errors if isinstance(error, Mapping)]
    messages = tuple(str(error.get("message", "")) for error in known)
    because = "; ".join(messages)
    types = [str(error.get("type") or "") for error in known]
    if any(kind in ("RATE_LIMITED", "RATE_LIMIT") for kind in types) or _says_rate_limit(because):
        return _limit_of(call, 200, because, headers, now_s)
    if refusals.classify(call, 200, because).meaning is not Meaning.UNKNOWN:
        return _refusal_of(call, 200, because, messages)
    if any(kind in ("FORBIDDEN", "INSUFFICIENT_SCOPES") for kind in types):
        return PermissionMissingError(call, 200, because)
    if "NOT_FOUND" in types:
        return NotFoundError(call, 200, because)
    if "not accessible by integration" in because:
        return PermissionMissingError(call, 200, because)
    # The second: a query was too expensive for GitHub; the sweep tries again with a smaller one.
    away = {"SERVICE_UNAVAILABLE", "RESOURCE_LIMITS_EXCEEDED"}.intersection(types)
    if away or "Something went wrong while executing your query" in because:
        return UnavailableError(call, 200, because)
    return _refusal_of(call, 200, because, messages)


def _limit_of(
    call: str, status: int, because: str, headers: Mapping[str, str], now_s: float
) -> RateLimitedError:
    """Return the limit with the seconds to wait: `retry-after`, else until the reset, else a minute."""
    retry_after = _number(headers.get("retry-after"))
    if retry_after is not None:
        return RateLimitedError(call, status, because, retry_after)
    reset = _number(headers.get("x-ratelimit-reset"))
    if reset is not None and _number(headers.get("x-ratelimit-remaining")) == 0:
        return RateLimitedError(call, status, because, reset - now_s)
    return RateLimitedError(call, status, because, SECONDARY_WAIT_S, exact=False)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) else None


def _is_rate_limit(headers: Mapping[str, str], because: str) -> bool:
    """Tell a limit from a missing permission: both are 403, and every answer counts the calls left."""
    if "retry-after" in headers or _says_rate_limit(because):
        return True
    return headers.get("x-ratelimit-remaining") == "0" and "not accessible" not in because


def _says_rate_limit(because: str) -> bool:
    said = because.lower()
    return "rate limit" in said or "abuse detection" in said


def _message_of(body: object) -> tuple[str, tuple[str, ...]]:
    """Return GitHub's message and its single reasons, for a body of any shape."""
    if not isinstance(body, Mapping):
        return "an answer that is not JSON" if body else "an empty answer", ()
    message = str(body.get("message") or "no message")
    reasons = body.get("errors")
    listed = reasons if isinstance(reasons, list) else []
    messages = tuple(_reason(reason) for reason in listed[:20])
    return ": ".join((message, *messages)), messages


def _reason(reason: object) -> str:
    if isinstance(reason, Mapping):
        known = (reason.get("message"), reason.get("resource"), reason.get("field"), reason.get("code"))
        return str(known[0]) if known[0] else " ".join(str(part) for part in known[1:] if part)
    return reason if isinstance(reason, str) else json.dumps(reason)
