"""Callers and their rights: people by role, Apps by the permissions of their token."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import jwt

from forge.errors import ForbiddenError, NotFoundError, UnauthorizedError
from forge.git.rulesets import WORKFLOW_REFUSED, WORKFLOWS
from forge.store import Store
from forge.store.models import Repo, Role, User, UserType
from forge.store.registration import App, Token

MAX_JWT_LIFETIME = timedelta(minutes=10)
CLOCK_DRIFT = timedelta(seconds=60)
LEVELS = ("none", "read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: nobody, a person, an App with its key, or an installation with a token.

    `by_app`: the App that the person signed in with.
    """

    user: User | None = None
    by_app: App | None = None
    app: App | None = None
    token: Token | None = None

    @property
    def actor(self) -> User:
        """Return the account that acts; raises UnauthorizedError for nobody."""
        if self.token is not None:
            return self.token.installation.app.bot
        if self.user is None:
            raise UnauthorizedError("Requires authentication")
        return self.user

    @property
    def budget_key(self) -> str:
        """Return the key under which the rate limit counts."""
        if self.token is not None:
            return f"installation {self.token.installation.id}"
        return f"user {self.user.login}" if self.user else "anonymous"


def identify(store: Store, authorization: str) -> Caller:
    """Return the caller that an Authorization header names; raises UnauthorizedError for a bad one."""
    if not authorization:
        return Caller()
    scheme, _, rest = authorization.partition(" ")
    secret = _basic_password(rest) if scheme.lower() == "basic" else rest.strip()
    if secret.count(".") == 2 and not secret.startswith("ghs_"):
        return Caller(app=app_of_jwt(store, secret))
    token = store.apps.by_token(secret)
    if token is not None:
        if token.installation.suspended_at is not None:
            raise ForbiddenError("This installation has been suspended")
        _check_known(store, token)
        return Caller(token=token)
    user, by_app = store.authorizations.by_token(secret) or (store.users.by_token(secret), None)
    if user is None:
        raise UnauthorizedError()
    return Caller(user=user, by_app=by_app)


def _check_known(store: Store, token: Token) -> None:
    """Refuse a new token that GitHub does not know everywhere yet; a narrowed one has its own refusal."""
    delays = store.faults.delays
    if delays.tokens_s and delays.is_behind("tokens", token.value, token.created_at, store.clock.now()):
        narrowed = token.repo_ids is not None or token.permissions != token.installation.permissions
        raise ForbiddenError() if narrowed else UnauthorizedError()


def _basic_password(encoded: str) -> str:
    try:
        decoded = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UnauthorizedError() from error
    return decoded.partition(":")[2]


def app_of_jwt(store: Store, token: str) -> App:
    """Return the App that signed a JWT; raises UnauthorizedError.

    Source: docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/
    generating-a-json-web-token-jwt-for-a-github-app (RS256, at most ten minutes).
    """
    fault = "A JSON web token could not be decoded"
    try:
        unchecked = jwt.decode(token, options={"verify_signature": False})
        app = store.apps.get(unchecked.get("iss", ""))
        if app is None:
            raise UnauthorizedError("Integration not found")
        claims = jwt.decode(
            token,
            _checker(app.public_key),
            algorithms=["RS256"],
            options={
                "require": ["exp", "iat", "iss"],
                "verify_iss": False,
                "verify_exp": False,  # judged below, by the forge's own clock
                "verify_iat": False,
            },
        )
        _judge_times(int(claims["iat"]), int(claims["exp"]), store.clock.now())
    except (jwt.PyJWTError, TypeError, ValueError) as error:
        raise UnauthorizedError(fault) from error
    return app


@lru_cache(maxsize=8)
def _checker(public_key: str) -> Any:
    return jwt.get_algorithm_by_name("RS256").prepare_key(public_key)


def _judge_times(issued_s: int, expires_s: int, now: datetime) -> None:
    if expires_s <= now.timestamp():
        raise UnauthorizedError(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which "
            "the assertion expires"
        )
    if expires_s > (now + MAX_JWT_LIFETIME + CLOCK_DRIFT).timestamp():
        raise UnauthorizedError("'Expiration time' claim ('exp') is too far in the future")
    if issued_s > (now + CLOCK_DRIFT).timestamp():
        raise UnauthorizedError("'Issued at' claim ('iat') must be an Integer representing the time")


def require_role(store: Store, repo: Repo, user: User, needed: Role) -> None:
    """Raise ForbiddenError when a role is too low, NotFoundError without any."""
    role = store.repos.role_of(repo, user)
    if role.reaches(needed):
        return
    if role is Role.NONE:
        raise NotFoundError()
    raise ForbiddenError(f"Must have {needed.value} rights to Repository.")


def require(
    store: Store, caller: Caller, repo: Repo, permissions: str, level: str, *, role: Role = Role.READ
) -> None:
    """Raise unless a token has one of `permissions` (split by `|`) at `level`, or a person `role`."""
    if caller.token is not None:
        _require_token(caller.token, repo, permissions, level)
    elif caller.user is not None:
        require_role(store, repo, caller.user, role)
    elif repo.private:
        raise NotFoundError()
    elif level != "read":
        raise UnauthorizedError("Requires authentication")


def _require_token(token: Token, repo: Repo, permissions: str, level: str) -> None:
    reachable = repo.owner is token.installation.account
    for chosen in (token.repo_ids, token.installation.repo_ids):
        reachable = reachable and (chosen is None or repo.id in chosen)
    if not reachable and repo.private:
        raise NotFoundError()
    given = max(LEVELS.index(token.permissions.get(name, "none")) for name in permissions.split("|"))
    if not reachable and level != "read":
        raise ForbiddenError()
    if level != "read" and repo.archived:
        raise ForbiddenError("Repository was archived so is read-only.")
    if given < LEVELS.index(level) and not (permissions == "metadata" and level == "read"):
        raise ForbiddenError()


def require_workflows(caller: Caller, paths: Iterable[str]) -> None:
    """Raise ForbiddenError when a token without `workflows` would change a file of GitHub Actions.

    Source: github.com/KeisukeYamashita/auto-pull-request-merge, issue 481.
    """
    file = next((path for path in sorted(paths) if path.startswith(WORKFLOWS)), "")
    if file and not may_change_workflows(caller):
        raise ForbiddenError(WORKFLOW_REFUSED.format(file))


def may_change_workflows(caller: Caller) -> bool:
    """Return whether the caller may change files of GitHub Actions: a person, or a token with `workflows`."""
    return caller.token is None or caller.token.permissions.get("workflows") == "write"


def require_board(caller: Caller, owner: User, level: str) -> None:
    """Raise ForbiddenError unless `caller` may read or write the projects of an owner.

    An App may not those of a person. Source: github.com/martonpaulo/skills, pull request 39.
    """
    if caller.token is not None:
        given = caller.token.permissions.get("organization_projects", "none")
        inside = caller.token.installation.account is owner and owner.type is UserType.ORGANIZATION
        if not inside or LEVELS.index(given) < LEVELS.index(level):
            raise ForbiddenError()
    elif caller.user is None:
        raise UnauthorizedError("Requires authentication")
    elif level != "read" and caller.user.login not in owner.members and caller.user is not owner:
        raise ForbiddenError(f"{caller.user.login} does not have permission to change this project.")
