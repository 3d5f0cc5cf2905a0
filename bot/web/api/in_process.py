"""Operations of the API in this process, for the operator: they see all, and GitHub is not asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from bot.system.clock import utc_now
from bot.system.config import Config
from bot.web.api.operation import ApiRequest
from bot.web.site.visibility import VisibleBoard, VisibleLedger
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queue.sign_ins import SignIn
from ledger.views import boards

OPERATOR = "operator"


class AllRights:
    """The rights of whoever can read the ledger's file."""

    def may(self, _visit: SignIn, _names: frozenset[str], _since: datetime) -> bool:
        """Say yes, also to a draft, which is about no repository."""
        return True

    def readable(self, _visit: SignIn, since: Mapping[str, datetime]) -> frozenset[str]:
        """Return all of them."""
        return frozenset(since)

    def writes(self, _visit: SignIn, _repository: str) -> bool:
        """Say yes."""
        return True

    def must_be_able_to_ask(self, _visit: SignIn) -> None:
        """Nothing is asked."""


class WholeBoard(VisibleBoard):
    """A board with all its cards."""

    @property
    def scope(self) -> CardScope:
        """All cards."""
        return CardScope(self.board_id)


@dataclass(frozen=True, slots=True)
class WholeLedger(VisibleLedger):
    """The ledger as the operator sees it: boards that Cardinal does not serve any more, too."""

    def boards_of(self, _visit: SignIn) -> tuple[VisibleBoard, ...]:
        """Return all boards."""
        with event_store.reading(self.engine) as db:
            return tuple(
                WholeBoard(
                    row.board_id,
                    row.owner,
                    row.number,
                    row.title,
                    frozenset(lanes.repositories_ever(db, row.board_id)),
                    home=True,
                )
                for row in boards.all_boards(db)
            )


def operators_request(config: Config, engine: Engine) -> ApiRequest:
    """Return the operator's request about a ledger."""
    site, visit = WholeLedger(config, engine, utc_now, AllRights()), SignIn(0, OPERATOR, utc_now())
    return ApiRequest(site, visit, is_operators=True)
