"""The App's tokens: its JWT, and the installation tokens that GitHub gives for it."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import jwt
from cachetools import LRUCache

from bot.github.errors import GithubError, NotFoundError, RefusedError, TokenError
from bot.github.locked_cache import LockedCache
from bot.github.token_cache import TokenCache
from bot.github.token_scope import TokenScope, pushing, scope_refusal
from bot.system.clock import Clock
from bot.system.secret import Secret

# At most ten minutes, and a minute back for clocks that differ. Source: docs.github.com/apps,
# "Generating a JSON Web Token (JWT) for a GitHub App".
BACKDATED_S = 60
VALID_S = 540
EARLY = timedelta(minutes=5)  # a token is renewed this long before it expires
MAX_NARROWED = 100
MINTING_S, POLL_S = 45.0, 0.05  # how long others wait for a process that requests a token: one call and more
# GitHub may not know a new token everywhere yet. Source: github.com/octokit/auth-app.js, which waits as long.
NEW, NEW_POLL_S = timedelta(seconds=5), 0.5
INSTALLATION = "installation"  # its id's name in the cache
YOUNG = timedelta(minutes=1)  # a new token would have no other permissions than such a one

Ask = Callable[
    [str, str, Mapping[str, Any] | None], Any
]  # method, path, body -> the answer's JSON, as the App


@dataclass(frozen=True, slots=True)
class Token:
    """An installation token, opaque; its times are GitHub's."""

    secret: Secret
    expires_at: datetime
    asked_at: datetime


