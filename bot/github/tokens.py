"""The App's tokens: the signed word that it is the App, and what GitHub gives for it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import jwt

from bot.clock import Clock
from bot.github.errors import NotFoundError, RefusedError, TokenError
from bot.github.kept import Kept
from bot.secret import Secret

# At most ten minutes, and a minute back for clocks that differ. Source: docs.github.com/apps,
# "Generating a JSON Web Token (JWT) for a GitHub App".
BACKDATED_S = 60
VALID_S = 540
EARLY = timedelta(minutes=5)  # a token is renewed this long before it expires
MOST_NARROWED = 100

Ask = Callable[
    [str, str, Mapping[str, Any] | None], Any
]  # method, path, body -> the answer's JSON, as the App
WITH_WORKFLOWS = " with workflows"  # no repository is called so


@dataclass(frozen=True, slots=True)
class Token:
    """An installation token, opaque; `expires_at` is GitHub's."""

    secret: Secret
    expires_at: datetime


class Tokens:
    """Makes the App's tokens for one board owner; `shared` keeps them for all processes of this machine.

    Nothing is asked for before it is needed.
    """

    def __init__(
        self, app_id: int, private_key: Secret, owner: str, ask: Ask, clock: Clock, shared: Kept
    ) -> None:
        self._app_id, self._private_key, self._owner = app_id, private_key, owner
        self._ask, self._clock, self._shared = ask, clock, shared
        self._installation_id: int | None = None
        self._kept: dict[str, Token] = {}  # by repository name; the unnarrowed one under the empty name

    def app_word(self) -> str:
        """Return a fresh JWT that says "I am the App"; good for nine minutes.

        Raises TokenError when the private key is not one.
        """
        now_s = int(self._clock().timestamp())
        claims = {"iat": now_s - BACKDATED_S, "exp": now_s + VALID_S, "iss": str(self._app_id)}
        try:
            return jwt.encode(claims, self._private_key.reveal(), algorithm="RS256")
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise TokenError(
                "sign as the App", 0, f"the private key cannot sign: {type(error).__name__}"
            ) from None

    def installation(self) -> str:
        """Return a token for everything that the installation may do."""
        return self._token("")

    def for_pushing(self, repository: str, *, workflows: bool = False) -> str:
        """Return a token that can only read and write the contents of `repository` (owner/name); its files
        of CI only with `workflows`. Source: docs.github.com/rest/apps/apps (permissions: workflows).
        """
        return self._token(f"{repository}{WITH_WORKFLOWS}" if workflows else repository)

    def forget(self) -> None:
        """Drop every kept token: GitHub refused one. Newer ones of other processes stay."""
        for kept in self._kept.values():
            self._shared.drop(_written(kept))
        self._kept.clear()

    def _token(self, repository: str) -> str:
        kept = self._kept.get(repository)
        if kept is None or self._stale(kept):
            if len(self._kept) >= MOST_NARROWED:
                self._kept.clear()
            kept = self._kept[repository] = self._fresh(repository)
        return kept.secret.reveal()

    def _fresh(self, repository: str) -> Token:
        found = self._others(repository)
        if found is None or self._stale(found):
            found = self._new(repository)
            self._shared.put(_name(repository), _written(found))
        return found

    def _stale(self, token: Token) -> bool:
        return token.expires_at - EARLY <= self._clock()

    def _others(self, repository: str) -> Token | None:
        text = self._shared.get(_name(repository))
        if text is None:
            return None
        secret, expires_at = json.loads(text)
        return Token(Secret(secret), datetime.fromisoformat(expires_at))

    def _new(self, repository: str) -> Token:
        """Ask for a token. Source: docs.github.com/rest/apps/apps, "Create an installation access token"."""
        body: dict[str, Any] | None = None
        owner, _, name = repository.removesuffix(WITH_WORKFLOWS).partition("/")
        if repository:
            if owner.lower() != self._owner.lower():  # the token would be for another repository of that name
                raise RefusedError("ask for a token", 0, f"{repository} is not of {self._owner}")
            body = {"repositories": [name], "permissions": {"contents": "write"}}
            if repository.endswith(WITH_WORKFLOWS):
                body["permissions"]["workflows"] = "write"
        path = f"/app/installations/{self._installation()}/access_tokens"
        found = self._ask("POST", path, body)
        return Token(Secret(found["token"]), datetime.fromisoformat(found["expires_at"]))

    def _installation(self) -> int:
        if self._installation_id is None:
            path = f"/orgs/{self._owner}/installation"
            try:
                found = self._ask("GET", path, None)
            except NotFoundError as error:
                because = f"the App is not installed on {self._owner}, or that is not an organisation"
                raise NotFoundError(error.call, error.status, because) from error
            self._installation_id = int(found["id"])
        return self._installation_id


def _name(repository: str) -> str:
    return f"token {repository}"


def _written(token: Token) -> str:
    return json.dumps([token.secret.reveal(), token.expires_at.isoformat()])
