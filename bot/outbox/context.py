"""What an outward act may read besides its intent: the ledger, the settings, the policy, the time."""

from dataclasses import dataclass

from sqlalchemy import Engine

from bot.state import policies
from bot.system.clock import Clock
from bot.system.config import Config
from ledger.ids import BoardId
from ledger.log import event_store
from rules.policy.model import Policy


@dataclass(frozen=True, slots=True)
class OutboxContext:
    """Reads only; the results of an act go back as events."""

    engine: Engine
    config: Config
    clock: Clock

    def policy(self, board_id: BoardId) -> Policy:
        """Return the policy in force on the board; parsed once for each text."""
        with event_store.reading(self.engine) as db:
            return policies.in_force(db, board_id)
