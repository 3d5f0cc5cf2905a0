"""A home with a board told by events alone, and commands that run in it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine

from bot.cli import main
from bot.system.config import Config
from ledger.events import board as on_board
from ledger.events import run as of_run
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.states import CardState, Ending, RunKind, RunState
from rules.policy.model import default_policy

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
BOARD, CARD = BoardId("PVT_1"), CardId("PVTI_1")
HOSTILE = "Prices \x1b[2J\x1b]0;owned\x07 ‮desrever <b>"
Cardinal = Callable[..., Result]


@pytest.fixture
def cardinal(config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cardinal:
    """Run one command in a home of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, words, env={"CARDINAL_HOME": str(config.home)})


def card(number: int, title: str, state: CardState = CardState.DRAFT) -> on_board.CardSeen:
    """A card of acme/shop in In Progress."""
    place = ("acme/shop", number, title, "", "alice", "In Progress", state)
    return on_board.CardSeen(CardId(f"PVTI_{number}"), BOARD, f"I_{number}", *place)


def queued(run: str, number: int) -> of_run.RunQueued:
    """A first run of the card, as the default board has it."""
    settings = default_policy("acme/board").column("In Progress")
    assert settings is not None
    return of_run.RunQueued(
        run_id=RunId(run),
        card_id=CardId(f"PVTI_{number}"),
        attempt=1,
        kind=RunKind.FIRST,
        column="In Progress",
        repository="acme/shop",
        branch=f"cardinal/{number}",
        agent="scripted",
        by="alice",
        session_id="",
        settings=settings.to_json(),
        plan_required=True,
    )


@pytest.fixture
def story(engine: Engine) -> Engine:
    """A board with a failed card and one that waits in the queue, told by events alone."""
    columns = tuple(on_board.Column(f"o{name}", name, "") for name in ("Tasks", "In Progress"))
    events = (
        on_board.BoardSeen(BOARD, "acme", 1, "Shop board", "F_1", columns, ()),
        card(1, HOSTILE),
        card(2, "Idle"),
        on_board.CardStateChanged(CARD, CardState.DRAFT, CardState.QUEUED, "moved to In Progress"),
        queued("r1", 1),
        of_run.RunClaimed(RunId("r1"), 1, "w1"),
        of_run.RunStepped(RunId("r1"), RunState.CLAIMED, RunState.PREPARING),
        of_run.BriefingMade(RunId("r1"), "# Briefing\nYou are told this.", "d" * 64, ()),
        of_run.PlanProposed(RunId("r1"), 1, "Two steps", ("Read", "Write\x1b[31m")),
        of_run.CommandChecked(RunId("r1"), 1, "fast", "ruff check .", 1, 0.5, "e" * 64, "bad"),
        of_run.RunEnded(RunId("r1"), Ending.FAILED, "agent_error", "it crashed", "preparing"),
        on_board.CardStateChanged(CARD, CardState.QUEUED, CardState.FAILED, "the agent crashed"),
        on_board.StopOrdered(BOARD, "board", "acme/1", "alice"),
    )
    for number, event in enumerate(events):
        with event_store.writing(engine) as db:
            event_store.append(db, event, at=AT + timedelta(seconds=number))
    return engine


def printed(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
