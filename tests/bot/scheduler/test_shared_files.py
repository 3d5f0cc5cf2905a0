"""A card whose files another card changes says so, and waits where the policy says so."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from bot.reactor import reactor
from bot.scheduler import dispatch
from ledger.event import Event
from ledger.events.policy import PolicyLoaded
from ledger.events.pull import PullChanged, PullOpened
from ledger.events.run import BranchExported, RunClaimed, RunEnded, RunStepped
from ledger.events.stage import SnapshotTaken
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import run_queue
from ledger.queue import outbox
from ledger.states import Ending, PullState, Reason, RunState
from tests.ledger.samples import BOARD, NOW, board_seen, card_seen, run_queued
from tests.ledgers import new_ledger

TEXT = "version: 1\nboard: {{overlap: {}, columns: {{In Progress: {{archetype: execution}}}}}}"
A, B = CardId("c1"), CardId("c2")


def changed(run: str, *files: str) -> BranchExported:
    return BranchExported(RunId(run), f"cardinal/{run}", "b" * 40, "a" * 40, len(files), 9, 1, files)


def ended(run: str) -> RunEnded:
    return RunEnded(RunId(run), Ending.FAILED, "validation", "red", "validating")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")


def happen(engine: Engine, *events: Event) -> None:
    with event_store.writing(engine) as db:
        reactor.append_and_react(db, *events, now=NOW)


def begin(engine: Engine, rule: str) -> None:
    """Card A has an open pull request; card B's first run failed, and its second one waits."""
    happen(engine, board_seen(), PolicyLoaded(BOARD, "d", TEXT.format(rule), ""))
    happen(engine, card_seen(A, 1), card_seen(B, 2), run_queued("r1", A), run_queued("r2", B))
    happen(engine, *(RunClaimed(RunId(run), 1, "w") for run in ("r1", "r2")))
    happen(
        engine,
        changed("r1", "cart.py", "README"),
        PullOpened(A, "acme/app", 9, "P", "cardinal/r1", "h", False),
    )
    happen(engine, changed("r2", "cart.py", "tax.py"), ended("r1"), ended("r2"))
    happen(engine, run_queued("r3", B, 2))


def starts(engine: Engine) -> list[RunId]:
    return [ready_run.run_id for ready_run in dispatch.ready_runs(engine, now=NOW, slots=4)]


def comments(engine: Engine, card: CardId) -> list[str]:
    with event_store.reading(engine) as db:
        return [entry.key for entry in outbox.open_of_card(db, card) if ":overlap:" in entry.key]


def test_it_waits_until_the_other_is_merged(engine: Engine) -> None:
    begin(engine, "wait")
    assert starts(engine) == []
    with event_store.reading(engine) as db:
        because, code = run_queue.reasons_of(db, [B])[B]
    assert code is Reason.DEPENDENCY
    assert because.startswith("pull request #9 changes `cart.py` as well: it waits until that is merged")
    assert dispatch.claim_run(engine, RunId("r3"), worker="w", now=NOW, ttl_s=60, slots=4) is None
    happen(engine, PullChanged(A, 9, PullState.MERGED, False, "h"))
    assert starts(engine) == ["r3"]


def test_it_starts_and_the_card_says_so_once(engine: Engine) -> None:
    begin(engine, "warn")
    assert starts(engine) == ["r3"]
    happen(engine, RunClaimed(RunId("r3"), 1, "w"), changed("r3", "cart.py"), changed("r3", "cart.py", "x"))
    assert comments(engine, B) == ["say:c2:overlap:r2:#9", "say:c2:overlap:r3:#9"]
    assert comments(engine, A) == []


def test_the_end_of_a_stage_makes_files_known(engine: Engine) -> None:
    begin(engine, "warn")
    happen(engine, card_seen("c3", 3), run_queued("r4", "c3"), RunClaimed(RunId("r4"), 1, "w"))
    happen(engine, RunStepped(RunId("r4"), RunState.CLAIMED, RunState.PREPARING))
    event = SnapshotTaken(RunId("r4"), "implement", 1, "done", ("README",), 0, (), (), (), "h")
    happen(engine, event)
    assert comments(engine, CardId("c3")) == ["say:c3:overlap:r4:#9"]
