"""`cardinal boards`: the boards that this ledger's hosts work for."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli import _home
from bot.cli._described import CommandGroup
from bot.cli._show import answer_rows, clean, json_option, show
from bot.state.served_boards import ServedBoard
from bot.system.setting_types import BoardAddress, board_address
from bot.web.api.operations import list_boards

if TYPE_CHECKING:  # the list does not wait for GitHub's client
    from bot.bootstrap import Services

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
    answer = _home.run_operation(list_boards, {})
    rows = answer_rows(answer["boards"], list_boards.COLUMNS, empty="no boards are served yet")
    show(answer, as_json=as_json, text=lambda: rows)


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
    from bot.admin import boards as served
    from bot.admin.setup.errors import MissingWishError
    from bot.cli.init import REPOSITORY

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
    from bot.admin import boards as served

    with _services() as services:
        served.remove_board(services, board)
    show({"removed": str(board)}, as_json=as_json, text=lambda: (f"Cardinal no longer serves {board}",))


def _services() -> "Services":
    from bot.bootstrap import open_services

    _home.settings().require_github()
    return open_services(os.environ, Path.cwd())
