"""Events that make cards in place of the clock, by a schedule of the policy."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.ingest.facts import Fact, Resolution
from bot.reactor import scheduled_cards
from bot.state import policies, served_boards
from ledger.event import Event
from ledger.ids import BoardId
from ledger.log import event_store
from rules.policy.schedule import CardTrigger, trigger_at


@dataclass(frozen=True, slots=True)
class CardTriggered(Fact):
    """Something happened in the repository that a schedule may wait for.

    `event` and `at` make it the same one; `cause` ends the text of its cards.
    """

    repository: str
    event: str
    cause: str
    at: datetime

    def meets(self, trigger: CardTrigger) -> bool:
        raise NotImplementedError(trigger)

    def excludes(self, db: Connection, board_id: BoardId) -> bool:  # noqa: ARG002 -- overridden
        """Tell whether it makes no card of that board all the same."""
        return False

    def resolve(self, services: Services, resolution: Resolution) -> None:
        """Request the cards of all schedules that wait for it, each board's once."""
        with event_store.reading(services.engine) as db:
            waiting = [
                (board.board_id, name, schedule)
                for board in served_boards.all_served(db, services.config)
                if board.board_id and self.repository.partition("/")[0].casefold() == board.owner.casefold()
                for name, schedule in policies.in_force(db, board.board_id).board.schedule.items()
                if (trigger := trigger_at(schedule, board.home_repository, self.repository))
                and self.meets(trigger)
                and not self.excludes(db, board.board_id)
            ]

        def request(db: Connection) -> tuple[Event, ...]:
            now = services.now()
            for board_id, name, schedule in waiting:
                due = scheduled_cards.Due(self.at, self.at, self.event, self.cause)
                scheduled_cards.request_scheduled_card(db, board_id, name, schedule, due, now=now)
            return ()

        if waiting:
            resolution.makers.append(request)
