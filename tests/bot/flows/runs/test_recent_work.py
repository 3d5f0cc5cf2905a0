"""An agent is told of its own recent work where the policy asks for it: none that a reader may not see."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from bot.runspec import briefing
from ledger.event import Event
from ledger.events.board import BoardSeen, CardSeen
from ledger.events.run import FinalReported, RunClaimed, RunEnded, RunQueued
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.states import CardState, Ending, RunKind
from ledger.views import cards
from tests.ledger.samples import BOARD, NOW, board_seen
from tests.ledgers import new_ledger

SHOP = "acme/shop"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Return a ledger with finished work of several agents in several places, and a run that begins."""
    made = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    other = BoardSeen(BoardId("PVT_2"), "acme", 2, "Other", "F", (), ())
    with event_store.writing(made) as db:
        event_store.append(db, board_seen(), other, at=NOW)
        begun = (
            *done(1),
            *done(2, played_by="@prober"),
            *done(3, works_in="acme/secret"),
            *done(4, repository="acme/secret"),
            *done(5, repository="acme/secret", works_in=SHOP),
            *done(6, board_id="PVT_2"),
            *done(7, agent="codex"),
            *done(8, played_by="@prober"),
            *done(9),
            *done(10, kind=RunKind.CHECK),
            *begins(20),
        )
        event_store.append(db, *begun, at=NOW)
    return made


def begins(number: int, **known: Any) -> tuple[Event, ...]:
    """Return the events of a card whose run is queued."""
    wanted: dict[str, Any] = {"repository": SHOP, "works_in": "", "board_id": BOARD, "agent": "claude"}
    wanted |= {"played_by": "", "kind": "first", "recent": 3, **known}
    card = CardId(f"c{number}")
    place, title = wanted["repository"], f"Card <b>{number}</b>"
    seen = CardSeen(
        card, BoardId(wanted["board_id"]), f"I{number}", place, number, title, "Body", "ann", "In Progress",
        CardState.QUEUED, (),
    )  # fmt: skip
    queued = RunQueued(
        run_id=RunId(f"r{number}"), card_id=card, attempt=1, kind=wanted["kind"], column="In Progress",
        repository=wanted["works_in"] or place, branch="b", agent=wanted["agent"], by="ann", session_id="",
        settings=f'{{"recent_work": {wanted["recent"]}}}', plan_required=False, played_by=wanted["played_by"],
    )  # fmt: skip
    return seen, queued


def done(number: int, **known: Any) -> tuple[Event, ...]:
    """Return the events of a card whose run has ended."""
    run_id = RunId(f"r{number}")
    report = FinalReported(run_id, f"Did {number}.", (), (), ())
    ended = RunEnded(run_id, Ending.SUCCEEDED, "", "", "working")
    return (*begins(number, **known), RunClaimed(run_id, 1, "w"), report, ended)


def told(engine: Engine, number: int = 20) -> list[str]:
    with event_store.reading(engine) as db:
        card = cards.get(db, CardId(f"c{number}"))
        assert card is not None
        found = briefing.source(db, card, RunId(f"r{number}"), author_trusted=True).recent
    assert all(work.title.startswith("Card") and work.ending == "succeeded" for work in found)
    return [f"{work.name} {work.report}" for work in found]


def happens(engine: Engine, *events: Event) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, *events, at=NOW)


def test_it_is_the_same_agents_work_in_the_same_repository_of_the_same_board(engine: Engine) -> None:
    assert told(engine) == ["acme/shop#1 Did 1.", "acme/shop#9 Did 9."]
    happens(engine, *begins(21, played_by="@prober"))
    assert told(engine, 21) == ["acme/shop#2 Did 2.", "acme/shop#8 Did 8."]


@pytest.mark.parametrize(("recent", "numbers"), [(0, []), (1, [9]), (10, [1, 9]), (-1, []), (10**6, [1, 9])])
def test_it_is_as_much_as_the_column_asks_for_the_newest_last(
    engine: Engine, recent: int, numbers: list[int]
) -> None:
    happens(engine, *begins(21, recent=recent))
    assert told(engine, 21) == [f"acme/shop#{number} Did {number}." for number in numbers]


@pytest.mark.parametrize(
    "known", [{"works_in": "acme/secret"}, {"repository": "acme/secret", "works_in": SHOP}]
)
def test_a_run_that_writes_in_two_repositories_is_told_of_none(engine: Engine, known: dict[str, str]) -> None:
    happens(engine, *begins(21, **known))
    assert told(engine, 21) == []
