"""Visits end, are few for each person, and are kept by the digest of their word only."""

from sqlalchemy import Engine, func, select

from ledger.db.tables import spent_states
from ledger.db.tables import visits as table
from ledger.log import event_store
from ledger.queue import sign_ins
from tests.ledger.samples import NOW, later


def begin(ledger: Engine, word: str, user_id: int = 7, after_s: float = 0) -> None:
    with event_store.writing(ledger) as db:
        sign_ins.begin_sign_in(db, word, user_id=user_id, login="bob", now=later(after_s), ttl_s=100)


def known(ledger: Engine, word: str, after_s: float = 0) -> bool:
    with event_store.reading(ledger) as db:
        return sign_ins.find(db, word, later(after_s)) is not None


def test_a_visit_is_found_by_its_word_until_it_ends(ledger: Engine) -> None:
    begin(ledger, "word")
    with event_store.reading(ledger) as db:
        found = sign_ins.find(db, "word", NOW)
        assert found is not None
        assert (found.user_id, found.login, found.until) == (7, "bob", later(100))
        assert "word" not in str(db.execute(select(table)).all()[0].word_digest)
    assert not known(ledger, "Word")
    assert known(ledger, "word", 99)
    assert not known(ledger, "word", 100)
    with event_store.writing(ledger) as db:
        sign_ins.end(db, "word")
        sign_ins.end(db, "word")
    assert not known(ledger, "word")


def test_one_person_has_so_many_visits_and_old_ones_are_swept_out(ledger: Engine) -> None:
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
