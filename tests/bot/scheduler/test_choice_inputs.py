"""After an event that cannot matter the last answer stands, and is what a fresh look would find."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Engine, Table

from bot.scheduler import choice_inputs, dispatch
from ledger import codec
from ledger.db.tables import VIEW_PREFIX
from ledger.errors import IllegalStepError
from ledger.event import Event
from ledger.log import event_store
from tests.ledger.samples import NOW, any_event, board_seen, card_seen, run_queued
from tests.ledger.traced import traced
from tests.ledgers import new_ledger


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Return a ledger with four cards whose runs wait."""
    made = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    append(made, board_seen(), card_seen(), *(card_seen(f"PVTI_{n}", n) for n in (2, 3)), run_queued())
    append(made, *(run_queued(f"r{n}", f"PVTI_{n}") for n in (2, 3)))
    return made


def append(engine: Engine, *events: Event) -> bool:
    """Append the events; False, and nothing is appended, when a check refuses one of them."""
    try:
        with event_store.writing(engine) as db:
            event_store.append(db, *events, at=NOW)
    except IllegalStepError:
        return False
    return True


def ready(engine: Engine) -> tuple[dispatch.ReadyRun, ...]:
    return dispatch.ready_runs(engine, now=NOW, slots=2)


def fresh(engine: Engine) -> tuple[dispatch.ReadyRun, ...]:
    """Return what a process without a last answer finds; it may record reasons."""
    other = new_ledger(str(engine.url))
    try:
        return ready(other)
    finally:
        other.dispose()


def picked(seed: int) -> Callable[[type[Event] | None], Event]:
    chance = Random(seed)
    return lambda kind: any_event(chance.choice, kind)


def test_the_kept_answer_is_that_of_a_fresh_look_whatever_happens(engine: Engine) -> None:
    make, chance = picked(7), Random(7)
    # A policy that nobody can read comes last: after it every event changes the reasons.
    unreadable = ("PolicyLoaded", "PolicyRejected")
    kinds = sorted(codec.kinds().keys() - {*unreadable})
    idle = [kind for kind in kinds if not choice_inputs.matters(kind)]
    drawn = [chance.choice(idle if turn % 2 else kinds) for turn in range(80)]
    stood = 0
    for kind in (*drawn, *unreadable):
        before = dispatch.last_answer(engine)
        append(engine, make(codec.kinds()[kind]))
        assert ready(engine) == fresh(engine)
        stood += dispatch.last_answer(engine) is before
    assert stood > 30


def test_what_cannot_matter_changes_neither_answer_nor_reasons(engine: Engine) -> None:
    for _ in range(3):
        ready(engine)  # its reasons are events, too
    standing, make = dispatch.last_answer(engine), picked(3)
    assert standing is not None
    for kind in (kind for kind in codec.kinds().values() if not kind.affects_dispatch):
        append(engine, *(make(kind) for _ in range(8)))
        assert dispatch.last_answer(engine) is standing
        assert ready(engine) == standing[1]
        with event_store.reading(engine) as db:
            count = event_store.last_seq(db)
        assert fresh(engine) == standing[1], kind
        with event_store.reading(engine) as db:
            assert event_store.last_seq(db) == count, f"after {kind} a fresh look records other reasons"


def test_the_choice_reads_no_view_but_those_that_are_named(engine: Engine) -> None:
    for _ in range(3):
        ready(engine)  # its reasons are events, and recorded by now
    with traced(engine) as statements:
        dispatch.ready_runs(engine, now=NOW + timedelta(days=1), slots=2)
    read = set(re.findall(rf"\b{VIEW_PREFIX}\w+", "\n".join(statements)))
    declared = {
        table.name
        for view in choice_inputs.SOURCES
        for table in vars(view).values()
        if isinstance(table, Table)
    }
    assert read
    assert read <= declared


def test_after_very_many_events_all_is_chosen_anew(engine: Engine) -> None:
    ready(engine)
    make = picked(1)
    events = [make(codec.kinds()["AgentSaid"]) for _ in range(choice_inputs.MAX_EVENTS)]
    append(engine, *events[:-1])
    with event_store.reading(engine) as db:
        seq = event_store.last_seq(db)
        assert not choice_inputs.choice_changed(db, after=seq - len(events) + 1)
    append(engine, events[-1])
    with event_store.reading(engine) as db:
        assert choice_inputs.choice_changed(db, after=seq - len(events) + 1)


def test_a_kind_of_newer_code_matters() -> None:
    assert choice_inputs.matters("RunTeleported")
