"""Rows of views: what a new one must be given, and what it has by default."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from ledger.db.rows import MAX_PADDED, change, keep, list_rows, record, width
from ledger.event import Recorded
from ledger.events.run import PlanProposed
from ledger.ids import RunId
from ledger.log import event_store
from ledger.rows.plans import PlanRow
from ledger.rows.runs import RunRow
from ledger.states import RunState
from ledger.views import observations, plans, runs, stops
from tests.ledger.samples import NOW, run_queued

RUN = RunId("r1")
PROPOSED = Recorded(1, "run:r1", 1, NOW, PlanProposed(RUN, 1, "Do it", ("a",)))
PLACE = {"board_id": "b", "rank": 1, "serial": 1, "queued_at": NOW, "card_created_at": NOW}


def test_a_column_without_a_default_fails_the_insert_that_forgets_it(ledger: Engine) -> None:
    with pytest.raises(IntegrityError, match="state"), event_store.writing(ledger) as db:
        record(db, plans.plans, PROPOSED)
    with pytest.raises(IntegrityError, match=r'stops_\w+\.at|"at"'), event_store.writing(ledger) as db:
        keep(db, stops.stops, {"board_id": "b", "scope": "board", "target": "b"}, {"by": "ann"})


def test_an_event_replaces_the_whole_row_that_has_its_key(ledger: Engine) -> None:
    queued = Recorded(1, "run:r1", 1, NOW, run_queued())
    with event_store.writing(ledger) as db:
        record(db, runs.runs, queued, state=RunState.QUEUED, **PLACE)
        new = runs.get(db, RUN)
        change(db, runs.runs, {"run_id": RUN}, ended_at=NOW, last_line="It is done.")
        record(db, runs.runs, queued, state=RunState.QUEUED, **PLACE)
        assert (runs.get(db, RUN), new is None) == (new, False)


def test_a_column_with_a_default_takes_it(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        record(db, plans.plans, PROPOSED, state="proposed")
        keep(db, observations.observations, {"run_id": RUN}, {"denied": 1})
        plan, observation = plans.newest(db, RUN), observations.get(db, RUN)
    assert plan == PlanRow(RUN, 1, "Do it", ("a",), "proposed", NOW, "", "")
    assert observation == observations.ObservationRow(RUN, denied=1)


def test_a_row_that_is_one_of_any_number_of_choices_is_returned_once(ledger: Engine) -> None:
    queued = Recorded(1, "run:r1", 1, NOW, run_queued())
    with event_store.writing(ledger) as db:
        record(db, runs.runs, queued, state=RunState.QUEUED, **PLACE)
        for count in (1, 2, 3, 5, MAX_PADDED + 1):
            others = tuple(RunId(f"r{n}") for n in range(2, count + 1))
            assert [it.run_id for it in list_rows(db, RunRow, runs.runs, run_id=(*others, RUN))] == [RUN]
            assert list_rows(db, RunRow, runs.runs, run_id=others) == ()


def test_choices_of_many_lengths_are_few_statements_and_a_long_one_is_no_longer_than_it_must_be() -> None:
    assert len({width(count) for count in range(1, MAX_PADDED + 1)}) < 12
    assert width(20_000) == 20_000
