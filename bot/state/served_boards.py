"""The boards that Cardinal works for: data of the ledger; the first one is named in the settings."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine

from bot.system.config import Config
from bot.system.setting_types import BoardAddress
from ledger.errors import CardinalError
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.views import boards
from ledger.views.boards import BoardRow

if TYPE_CHECKING:  # commands read the boards without a client of GitHub
    from bot.github.client import Hub


class OtherBoardError(CardinalError):
    """The settings name a board that the ledger does not serve."""

    def __init__(self, named: BoardAddress, there: Iterable[BoardRow]) -> None:
        known = ", ".join(board.address for board in there)
        super().__init__(
            f"this ledger serves {known}, and CARDINAL_BOARD names {named}: correct it, or add that "
            f"board to this ledger with `CARDINAL_BOARD={known.split(', ')[0]} cardinal boards add "
            f"{named}`"
        )


class UnservedBoardError(CardinalError):
    """Cardinal does not work for this board, or not any more."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Cardinal does not serve the board {name}: `cardinal boards list` names those it serves"
        )


class NoBoardChosenError(CardinalError):
    """Something about one board was to be done before it was chosen: a bug."""

    def __init__(self) -> None:
        super().__init__("no board was chosen for this: please report it, with the log")


@dataclass(frozen=True, slots=True)
class ServedBoard:
    """A board that Cardinal works for, by its address; `board_id` is None before its first reading, `title`
    empty.

    `policy_repository` is owner/name where it was named, `home_repository` wherever the policy is.
    """

    owner: str
    number: int
    policy_repository: str = ""
    board_id: BoardId | None = None
    weight: int = 1
    title: str = ""

    @property
    def address(self) -> BoardAddress:
        return BoardAddress(self.owner, self.number)

    @property
    def home_repository(self) -> str:
        """The repository of the policy file, as owner/name."""
        return self.policy_repository or f"{self.owner}/board"

    def is_at(self, owner: str, number: int) -> bool:
        """Tell whether that is the board's address; logins differ in case only."""
        return (self.owner.casefold(), self.number) == (owner.casefold(), number)

    def is_configured(self, config: Config) -> bool:
        return self.is_at(*config.board)


def read_configured_board(config: Config) -> ServedBoard:
    return ServedBoard(*config.board, config.policy_repository)


def all_served(db: Connection, config: Config) -> tuple[ServedBoard, ...]:
    """Return all boards, that of the settings first, even before its first reading."""
    served_board, others = read_configured_board(config), list[ServedBoard]()
    for row in boards.all_boards(db):
        board = _of_row(row)
        if board.is_configured(config):
            served_board = replace(board, policy_repository=config.policy_repository)
        elif row.served:
            others.append(board)
    return (*((served_board,) if config.board else ()), *others)


def get(db: Connection, config: Config, board_id: BoardId) -> ServedBoard | None:
    """Return the board; None where Cardinal does not serve it."""
    row = boards.get(db, board_id)
    if row is None or row.removed:
        return None
    board = _of_row(row)
    if board.is_configured(config):
        return replace(board, policy_repository=config.policy_repository)
    return board if row.served else None


def require_board(db: Connection, config: Config, board_id: BoardId) -> ServedBoard:
    """Return the board. Raises UnservedBoardError where Cardinal does not serve it."""
    board = get(db, config, board_id)
    if board is None:
        row = boards.get(db, board_id)
        raise UnservedBoardError(row.address if row else board_id)
    return board


def hub_of(engine: Engine, config: Config, hub: "Hub", repository: str) -> "Hub":
    """Return GitHub as the installation at the repository's owner, if a board is served there."""
    owner = repository.partition("/")[0].casefold()
    with event_store.reading(engine) as db:
        owners = {board.owner.casefold() for board in all_served(db, config)}
    return hub.at(owner) if owner in owners else hub


def _of_row(row: BoardRow) -> ServedBoard:
    return ServedBoard(row.owner, row.number, row.policy_repository, row.board_id, row.weight, row.title)


def refuse_another(db: Connection, config: Config) -> None:
    """Raise OtherBoardError where the ledger serves boards, and the settings name none of them."""
    served = boards.list_served(db)
    served_board = read_configured_board(config)
    if config.board and served and not any(served_board.is_at(row.owner, row.number) for row in served):
        raise OtherBoardError(config.board, served)
