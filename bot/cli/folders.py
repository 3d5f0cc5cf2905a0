"""`cardinal folders`: where runs work without a repository."""

import click

from bot.cli import _home
from bot.cli._show import answer_rows, json_option, show
from bot.web.api.operations import list_folders

READS = True
_HISTORY = ("run", "at", "files", "size_bytes", "restored_by")


@click.command("folders")
@click.argument("name", metavar="[FOLDER]", default="")
@click.option("--board", metavar="OWNER/NUMBER", default="", help="Only folders of this board.")
@json_option
def command(name: str, board: str, as_json: bool) -> None:
    """List the folders that live on, or the history of one.

    A folder keeps the files of cards whose column has `workspace: folder`. `cardinal folder` with a card and
    a run brings the card's folder back as that run left it.

    \b
    Examples:
      cardinal folders
      cardinal folders journal --board acme/1
    """
    answer = _home.run_operation(list_folders, {"board": board})
    if name:
        answer["folders"] = [folder for folder in answer["folders"] if folder["folder"] == name]
        history = [snapshot for folder in answer["folders"] for snapshot in folder["history"]]
        rows = answer_rows(history, _HISTORY, empty=f"no run has kept files in a folder {name} yet")
    else:
        empty = "no folders yet: a column with `workspace: folder` has one"
        rows = answer_rows(answer["folders"], list_folders.COLUMNS, empty=empty)
    show(answer, as_json=as_json, text=lambda: rows)
