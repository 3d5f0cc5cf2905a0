"""Sign-in with an App: codes that browsers carry back, and the tokens they are exchanged for.

Source: docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/
generating-a-user-access-token-for-a-github-app, and for the errors docs.github.com/apps/oauth-apps/
maintaining-oauth-apps, "Troubleshooting OAuth app access token request errors".
"""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from forge.errors import NotFoundError
from forge.store.base import Part, first
from forge.store.models import User
from forge.store.registration import App

CODE_VALID = timedelta(minutes=10)
TOKEN_VALID = timedelta(hours=8)
REFRESH_VALID = timedelta(days=184)
WORDS = {
    "incorrect_client_credentials": "The client_id and/or client_secret passed are incorrect.",
    "redirect_uri_mismatch": "The redirect_uri MUST match the registered callback URL for this application.",
    "bad_verification_code": "The code passed is incorrect or expired.",
    "access_denied": "The user has denied your application access.",
}


class AuthorizationError(Exception):
    """A sign-in that is refused; `name` is GitHub's code for the reason."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(WORDS[name])

    def fields(self) -> dict[str, str]:
        """Return the error's fields, for a JSON body or the callback's query."""
        return {
            "error": self.name,
            "error_description": WORDS[self.name],
            "error_uri": f"/apps/oauth-apps/maintaining-oauth-apps#{self.name.replace('_', '-')}",
        }


@dataclass(frozen=True, slots=True)
class Grant:
    """A person's consent behind a code; `challenge` is PKCE's, empty without."""

    app: App
    user: User
    redirect_uri: str
    challenge: str
    granted_at: datetime


@dataclass(eq=False)
class Authorizations(Part):
    """Every unused code, and every token of a person."""

    _grants: dict[str, Grant] = field(default_factory=dict)
    _tokens: dict[str, tuple[User, App, datetime]] = field(default_factory=dict)

    def app(self, client_id: str) -> App:
        """Return the App with this client id; raises NotFoundError."""
        return first(app for app in self.store.apps.all() if app.client_id == client_id)

    def callback(self, app: App, wanted: str) -> str:
        """Return the callback address of a sign-in: exactly one of the App's own.

        Raises NotFoundError for an App that has none, AuthorizationError for another address.
        """
        if not app.callback_urls:
            raise NotFoundError("This App has no callback URL.")
        if wanted and wanted not in app.callback_urls:
            raise AuthorizationError("redirect_uri_mismatch")
        return wanted or app.callback_urls[0]

    def grant(self, app: App, user: User, redirect_uri: str, challenge: str) -> str:
        code = secrets.token_hex(10)
        self._grants[code] = Grant(app, user, redirect_uri, challenge, self.store.clock.now())
        return code

    def exchange(self, client_id: str, secret: str, code: str, redirect_uri: str, verifier: str) -> str:
        """Return a token of the person behind a code; a code works once.

        Raises AuthorizationError.
        """
        app = next(
            (registered for registered in self.store.apps.all() if registered.client_id == client_id), None
        )
        if app is None or not hmac.compare_digest(app.client_secret.encode(), secret.encode()):
            raise AuthorizationError("incorrect_client_credentials")
        grant = self._grants.pop(code, None)
        if grant is None or grant.app is not app or self.store.clock.now() - grant.granted_at > CODE_VALID:
            raise AuthorizationError("bad_verification_code")
        if redirect_uri and redirect_uri != grant.redirect_uri:
            raise AuthorizationError("redirect_uri_mismatch")
        if grant.challenge and challenge_of(verifier) != grant.challenge:
            raise AuthorizationError("bad_verification_code")
        token = f"ghu_{secrets.token_urlsafe(27)}"
        self._tokens[token] = (grant.user, app, self.store.clock.now() + TOKEN_VALID)
        return token

    def by_token(self, token: str) -> tuple[User, App] | None:
        """Return the owner of a token, and the App it was given to; `None` for an expired or unknown one."""
        kept = self._tokens.get(token)
        return kept[:2] if kept is not None and kept[2] > self.store.clock.now() else None


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a verifier; source: RFC 7636, 4.2."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
