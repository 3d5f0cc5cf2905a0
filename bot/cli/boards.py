"""`cardinal boards`: the boards that this ledger's hosts work for."""

import os
from pathlib import Path

import click

from bot.admin import boards as served
from bot.admin.setup.errors import MissingWishError
from bot.bootstrap import Services, open_services
from bot.cli import _home
from bot.cli._described import CommandGroup
from bot.cli._show import clean, json_option, show, table
from bot.cli.init import REPOSITORY
from bot.state import served_boards
from bot.state.served_boards import ServedBoard
from bot.system.setting_types import BoardAddress, board_address
from ledger.views import boards, runs

HEADS = ("board", "title", "policy in", "weight", "runs")
MAX_WEIGHT = 100


class BoardParameter(click.ParamType[BoardAddress]):
    """A board's address, as OWNER/NUMBER."""

    name = "board"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> BoardAddress:
        """Return the address; ends with a sentence for other words."""
        address = board_address(str(value))
        if not address:
            self.fail(f"{clean(str(value))} is not a board: write OWNER/NUMBER, such as acme/1", param, ctx)
        return address


@click.group("boards", cls=CommandGroup)
def command() -> None:
    """List the boards that Cardinal serves; add or remove one."""


@command.command("list")
@json_option
def _list(as_json: bool) -> None:
    """List the boards, each with its policy's repository, its weight, and its active runs.

    While several boards are waiting for workers, each gets a share in proportion to its weight.

    \b
    Example:
      cardinal boards list --json
    """
    config = _home.settings()
    with _home.open_for_reading() as db:
        known = {row.board_id: row for row in boards.list_served(db)}
        documents = [
            {
                "board": str(board.address),
                "title": known[board.board_id].title if board.board_id in known else "",
                "policy_repository": board.home_repository,
                "weight": board.weight,
                "runs": len(runs.list_held(db, board.board_id)) if board.board_id else 0,
            }
            for board in served_boards.all_served(db, config)
        ]
    rows = (tuple(str(word) for word in document.values()) for document in documents)
    show(documents, as_json=as_json, text=lambda: table(HEADS, rows, empty="no boards are served yet"))


@command.command("add")
@click.argument("board", type=BoardParameter(), metavar="OWNER/NUMBER")
@click.option(
    "--policy-repository", "home", default="", help="Repository with the policy file.  [default: OWNER/board]"
)
@click.option(
    "--weight", type=click.IntRange(1, MAX_WEIGHT), default=1, show_default=True, help="Its share of workers."
)
@json_option
def _add(board: BoardAddress, home: str, weight: int, as_json: bool) -> None:
    """Serve another board, or change the settings of one.

    The App must be installed on its owner. All hosts of this ledger work for it from then on.

    \b
    Examples:
      cardinal boards add acme/2
      cardinal boards add acme/2 --weight 3
    """
    if home and not REPOSITORY.fullmatch(home):
        raise MissingWishError("--policy-repository needs an owner and a name, such as acme/board")
    served_board = ServedBoard(*board, home, weight=weight)
    with _services() as services:
        served.add_board(services, served_board)
    about = {"board": str(board), "policy_repository": served_board.home_repository, "weight": weight}
    said = f"Cardinal serves {board}; its policy is in {served_board.home_repository}"
    show(about, as_json=as_json, text=lambda: (said,))


@command.command("remove")
@click.argument("board", type=BoardParameter(), metavar="OWNER/NUMBER")
@json_option
def _remove(board: BoardAddress, as_json: bool) -> None:
    """Stop serving a board. Its cards stay as they are; queued runs are not started.

    \b
    Example:
      cardinal boards remove acme/2
    """
    with _services() as services:
        served.remove_board(services, board)
    show({"removed": str(board)}, as_json=as_json, text=lambda: (f"Cardinal no longer serves {board}",))


def _services() -> Services:
    _home.settings().require_github()
    return open_services(os.environ, Path.cwd())