class Tokens:
    """Makes the App's tokens for one board owner, on demand; `shared` caches them for all processes."""

    def __init__(
        self, app_id: int, private_key: Secret, owner: str, ask: Ask, clock: Clock, *, shared: TokenCache
    ) -> None:
        self._app_id, self._private_key, self._owner = app_id, private_key, owner
        self._ask, self._clock, self._shared = ask, clock, shared
        self._installation_id: int | None = None
        # By the reach's name; the token without limits under the empty name.
        self._kept = LockedCache[str, Token](LRUCache(MAX_NARROWED))

    def make_jwt(self) -> str:
        """Return a fresh JWT of the App, valid for nine minutes.

        Raises TokenError for an invalid private key.
        """
        now_s = int(self._clock().timestamp())
        claims = {"iat": now_s - BACKDATED_S, "exp": now_s + VALID_S, "iss": str(self._app_id)}
        try:
            return jwt.encode(claims, _signer(self._private_key.reveal()), algorithm="RS256")
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:  # the last: a public key
            raise TokenError(
                "sign as the App", 0, f"the private key cannot sign: {type(error).__name__}"
            ) from None

    def reaching(self, scope: TokenScope | None) -> str:
        """Return a token of this scope; None: with all rights of the installation.

        All processes that share the cache request at most one in 55 minutes for each scope.
        """
        name = scope.name if scope else ""
        token = self._kept.get(name)
        if token is None or self._stale(token):
            token = self._kept[name] = self._fresh(name, scope)
        return token.secret.reveal()

    def for_pushing(self, repository: str, *, workflows: bool = False, writes: bool = True) -> str:
        """Return a token that can only read, and with `writes` write, the contents of `repository`
        (owner/name); its files of CI only with `workflows`.

        Raises RefusedError for another owner's: the token would be for another repository of that name.
        """
        scope = pushing(repository, workflows=workflows, writes=writes)
        if not self.covers(scope):
            raise RefusedError("ask for a token", 0, f"{repository} is not of {self._owner}")
        return self.reaching(scope)

    def covers(self, scope: TokenScope) -> bool:
        """Tell whether the installation is at the repository's owner."""
        return scope.owner.casefold() == self._owner.casefold()

    def is_new(self, scope: TokenScope | None) -> bool:
        """Tell whether GitHub may refuse the token of this scope only because it is so new."""
        name = scope.name if scope else ""
        token = self._kept.get(name)
        if token is None or self._clock() >= token.asked_at + NEW:
            return False
        return self._shared.get(f"known: {name}") != token.asked_at.isoformat()

    def note_known(self, scope: TokenScope) -> None:
        """Note for all processes that GitHub took the token of this scope."""
        token = self._kept.get(scope.name)
        if token is not None:
            self._shared.put(f"known: {scope.name}", token.asked_at.isoformat())

    def await_known(self, scope: TokenScope | None, began_s: float) -> bool:
        """Wait a moment for GitHub to know the token; False when it should have, or was asked for that long.

        `began_s`: the first call with it, by the monotonic clock.
        """
        if not self.is_new(scope) or time.monotonic() >= began_s + NEW.total_seconds():
            return False
        time.sleep(NEW_POLL_S)
        return True

    def forget(self) -> None:
        """Drop every cached token: GitHub refused one. Newer ones of other processes stay."""
        for token in self._kept.take_all():
            self._shared.drop(_encode(token))

    def renew(self, scope: TokenScope | None) -> bool:
        """Drop the token of this scope, unless it is young; return whether the next one is new.

        Since then a permission may have been accepted, or a repository added.
        """
        token = self._kept.get(scope.name if scope else "")
        if token is None or self._clock() < token.asked_at + YOUNG:
            return False
        self._shared.drop(_encode(token))
        self._kept.drop(scope.name if scope else "")
        return True

    def _fresh(self, name: str, scope: TokenScope | None) -> Token:
        claim, until = f"claim: {name}", time.monotonic() + MINTING_S
        while (token := self._others(name)) is None or self._stale(token):
            if self._shared.claim(claim, MINTING_S) or time.monotonic() >= until:
                try:
                    token = self._others(name)  # a process that claimed before may have stored one meanwhile
                    if token is None or self._stale(token):
                        token = self._new(scope)
                        self._shared.put(_name(name), _encode(token))
                finally:
                    self._shared.put(claim, "0")
                return token
            time.sleep(POLL_S)
        return token

    def _stale(self, token: Token) -> bool:
        return token.expires_at - EARLY <= self._clock()

    def _others(self, name: str) -> Token | None:
        text = self._shared.get(_name(name))
        if text is None:
            return None
        secret, expires_at, asked_at = json.loads(text)
        return Token(Secret(secret), datetime.fromisoformat(expires_at), datetime.fromisoformat(asked_at))

    def _new(self, scope: TokenScope | None) -> Token:
        """Request a token. Source: docs.github.com/rest/apps/apps, "Create an installation access token"."""
        installation = self._installation()
        path = f"/app/installations/{installation}/access_tokens"
        try:
            answer = self._ask("POST", path, scope.body() if scope else None)
        except GithubError as error:
            if isinstance(error, NotFoundError):  # installed anew, under another id
                self._installation_id = None
                self._shared.drop(str(installation))
            if scope is None:
                raise
            raise scope_refusal(error, scope) from error
        expires_at = datetime.fromisoformat(answer["expires_at"])
        return Token(Secret(answer["token"]), expires_at, self._clock())

    def _installation(self) -> int:
        known = self._installation_id  # read once: another thread may forget it
        if known is None:
            text = self._shared.get(INSTALLATION)
            if text is None:
                text = str(self.read_installation()["id"])
                self._shared.put(INSTALLATION, text)
            known = self._installation_id = int(text)
        return known

    def read_installation(self) -> Any:
        """Return the installation at the owner, an organisation or a person, as GitHub describes it.

        Raises NotFoundError where the App is not installed. Source: docs.github.com/rest/apps/apps, "Get an
        organization installation", "Get a user installation": the first knows no persons.
        """
        owner = quote(self._owner, safe="")
        try:
            return self._ask("GET", f"/orgs/{owner}/installation", None)
        except NotFoundError:
            pass
        try:
            return self._ask("GET", f"/users/{owner}/installation", None)
        except NotFoundError as error:
            because = f"the App is not installed on {self._owner}"
            raise NotFoundError(error.call, error.status, because) from error


@lru_cache(maxsize=8)
def _signer(private_key: str) -> Any:
    """Return the key, read once in a process: reading it takes far longer than signing with it."""
    return jwt.get_algorithm_by_name("RS256").prepare_key(private_key)


def _name(reach: str) -> str:
    return f"token: {reach}"


def _encode(token: Token) -> str:
    return json.dumps([token.secret.reveal(), token.expires_at.isoformat(), token.asked_at.isoformat()])
