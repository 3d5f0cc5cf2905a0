"""Sign-ins end, are few for each person, and are stored only by the digest of their token."""

from sqlalchemy import Engine, func, select

from ledger.db.tables import sign_ins as table
from ledger.db.tables import spent_states
from ledger.log import event_store
from ledger.queue import sign_ins
from tests.ledger.samples import NOW, later


def begin(ledger: Engine, token: str, user_id: int = 7, after_s: float = 0) -> None:
    with event_store.writing(ledger) as db:
        sign_ins.begin_sign_in(db, token, user_id=user_id, login="bob", now=later(after_s), ttl_s=100)


def known(ledger: Engine, token: str, after_s: float = 0) -> bool:
    with event_store.reading(ledger) as db:
        return sign_ins.find(db, token, later(after_s)) is not None


def test_a_sign_in_is_found_by_its_token_until_it_ends(ledger: Engine) -> None:
    begin(ledger, "word")
    with event_store.reading(ledger) as db:
        sign_in = sign_ins.find(db, "word", NOW)
        assert sign_in is not None
        assert (sign_in.user_id, sign_in.login, sign_in.until) == (7, "bob", later(100))
        assert "word" not in str(db.execute(select(table)).all()[0].token_digest)
    assert not known(ledger, "Word")
    assert known(ledger, "word", 99)
    assert not known(ledger, "word", 100)
    with event_store.writing(ledger) as db:
        sign_ins.end(db, "word")
        sign_ins.end(db, "word")
    assert not known(ledger, "word")


def test_one_person_has_at_most_20_sign_ins_and_ended_ones_are_dropped(ledger: Engine) -> None:
    begin(ledger, "other", user_id=8)
    for number in range(sign_ins.MAX_OF_ONE + 1):
        begin(ledger, f"w{number}", after_s=number)
    assert [known(ledger, f"w{number}", 50) for number in (0, 1, sign_ins.MAX_OF_ONE)] == [False, True, True]
    assert known(ledger, "other", 50)
    begin(ledger, "late", after_s=1000)
    with event_store.reading(ledger) as db:
        assert db.scalar(select(func.count()).select_from(table)) == 1


def test_a_state_is_spent_once_and_forgotten_when_nobody_would_take_it(ledger: Engine) -> None:
    def spend(state: str, after_s: float = 0) -> bool:
        with event_store.writing(ledger) as db:
            return sign_ins.spend(db, state, now=later(after_s), ttl_s=600)

    assert [spend("a"), spend("b"), spend("a", 599)] == [True, True, False]
    assert spend("c", 600)
    with event_store.reading(ledger) as db:
        assert db.scalar(select(func.count()).select_from(spent_states)) == 1
