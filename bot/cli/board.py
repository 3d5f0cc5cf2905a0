"""`cardinal board`: the board as Cardinal sees it."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import click

from bot.cli import _home
from bot.cli._show import answer_rows, clean, filter_options, json_option, show
from bot.state import card_filters
from bot.web.api.jobs import JobFilter
from bot.web.api.operation import check_fields
from bot.web.api.operations import show_board
from ledger.log import event_store
from ledger.views import boards

COLUMNS = ("job", "state", "run", "title", "why")
READS = True


@click.command("board")
@click.option("--column", help="Only this column.")
@filter_options
@click.option(
    "--limit", type=click.IntRange(1, show_board.MAX_LISTED), default=show_board.TEXT_LISTED,
    show_default=True, help="Most cards to list in each column.",
)  # fmt: skip
@click.option("--markdown", is_flag=True, help="Print it as one Markdown document.")
@json_option
def command(column: str | None, limit: int, markdown: bool, as_json: bool, **given: str | None) -> None:
    """Print the columns with their cards.

    Each card is shown with its state and why it is waiting. Cards that need someone come first in their
    column. Below are the queues, with the reason each run is waiting.

    \b
    Examples:
      cardinal board
      cardinal board --column Review --label bug
    """
    with _home.open_request() as request:
        visible_boards = request.boards
        with event_store.reading(request.site.engine) as db:
            names = {it.board_id: tuple(known.name for known in it.columns) for it in boards.all_boards(db)}
            if column is not None and not any(column in of_board for of_board in names.values()):
                raise card_filters.unknown_word("column", column, dict.fromkeys(chain(*names.values())))
            # What one board knows narrows the others to nothing.
            job_filter = check_fields(JobFilter, {name: it for name, it in given.items() if it is not None})
            jobs = job_filter.read_filter(db, [board.scope for board in visible_boards])
        described = [
            show_board.describe_board(request, board, jobs, column=column or "", limit=limit)
            for board in visible_boards
            if column is None or column in names[board.board_id]
        ]
        if markdown:
            click.echo(
                "\n".join(
                    show_board.write_board_document(request, board_detail) for board_detail in described
                ),
                nl=False,
            )
            return
    answers = [board_detail.model_dump(mode="json") for board_detail in described]
    show(answers, as_json=as_json, text=lambda: _text(answers))


def _text(answers: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    if not answers:
        yield "no boards yet: `cardinal doctor` says why"
    elif away := _home.absence():
        yield away
    for board in answers:
        yield f"{board['board']}  {clean(board['title'])}"
        yield from map(clean, board["stops"])
        for limit in board["limits"]:
            reached = " (reached)" if limit["is_reached"] else ""
            used = f"{limit['used']} of {limit['allowed']}{reached}"
            yield f"in use: {used} for {clean(limit['place'])}: {limit['meaning']}"
        for column in board["columns"]:
            yield ""
            total = sum(column["jobs"].values())
            yield f"{clean(column['name']) or 'no column'} ({total})"
            if column["listed"]:
                yield from answer_rows(column["listed"], COLUMNS)
            if left_out := total - len(column["listed"]):
                yield f"{left_out} more: `cardinal board --limit {show_board.MAX_LISTED}` lists them"
            queue = [it for it in board["queues"] if it["column"] == column["name"]]
            if queue:
                yield "queue:"
                yield from answer_rows(queue, ("place", "job", "run", "waiting", "why"))
