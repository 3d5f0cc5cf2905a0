"""Context of an outbox act: ledger, configuration, clock, GitHub, and the board of the act."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, Engine

from bot.github.client import Hub
from bot.state import policies
from bot.state.served_boards import NoBoardChosenError, ServedBoard
from bot.system.clock import Clock
from bot.system.config import Config
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queue import outbox
from ledger.queue.outbox import Entry
from rules.policy.model import Policy


@dataclass(frozen=True, slots=True)
class OutboxContext:
    """The dependencies of a handler. It only reads the ledger, but for `begin`: the results of an act go back
    as events.

    `app` reaches GitHub as the App. No act is carried out before its board is chosen. `caps` are the lowest
    `points_per_hour` in the policies of each owner's boards, by login in lower case.
    """

    engine: Engine
    config: Config
    clock: Clock
    app: Hub
    chosen: ServedBoard | None = None
    caps: Mapping[str, int] = field(default_factory=dict)

    @property
    def board(self) -> ServedBoard:
        """The board of the act. Raises NoBoardChosenError: no board stands in for another."""
        if self.chosen is None:
            raise NoBoardChosenError
        return self.chosen

    @property
    def hub(self) -> Hub:
        """GitHub as the installation at the board's owner. Raises NoBoardChosenError."""
        return self.app.at(self.board.owner)

    def on(self, board: ServedBoard) -> "OutboxContext":
        return replace(self, chosen=board)

    def reading(self) -> AbstractContextManager[Connection]:
        return event_store.reading(self.engine)

    def begin(self, entry: Entry) -> None:
        """Record the start of a sending that nobody can look for later. Raises StaleClaimError."""
        with event_store.writing(self.engine) as db:
            outbox.begin(db, entry)

    def policy(self, board_id: BoardId) -> Policy:
        with self.reading() as db:
            return policies.in_force(db, board_id)
