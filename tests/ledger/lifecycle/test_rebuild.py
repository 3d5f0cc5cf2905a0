"""Views are nothing but folded events: dropping them loses nothing, and no event can break them."""

import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy import event as engine_event

from ledger import codec, views
from ledger.db.tables import VIEWS, EditionState
from ledger.errors import IllegalStepError
from ledger.event import Event
from ledger.events.artifact import ArtifactKept
from ledger.events.board import BoardHalted
from ledger.events.instruction import InstructionsStacked, LayerTold
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import MergeAwaited, PullChanged, PullOpened, ReviewSubmitted, Thread
from ledger.events.related import Blocker, CardProposed, LinksSeen
from ledger.events.run import BranchExported, RunClaimed, RunEnded, RunRequeued, RunStepped, UsageMetered
from ledger.events.schedule import ScheduleDue, ScheduleSet
from ledger.events.subscription import CardSubscribed
from ledger.ids import EntryKey, RunId
from ledger.lifecycle.again import fold_again, view_shares
from ledger.lifecycle.edition import every
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.rebuild import rebuild
from ledger.lifecycle.upgrade import PAGE
from ledger.log import event_store
from ledger.states import Ending, PullState, RunState
from ledger.view_tables import AGAIN, groups, sources
from ledger.views.cards import cards
from tests.ledger.samples import (
    BOARD,
    CARD,
    NOW,
    RUN,
    any_event,
    board_seen,
    card_seen,
    later,
    random_events,
    run_queued,
)
from tests.warm import Warm


