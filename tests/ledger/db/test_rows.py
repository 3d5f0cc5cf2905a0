"""Rows of views: what a new one must be given, and what it has by default."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from ledger.db.rows import change, keep, record
from ledger.event import Recorded
from ledger.events.run import PlanProposed
from ledger.ids import RunId
from ledger.log import event_store
from ledger.rows.plans import PlanRow
from ledger.states import RunState
from ledger.views import observations, plans, runs, stops
from tests.ledger.samples import NOW, run_queued

RUN = RunId("r1")
PROPOSED = Recorded(1, "run:r1", 1, NOW, PlanProposed(RUN, 1, "Do it", ("a",)))


def test_a_column_without_a_default_fails_the_insert_that_forgets_it(ledger: Engine) -> None:
    with pytest.raises(IntegrityError, match="state"), event_store.writing(ledger) as db:
        record(db, plans.plans, PROPOSED)
    with pytest.raises(IntegrityError, match=r'stops_\w+\.at|"at"'), event_store.writing(ledger) as db:
        keep(db, stops.stops, {"board_id": "b", "scope": "board", "target": "b"}, {"by": "ann"})


def test_an_event_replaces_the_whole_row_that_has_its_key(ledger: Engine) -> None:
    queued = Recorded(1, "run:r1", 1, NOW, run_queued())
    with event_store.writing(ledger) as db:
        record(db, runs.runs, queued, state=RunState.QUEUED, queued_at=NOW, board_id="b", rank=1, serial=1)
        new = runs.get(db, RUN)
        change(db, runs.runs, {"run_id": RUN}, ended_at=NOW, last_line="It is done.")
        record(db, runs.runs, queued, state=RunState.QUEUED, queued_at=NOW, board_id="b", rank=1, serial=1)
        assert (runs.get(db, RUN), new is None) == (new, False)


def test_a_column_with_a_default_takes_it(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        record(db, plans.plans, PROPOSED, state="proposed")
        keep(db, observations.observations, {"run_id": RUN}, {"denied": 1})
        plan, observation = plans.newest(db, RUN), observations.get(db, RUN)
    assert plan == PlanRow(RUN, 1, "Do it", ("a",), "proposed", NOW, "", "")
    assert observation == observations.ObservationRow(RUN, denied=1)
