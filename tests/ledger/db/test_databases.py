"""A test gets a database of PostgreSQL as if it were new, whatever the test before did with it."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from ledger.log import event_store
from ledger.queue import outbox
from ledger.views.cards import cards
from tests.ledger.log.writers import draft
from tests.ledger.samples import NOW, board_seen, card_seen
from tests.ledgers import new_ledger
from tests.postgresql import Databases


def work(engine: Engine) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), card_seen(), at=NOW)
        outbox.put(db, draft("k"), NOW)
        first = outbox.get(db, draft("k").key)
        assert first is not None
        assert first.entry_id == 1


def altering(sql: str) -> Callable[[Engine], None]:
    def alter(engine: Engine) -> None:
        with engine.begin() as db:
            db.execute(text(sql))

    return alter


@pytest.mark.parametrize(
    ("alter", "again"),
    [
        (work, True),
        (altering("ALTER TABLE outbox ADD COLUMN later int"), False),
        (altering("ALTER TABLE outbox ADD CHECK (entry_id < 0)"), False),
        (altering("ALTER TABLE outbox ALTER COLUMN act DROP NOT NULL"), False),
        (altering("UPDATE editions SET version = '9'"), False),
    ],
    ids=["rows", "column", "check", "null", "edition"],
)
def test_only_a_database_with_nothing_but_rows_is_used_again(
    postgresql_databases: Databases, alter: Callable[[Engine], None], again: bool
) -> None:
    name = postgresql_databases.take()
    engine = new_ledger(postgresql_databases.address(name))
    alter(engine)  # left open: whoever holds a connection loses it
    postgresql_databases.give_back(name)
    assert (name in postgresql_databases.spare) == again
    engine.dispose()
    engine = new_ledger(postgresql_databases.address(next_name := postgresql_databases.take()))
    with event_store.reading(engine) as db:
        assert (event_store.last_seq(db), db.execute(cards.select()).all()) == (0, [])
    work(engine)
    engine.dispose()
    postgresql_databases.give_back(next_name)
