"""Sign-ins on Cardinal's pages: the visits with their ends; the states and forms that were used up."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from ledger.db.rows import first_row, pick
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
    db.execute(visits.delete().where(visits.c.until <= now))
    mine = select(visits.c.word_digest).where(visits.c.user_id == user_id).order_by(visits.c.until.desc())
    spare = tuple(db.scalars(mine.offset(MAX_OF_ONE - 1)))
    db.execute(visits.delete().where(visits.c.word_digest.in_(spare)))
    until = now + timedelta(seconds=ttl_s)
    db.execute(visits.insert().values(word_digest=_digest(word), user_id=user_id, login=login, until=until))


def find(db: Connection, word: str, now: datetime) -> SignIn | None:
    """Return the visit under this word; None where there is none, or where it is over."""
    mine = (visits.c.word_digest == _digest(word)) & (visits.c.until > now)
    return first_row(db, SignIn, pick(SignIn, visits).where(mine))


def end(db: Connection, word: str) -> None:
    """End the visit; one that is over needs nothing."""
    db.execute(visits.delete().where(visits.c.word_digest == _digest(word)))


def spend(db: Connection, state: str, *, now: datetime, ttl_s: float) -> bool:
    """Use up a sign-in's state, or the token of a form; False where that was done before.

    It is remembered for `ttl_s` seconds.
    """
    db.execute(spent_states.delete().where(spent_states.c.until <= now))
    digest = _digest(state)
    if db.scalar(select(spent_states.c.state_digest).where(spent_states.c.state_digest == digest)):
        return False
    db.execute(spent_states.insert().values(state_digest=digest, until=now + timedelta(seconds=ttl_s)))
    return True


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()
