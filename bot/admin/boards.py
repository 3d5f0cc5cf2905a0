"""Boards added to those that Cardinal serves, and removed from them."""

from bot.bootstrap import Services
from bot.reactor import reactor
from bot.state.served_boards import ServedBoard, UnservedBoardError
from bot.sync import board as board_sync
from bot.system.setting_types import BoardAddress
from ledger.errors import CardinalError
from ledger.events.board import BoardRemoved, BoardServed
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.views import boards, runs
from rules.text import count


class BoardInUseError(CardinalError):
    """The board cannot be removed yet; `because` has the reason and the first step."""

    def __init__(self, address: BoardAddress, because: str) -> None:
        super().__init__(f"{address} cannot be removed: {because}")


def add_board(services: Services, board: ServedBoard) -> BoardId:
    """Serve the board from now on, or change its policy's repository and its weight; return its id.

    Raises a GithubError where the App cannot read it, and StatusMissingError without the field Status.
    """
    services = services.on(board)
    board_id = board_sync.serve_board(services)
    with event_store.writing(services.engine) as db:
        known_board = boards.get(db, board_id)
        if known_board and (known_board.policy_repository, known_board.weight) != (
            board.policy_repository,
            board.weight,
        ):
            event = BoardServed(board_id, board.policy_repository, board.weight)
            reactor.append_and_react(db, event, now=services.now())
    board_sync.load_policy(services, board_id)
    return board_id


def remove_board(services: Services, address: BoardAddress) -> None:
    """Serve the board no more. Raises UnservedBoardError, and BoardInUseError while runs work there."""
    with event_store.writing(services.engine) as db:
        board = boards.at(db, *address)
        if board is None or not board.served:
            raise UnservedBoardError(str(address))
        if ServedBoard(*address).is_configured(services.config):
            raise BoardInUseError(
                address, "CARDINAL_BOARD names it: change that to another served board first"
            )
        at_work = runs.list_held(db, board.board_id)
        if at_work:
            because = (
                f"{count(len(at_work), 'run')} still active there: `cardinal runs` lists them; wait for "
                "them, or cancel them"
            )
            raise BoardInUseError(address, because)
        reactor.append_and_react(db, BoardRemoved(board.board_id), now=services.now())
