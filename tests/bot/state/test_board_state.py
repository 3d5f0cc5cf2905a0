"""A board's state is read again after whatever changes it, and after nothing else."""

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Engine

from bot.state import policies
from ledger import codec
from ledger.db.transactions import undoable
from ledger.errors import IllegalStepError
from ledger.events.board import BoardEvent, CardReplaced, StopLifted, StopOrdered
from ledger.events.run import Progressed, RunRequeued
from ledger.fold import step_of
from ledger.ids import BoardId
from ledger.log import event_store
from tests.ledger.samples import BOARD, NOW, RUN, any_event, board_seen
from tests.ledger.traced import traced
from tests.ledgers import new_ledger

# They have a step in one of the sources, but change there only who lifted which stop, which is not read.
ELSEWHERE = {CardReplaced, RunRequeued}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    made = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    with event_store.writing(made) as db:
        event_store.append(db, board_seen(), at=NOW)
    return made


def test_it_is_what_a_fresh_read_finds_whatever_happens(engine: Engine) -> None:
    chance = Random(5)
    kinds = sorted(codec.kinds().values(), key=lambda kind: kind.__name__)
    of_boards = [kind for kind in kinds if issubclass(kind, BoardEvent)]
    with event_store.writing(engine) as db:
        for _ in range(300):
            event = any_event(chance.choice, chance.choice(chance.choice((kinds, of_boards))))
            try:
                event_store.append(db, event, at=NOW)
            except IllegalStepError:
                continue
            for board_id in (BOARD, BoardId("PVT_2")):
                assert policies.of_board(db, board_id) == policies._read(db, board_id), event


def test_only_events_of_a_board_change_what_it_is_read_from() -> None:
    kinds = codec.kinds().values()
    changing = {kind for view in policies.SOURCES for kind in kinds if step_of(view.fold, kind)}
    assert {kind for kind in changing if not issubclass(kind, BoardEvent)} == ELSEWHERE


def test_what_was_undone_is_not_taken_for_what_happened_instead(engine: Engine) -> None:
    with event_store.writing(engine) as db:
        with suppress(InterruptedError), undoable(db):
            event_store.append(db, StopOrdered(BOARD, "board", BOARD, "ann"), at=NOW)
            assert len(policies.of_board(db, BOARD).stops) == 1
            raise InterruptedError
        event_store.append(db, StopLifted(BOARD, "board", BOARD, "ann"), at=NOW)
        assert policies.of_board(db, BOARD).stops == ()


def test_it_is_not_read_again_after_events_of_cards_and_runs(engine: Engine) -> None:
    with event_store.writing(engine) as db:
        policies.of_board(db, BOARD)
        event_store.append(db, Progressed(RUN, "half"), at=NOW)
    with traced(engine) as statements, event_store.reading(engine) as db:
        policies.of_board(db, BOARD)
    assert len(statements) == 1
