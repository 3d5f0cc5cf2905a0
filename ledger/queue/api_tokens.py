"""Tokens of programs: each acts for one GitHub account, within its scopes, until it ends or is revoked."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Update, func

from ledger.db.rows import list_rows
from ledger.db.statements import statement
from ledger.db.tables import api_tokens
from ledger.errors import CardinalError

PREFIX = "cardinal_"  # by which people and scanners know one: how GitHub's own begin with ghp_ and the like
MAX_OF_ONE = 50  # live tokens of one account
MAX_NAME = 60


class Scope(StrEnum):
    """Scopes of a token; each includes those before it."""

    READ = "read"
    ACT = "act"
    CREATE = "create"


MEANING: Mapping[Scope, str] = {
    Scope.READ: "read with its account's rights",
    Scope.ACT: "give the commands that its account may give on cards",
    Scope.CREATE: "give these commands, and make cards",
}


def scope_covers(scopes: tuple[str, ...], scope: Scope) -> bool:
    order = list(Scope)
    return any(given in order and order.index(Scope(given)) >= order.index(scope) for given in scopes)


class TooManyTokensError(CardinalError):
    """An account has as many live tokens as it may."""

    def __init__(self, login: str) -> None:
        self.login = login
        super().__init__(f"{login} has {MAX_OF_ONE} tokens: revoke one that is not used")


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token, without its text. `login` was right when it was made, `user_id` is GitHub's."""

    token_id: str
    name: str
    login: str
    user_id: int
    scopes: tuple[str, ...]
    made_at: datetime
    until: datetime
    revoked_at: datetime | None
    used_at: datetime | None
    uses: int

    def lives(self, now: datetime) -> bool:
        """Tell whether it still opens the door."""
        return self.revoked_at is None and self.until > now


def make(
    db: Connection,
    name: str,
    *,
    login: str,
    user_id: int,
    scopes: tuple[str, ...],
    now: datetime,
    lives: timedelta,
) -> tuple[str, TokenRow]:
    """Return a new token's text, which is kept nowhere, and its row. Raises TooManyTokensError."""
    if len(list_living(db, now, user_id=user_id)) >= MAX_OF_ONE:
        raise TooManyTokensError(login)
    text = f"{PREFIX}{secrets.token_hex(24)}"
    row = TokenRow(
        token_id=secrets.token_hex(4),
        name=name[:MAX_NAME],
        login=login,
        user_id=user_id,
        scopes=scopes,
        made_at=now,
        until=now + lives,
        revoked_at=None,
        used_at=None,
        uses=0,
    )
    values = {field: getattr(row, field) for field in TokenRow.__slots__}
    db.execute(api_tokens.insert().values(digest=_digest(text), **values))
    return text, row


def find(db: Connection, text: str, now: datetime) -> TokenRow | None:
    """Return the live token with this text; None where there is none."""
    rows = list_rows(db, TokenRow, api_tokens, digest=_digest(text))
    return next((row for row in rows if row.lives(now)), None)


def list_living(db: Connection, now: datetime, *, user_id: int | None) -> tuple[TokenRow, ...]:
    """Return the tokens that are not over, of an account or of all, the newest last."""
    rows = list_rows(db, TokenRow, api_tokens, "made_at", **({} if user_id is None else {"user_id": user_id}))
    return tuple(row for row in rows if row.lives(now))


def revoke(db: Connection, token_id: str, now: datetime, *, user_id: int | None = None) -> bool:
    """End a token now, of that account if one is named; False where there is none that lives."""
    condition = (api_tokens.c.token_id == token_id) & api_tokens.c.revoked_at.is_(None)
    if user_id is not None:
        condition &= api_tokens.c.user_id == user_id
    return db.execute(api_tokens.update().where(condition).values(revoked_at=now)).rowcount > 0


def drop_over(db: Connection, before: datetime) -> int:
    """Forget the tokens that were over before then; return how many."""
    end = func.coalesce(api_tokens.c.revoked_at, api_tokens.c.until)
    return db.execute(api_tokens.delete().where(end < before)).rowcount


@statement
def _count_uses(token_id: Any, more: Any, at: Any) -> Update:
    mine = api_tokens.update().where(api_tokens.c.token_id == token_id)
    return mine.values(uses=api_tokens.c.uses + more, used_at=at)


def count_uses(db: Connection, uses: Iterable[tuple[str, int, datetime]]) -> None:
    """Add to the uses of tokens, each with when it was used last."""
    _count_uses.run_all(db, [{"token_id": it, "more": count, "at": at} for it, count, at in uses])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
