"""Sign-ins on Cardinal's pages: the visits with their ends; the states and forms that were used up."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Delete

from ledger.db import rows
from ledger.db.statements import statement
from ledger.db.tables import spent_states, visits

MAX_OF_ONE = 20  # browsers of one person; with one more the visit that ends first does


@dataclass(frozen=True, slots=True)
class SignIn:
    """A person in a browser; `user_id` is GitHub's, `login` was right when the visit began."""

    user_id: int
    login: str
    until: datetime


def begin_sign_in(
    db: Connection, word: str, *, user_id: int, login: str, now: datetime, ttl_s: float
) -> None:
    """Open a visit under the word that the browser keeps; the ledger keeps its digest only."""
    _drop_visits.run(db, {"now": now})
    spare = rows.values(db, visits.c.word_digest, "-until", user_id=user_id)[MAX_OF_ONE - 1 :]
    rows.drop(db, visits, word_digest=spare)
    until = now + timedelta(seconds=ttl_s)
    mine = {"word_digest": _digest(word), "user_id": user_id, "login": login, "until": until}
    rows.insert(db, visits, mine)


@statement
def _drop_visits(now: Any) -> Delete:
    return visits.delete().where(visits.c.until <= now)


def find(db: Connection, word: str, now: datetime) -> SignIn | None:
    """Return the visit under this word; None where there is none, or where it is over."""
    visit = rows.find(db, SignIn, visits, word_digest=_digest(word))
    return visit if visit is not None and visit.until > now else None


def end(db: Connection, word: str) -> None:
    """End the visit; one that is over needs nothing."""
    rows.drop(db, visits, word_digest=_digest(word))


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


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()
