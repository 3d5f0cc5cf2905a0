"""A ledger with a past: events are appended and the rows that texts are made of are read back."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from bot.outbox.targets import story_of
from bot.render.run.story import Story
from ledger.event import Event
from ledger.events.board import BoardSeen, CardSeen, Column, Field
from ledger.events.policy import PolicyLoaded
from ledger.events.run import PlanProposed, RunClaimed, RunQueued, RunStepped
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.rows.cards import CardRow
from ledger.states import CardState, RunKind, RunState
from ledger.views import cards

BOARD, CARD, RUN = BoardId("PVT_1"), CardId("PVTI_1"), RunId("r1")
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = '{"archetype": "execution", "budget_usd": 2.0, "timeout_minutes": 30, "reviewers": ["bob"]}'
COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "Done")
R = RunState


class Past:
    """What happened so far; each append is a second after the one before."""

    def __init__(self, engine: Engine, now: datetime = START) -> None:
        self.engine, self.now = engine, now

    def __call__(self, *events: Event) -> None:
        with event_store.writing(self.engine) as db:
            event_store.append(db, *events, at=self.now)
        self.now += timedelta(seconds=1)

    def board(self, board_id: BoardId = BOARD, fields: tuple[Field, ...] = (), **ids: str) -> None:
        columns = tuple(Column(ids.get(name, f"o-{name}"), name, "") for name in COLUMNS)
        self(BoardSeen(board_id, "acme", 1, "Board", ids.get("status", "F1"), columns, fields))
        self(PolicyLoaded(board_id, "d" * 64, "", ""))

    def card(self, card_id: CardId = CARD, *, board_id: BoardId = BOARD, **changes: object) -> None:
        known: dict[str, object] = {
            "content_id": "I_1",
            "repository": "acme/shop",
            "number": 7,
            "title": "Totals are wrong",
            "body": "They should add up.",
            "author": "alice",
            "column": "In Progress",
            "state": CardState.QUEUED,
        }
        self(CardSeen(card_id=card_id, board_id=board_id, **{**known, **changes}))  # type: ignore[arg-type]

    def run(
        self,
        run_id: RunId = RUN,
        *,
        attempt: int = 1,
        kind: RunKind = RunKind.FIRST,
        card_id: CardId = CARD,
        mode: str = "fix",
    ) -> None:
        self(
            RunQueued(
                run_id,
                card_id,
                attempt,
                kind,
                "In Progress",
                "acme/shop",
                "cardinal/7-totals",
                "scripted",
                "alice",
                "",
                SETTINGS,
                True,
                mode=mode,
            )
        )

    def step(self, *states: RunState, run_id: RunId = RUN, before: RunState = R.CLAIMED) -> None:
        if before is R.CLAIMED:
            self(RunClaimed(run_id, 1, "w1"))
        for after in states:
            self(RunStepped(run_id, before, after))
            before = after

    def planned(self, *steps: str, run_id: RunId = RUN) -> None:
        """Bring a queued run to where it waits for its plan's approval."""
        self.step(R.PREPARING, R.PLANNING, run_id=run_id)
        self(PlanProposed(run_id, 1, "Add the missing tax.", steps or ("Write a test", "Fix the sum")))
        self.step(R.AWAITING_APPROVAL, run_id=run_id, before=R.PLANNING)

    def story(self, run_id: RunId = RUN) -> Story:
        with event_store.reading(self.engine) as db:
            return story_of(db, run_id, "")

    def row(self, card_id: CardId = CARD) -> CardRow:
        with event_store.reading(self.engine) as db:
            found = cards.get(db, card_id)
        assert found is not None
        return found


def hours(count: float) -> timedelta:
    return timedelta(hours=count)
