"""The acts of this home's Cardinal on a card of the rehearsal, read from its ledger."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from bot.state import policies
from ledger.events.run import BESIDE
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.states import Ending, RunState
from ledger.views import boards, cards, runs
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy

CALM = ("inbox", "review")
SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class CardWatch:
    """One reading of a card: how many runs it had, the state of the newest one, and its pull request."""

    runs: int = 0
    state: RunState | None = None
    ending: Ending | None = None
    pull_number: int | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """The ledger of this home, and the board's address there. `is_up`: a Cardinal works with it now."""

    engine: Engine
    owner: str
    number: int
    is_up: bool

    def is_calm(self, column: str) -> bool:
        """Tell whether nothing happens to a card that comes into the column."""
        with event_store.reading(self.engine) as db:
            policy = self._policy(db)
        settings = policy.column(column) if policy else None
        return settings is None or (settings.archetype in CALM and not settings.on_entry)

    def scripted_column(self) -> str:
        """Return the column whose agent is the scripted one; empty for none."""
        return next((name for name, policy in self._columns("execution") if policy.agent == SCRIPTED), "")

    def last_column(self) -> str:
        """Return the column where a card is merged; empty for none."""
        merging = (
            name
            for name, column_policy in self._columns("terminal")
            if any(action.get("action") == "merge" for action in column_policy.entry_actions)
        )
        return next(merging, "")

    def of_card(self, card_id: CardId) -> CardWatch:
        """Return the card's runs and pull request as they are now."""
        with event_store.reading(self.engine) as db:
            card = cards.get(db, card_id)
            if card is None:
                return CardWatch()
            of_card = [run for run in runs.of_card(db, card_id) if run.kind not in BESIDE]
            newest = of_card[0] if of_card else None
        if newest is None:
            return CardWatch(pull_number=card.pull_number)
        return CardWatch(len(of_card), newest.state, newest.ending, card.pull_number)

    def _columns(self, archetype: str) -> Iterator[tuple[str, ColumnPolicy]]:
        with event_store.reading(self.engine) as db:
            policy = self._policy(db)
        columns = policy.board.columns if policy else {}
        yield from ((name, it) for name, it in columns.items() if it.archetype == archetype)

    def _policy(self, db: Connection) -> Policy | None:
        board = boards.at(db, self.owner, self.number)
        return policies.in_force(db, BoardId(board.board_id)) if board else None
