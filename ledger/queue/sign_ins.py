"""Sign-ins on Cardinal's pages: who is signed in and until when; the states and forms that are used up."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Delete

from ledger.db import rows
from ledger.db.statements import statement
from ledger.db.tables import sign_ins, spent_states

MAX_OF_ONE = 20  # browsers of one person; with one more the sign-in that ends first goes


@dataclass(frozen=True, slots=True)
class SignIn:
    """A person in a browser; `user_id` is GitHub's, `login` was right when the sign-in began."""

    user_id: int
    login: str
    until: datetime


def begin_sign_in(
    db: Connection, token: str, *, user_id: int, login: str, now: datetime, ttl_s: float
) -> None:
    """Record a sign-in under the token that the browser keeps; the ledger keeps only its digest."""
    _drop_ended.run(db, {"now": now})
    spare = rows.values(db, sign_ins.c.token_digest, "-until", user_id=user_id)[MAX_OF_ONE - 1 :]
    rows.drop(db, sign_ins, token_digest=spare)
    until = now + timedelta(seconds=ttl_s)
    mine = {"token_digest": _digest(token), "user_id": user_id, "login": login, "until": until}
    rows.insert(db, sign_ins, mine)


@statement
def _drop_ended(now: Any) -> Delete:
    return sign_ins.delete().where(sign_ins.c.until <= now)


def find(db: Connection, token: str, now: datetime) -> SignIn | None:
    """Return the sign-in under this token; None if there is none, or if it has ended."""
    sign_in = rows.find(db, SignIn, sign_ins, token_digest=_digest(token))
    return sign_in if sign_in is not None and sign_in.until > now else None


def end(db: Connection, token: str) -> None:
    """End the sign-in, unless it has ended."""
    rows.drop(db, sign_ins, token_digest=_digest(token))


def spend(db: Connection, state: str, *, now: datetime, ttl_s: float) -> bool:
    """Use up a sign-in's state, or the token of a form; False where that was done before.

    It is remembered for `ttl_s` seconds.
    """
    _drop_spent.run(db, {"now": now})
    spent = {"state_digest": _digest(state)}
    if rows.count(db, spent_states, **spent):
        return False
    rows.insert(db, spent_states, {**spent, "until": now + timedelta(seconds=ttl_s)})
    return True


@statement
def _drop_spent(now: Any) -> Delete:
    return spent_states.delete().where(spent_states.c.until <= now)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