def contents(db: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every view, as stored."""
    return {
        name: sorted(map(tuple, db.execute(text(f"SELECT * FROM {table.name}"))), key=repr)
        for name, table in VIEWS.tables.items()
    }


def append_legal(engine: Engine, events: list[Event]) -> int:
    """Append the events that no check refuses, in one transaction; return how many those were."""
    count = 0
    with event_store.writing(engine) as db:
        for second, event in enumerate(events):
            try:
                event_store.append(db, event, at=later(second))
            except IllegalStepError:
                continue
            count += 1
    return count


@pytest.fixture(scope="module")
def one_ledger() -> Iterator[Engine]:
    """Return one ledger for all examples: a longer log is only a harder case."""
    with TemporaryDirectory() as folder:
        engine = open_ledger(f"sqlite:///{Path(folder)}/ledger.db")
        yield engine
        engine.dispose()


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
def test_replay_equals_increment(one_ledger: Engine, data: st.DataObject) -> None:
    events = [any_event(lambda options: data.draw(st.sampled_from(options))) for _ in range(12)]
    append_legal(one_ledger, [card_seen(), *events])
    with event_store.reading(one_ledger) as db:
        increment = contents(db)
    rebuild(one_ledger)
    with event_store.reading(one_ledger) as db:
        assert contents(db) == increment


def test_replay_equals_increment_over_every_kind(ledger: Engine) -> None:
    events: list[Event] = [board_seen(), card_seen(), run_queued(), RunClaimed(RUN, 1, "w1")]
    events.append(RunStepped(RUN, RunState.CLAIMED, RunState.PREPARING))
    times = 12 if ledger.dialect.name == "sqlite" else 3  # the folds are the same, and their statements
    # In the order of their names, what some need always comes too late; a new kind changes no other's place.
    every = [(kind, Random(f"{kind.__name__} {n}")) for kind in codec.kinds().values() for n in range(times)]
    every.sort(key=lambda one: one[1].random())
    events += [any_event(chance.choice, kind) for kind, chance in every]
    events += [run_queued("r8"), RunClaimed(RunId("r8"), 1, "w1"), RunRequeued(RunId("r8"), "reclaimed")]
    events += [run_queued("r9"), RunEnded(RunId("r9"), Ending.FAILED, "provider", "", "queued", cause="x")]
    events += [
        BoardHalted(BOARD, "provider", "No answer.", later(60), 0),
        PullOpened(CARD, "acme/shop", 7, "PR_7", "cardinal/7", "c0", False),
        PullChanged(CARD, 7, PullState.MERGED, False, "c0"),
        MergeAwaited(CARD, 7, "auto", "c0", ""),
        ArtifactKept(RUN, "check.log", "log", "d0", 5),
        ReviewSubmitted(CARD, 999, "bob", True, "approved", "", (Thread("t9", "a.py", 1, "why?"),), "c0"),
        InstructionsStacked(RUN, "d0", (LayerTold("system", "", "", "", "d0", False, "Work."),)),
        EntryGivenUp(CARD, EntryKey("say:9"), "say", "refused"),
        LinksSeen(CARD, (Blocker("acme/app", 6, "First", "open"),), 0, "acme/app#7"),
        ScheduleSet(BOARD, "nightly", "every day", later(60)),
        ScheduleDue(BOARD, "nightly", later(60), later(120)),
        CardSubscribed(CARD, "bob", RunId("")),
        CardProposed(RUN, 9, "More", "", ""),
        BranchExported(RunId("r8"), "cardinal/7", "b0", "c0", 1, 2, 1, ("a.py",)),
    ]
    count = append_legal(ledger, events)
    with event_store.reading(ledger) as db:
        kinds = {type(recorded.event) for recorded in event_store.read(db, limit=1000)}
        increment = contents(db)
    assert kinds == set(codec.kinds().values())
    assert rebuild(ledger) == count
    with event_store.reading(ledger) as db:
        assert contents(db) == increment
        empty = [name for name, rows in increment.items() if not rows]
    assert empty == []


@pytest.mark.parametrize("told", [1_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_thousands_of_random_events_fold_without_an_error(sqlite_ledger: Engine, told: int) -> None:
    count = append_legal(sqlite_ledger, random_events(seed=7, count=told))
    assert count > 0.8 * told
    with event_store.reading(sqlite_ledger) as db:
        increment = contents(db)
    assert rebuild(sqlite_ledger) == count
    with event_store.reading(sqlite_ledger) as db:
        assert contents(db) == increment


def test_events_about_what_was_never_seen_change_no_card_and_no_run(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        for kind in codec.kinds().values():
            if kind.__name__ not in ("CardSeen", "RunQueued"):
                event_store.append(db, any_event(lambda options: options[0], kind), at=later(1))
        rows = contents(db)
    assert (rows["view_cards"], rows["view_runs"]) == ([], [])


def test_views_folded_by_processes_are_those_of_the_increment(ledger: Engine, ledger_url: str) -> None:
    append_legal(ledger, [board_seen(), card_seen(), run_queued(), *random_events(2, 600)])
    with event_store.writing(ledger) as db:
        increment = contents(db)
        for table in VIEWS.tables.values():
            db.execute(table.delete())
    Warm(partial(fold_again, parallel_from=0, processes=2), ledger_url, print).finish()
    with event_store.reading(ledger) as db:
        assert contents(db) == increment


def test_views_that_depend_on_each_other_have_one_process() -> None:
    for processes in (1, 2, 64):
        shares = view_shares(processes)
        assert len(shares) <= processes
        assert sorted(name for share in shares for name in share) == list(views.names())
        for group in groups(sources(), tuple(f"ledger.views.{name}" for name in views.names())).values():
            mine = {name.rpartition(".")[2] for name in group if name.startswith("ledger.views.")}
            assert any(mine <= share for share in shares)
    assert len(view_shares(2)) == 2


def test_a_rebuild_that_was_killed_while_it_copied_begins_again(
    ledger: Engine, ledger_url: str, tmp_path: Path
) -> None:
    used = UsageMetered(RUN, 0.25, 9, 9, 1, 0.5)  # would count twice
    append_legal(ledger, [board_seen(), card_seen(), run_queued(), used, *random_events(seed=6, count=300)])
    with event_store.reading(ledger) as db:
        increment = contents(db)
    files = {**os.environ, "TMPDIR": str(tmp_path)}
    killed = Warm(die_copying, ledger_url, env=files)
    assert killed.wait(60) == -signal.SIGKILL
    killed.close()
    with event_store.reading(ledger) as db:
        (beside,) = (row for row in every(db) if row.state is EditionState.FOLDING)
        copied = db.scalar(text(f"SELECT count(*) FROM {VIEWS.tables['view_cards'].name}_{AGAIN}"))
        assert (contents(db), beside.position, copied) == (increment, 0, len(increment["view_cards"]))
    assert [*tmp_path.glob("cardinal-rebuild-*")]
    Warm(partial(fold_again, parallel_from=0), ledger_url, print, env=files).finish()
    with event_store.reading(ledger) as db:
        assert contents(db) == increment
    assert not [*tmp_path.glob("cardinal-rebuild-*")], "nor does what the killed one left stay"


def die_copying(url: str) -> None:
    """Rebuild, and be killed once all views are folded and most of them are copied."""

    def watch(_db: Connection, _cursor: object, statement: str, *_rest: object) -> None:
        if statement.startswith("SELECT view_waits"):
            os.kill(os.getpid(), signal.SIGKILL)

    engine_event.listen(Engine, "before_cursor_execute", watch)
    fold_again(url, print, parallel_from=0)


def fold_nowhere(url: str) -> None:
    tempfile.tempdir = "/dev/null/nowhere"
    fold_again(url, print, parallel_from=0)


def fold_in_little_room(url: str) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    fold_again(url, print, parallel_from=0, processes=2)


@pytest.mark.parametrize(
    ("ledger_url", "fold"),
    [("sqlite", fold_nowhere), ("postgresql", fold_nowhere), ("postgresql", fold_in_little_room)],
    indirect=["ledger_url"],
)
def test_a_rebuild_without_room_for_files_is_done_by_one_process(
    ledger: Engine, ledger_url: str, fold: Callable[[str], None]
) -> None:
    append_legal(ledger, [board_seen(), card_seen(), *random_events(seed=9, count=200)])
    with event_store.writing(ledger) as db:
        increment = contents(db)
        db.execute(VIEWS.tables["view_cards"].delete())
    said = Warm(fold, ledger_url).finish()
    assert "in files below TMPDIR" in said
    assert "Traceback" not in said
    with event_store.reading(ledger) as db:
        assert contents(db) == increment


def fold_on_demand(url: str) -> None:
    """Rebuild; after each page wait for a line."""

    def page(position: int, _last: int) -> None:
        print(position)
        sys.stdin.readline()

    fold_again(url, page)


def test_a_rebuild_that_another_overtook_folds_once_more(ledger: Engine, ledger_url: str) -> None:
    append_legal(ledger, [board_seen(), card_seen(), *random_events(seed=8, count=300)])
    with event_store.reading(ledger) as db:
        increment = contents(db)
    first = Warm(fold_on_demand, ledger_url)  # its tables are there, and its indexes
    first.stdout.readline()
    Warm(fold_again, ledger_url, print).finish()
    first.finish()
    with event_store.reading(ledger) as db:
        assert contents(db) == increment


def test_a_database_has_the_indexes_that_are_for_it_and_takes_a_card_with_all_labels(ledger: Engine) -> None:
    labels = tuple(Random(n).randbytes(25).hex() for n in range(100))  # as many and as long as GitHub has
    with event_store.writing(ledger) as db:
        event_store.append(db, board_seen(), replace(card_seen(), labels=labels), at=NOW)
    rebuild(ledger)
    with event_store.reading(ledger) as db:
        names = {str(index["name"]).rsplit("_", 1)[0] for index in inspect(db).get_indexes(cards.name)}
    lists = {"view_cards_list", "view_cards_board"}
    assert names & lists == {"view_cards_" + ("list" if ledger.dialect.name == "sqlite" else "board")}


def test_every_file_of_the_folder_is_a_view() -> None:
    folder = Path(views.__file__).parent
    assert set(views.names()) == {file.stem for file in folder.glob("*.py")} - {"__init__"}
    assert len(views.parts()) == len(views.names())


def test_a_rebuild_goes_on_beside_the_work_and_after_a_kill(ledger: Engine, ledger_url: str) -> None:
    append_legal(ledger, random_events(seed=5, count=900))
    with event_store.writing(ledger) as db:
        whole = contents(db)
        db.execute(VIEWS.tables["view_cards"].delete())  # what a rebuild is for
    first = Warm(fold_again, ledger_url, print)
    assert first.stdout.readline().split()[0] == str(PAGE)
    first.kill()
    first.wait(60)
    first.close()
    append_legal(ledger, [card_seen("PVTI_77", 77)])
    for _ in range(2):  # names are free again for another
        folded = Warm(fold_again, ledger_url, print).finish()
    assert int(folded.split()[-1]) > 700
    with event_store.writing(ledger) as db:
        found = contents(db)
        assert len(found["view_cards"]) == len(whole["view_cards"]) + 1
    rebuild(ledger)
    with event_store.reading(ledger) as db:
        assert contents(db) == found
    names = inspect(ledger).get_table_names()
    assert {name for name in names if name.startswith("view_")} == {it.name for it in VIEWS.sorted_tables}
