"""Show a board: its columns, the effect of a drag there, their jobs, and what holds its runs."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from sqlalchemy import Connection

from bot.state import card_filters, policies
from bot.web.api.jobs import JobFilter, JobSummary, job_summary
from bot.web.api.operation import ApiModel, ApiRequest
from bot.web.site import holds
from bot.web.site.holds import LimitView
from bot.web.site.visibility import VisibleBoard
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import ALL, CardFilter
from ledger.states import CardState
from ledger.views import boards
from rules.card.column_actions import consequence
from runner.text.untrusted import without_invisible as clean

PATH = "/boards/{owner}/{number}"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "number": 1}
MAX_LISTED = 10_000
TEXT_LISTED = 100  # jobs of each column in a document


class BoardQuery(JobFilter):
    """The board, and which of its jobs to list."""

    owner: str = Field(max_length=100)
    number: int = Field(ge=1, le=999_999_999)
    column: str = Field("", max_length=200, description="Only this column")
    limit: int = Field(
        0,
        ge=0,
        le=MAX_LISTED,
        description=f"List up to this many jobs of each column; {TEXT_LISTED} in Markdown",
    )


class BoardColumn(ApiModel):
    """A column."""

    name: str = Field(description="Empty for jobs in no column")
    meaning: str = Field(description="Effect of a drag into it; empty for none")
    jobs: dict[CardState, int] = Field(description="Number of jobs there, by state")
    listed: list[JobSummary] = Field(description="Those that need a person first, then from the top")


class QueuedRun(ApiModel):
    """A run in a column's queue."""

    column: str
    place: str = Field(description="Its place, or that it is not queued yet")
    job: str
    run: str
    waiting: str = Field(description="How long it has waited")
    why: str


class BoardDetail(ApiModel):
    """The board. Limits and queues are for an account that may read every repository of its jobs."""

    board: str
    title: str
    stops: list[str] = Field(description="A sentence for each stop in force")
    limits: list[LimitView] = Field(description="The use of each, and whether it is reached")
    queues: list[QueuedRun] = Field(description="The head of each column's queue; none with a filter")
    columns: list[BoardColumn]


def write_board_document(_call: ApiRequest, board: BoardDetail) -> str:
    """Return the board as a document."""
    from bot.web.api import markdown

    return markdown.write_board(board)


Input, Output = BoardQuery, BoardDetail
AS_TEXT = {"text/markdown": write_board_document}
TEXT_INPUT = {"limit": TEXT_LISTED}


def run(call: ApiRequest, given: BoardQuery) -> BoardDetail:
    """Return it. Raises ApiError, BusyError, FilterError."""
    board = call.board(f"{given.owner}/{given.number}")
    with event_store.reading(call.site.engine) as db:
        wanted = given.read_filter(db, [board.scope])
    return describe_board(call, board, wanted, column=given.column, limit=given.limit)


def describe_board(
    call: ApiRequest, board: VisibleBoard, wanted: CardFilter, *, column: str, limit: int
) -> BoardDetail:
    """Return a board that the account may see, or one column of it. Raises BusyError, FilterError."""
    now, whole = call.site.clock(), call.site.is_whole_to(call.visit, board)
    with event_store.reading(call.site.engine) as db:
        stops = holds.stop_lines(db, board, now, whole=whole)
        limits = holds.limits(db, board.board_id, now) if whole else []
        queues = holds.queue_order(db, board.board_id, now) if whole and wanted == ALL else []
        columns = _columns(db, board, wanted, column, limit)
    return BoardDetail(
        board=f"{board.owner}/{board.number}",
        title=clean(board.title),
        stops=list(map(clean, stops)),
        limits=limits,
        queues=[
            QueuedRun(
                column=clean(it.column), place=place, job=clean(job), run=run, waiting=waiting, why=clean(why)
            )
            for it in queues
            if column in ("", it.column)
            for place, job, _, run, waiting, why in it.runs
        ],
        columns=columns,
    )


def _columns(
    db: Connection, board: VisibleBoard, wanted: CardFilter, only: str, limit: int
) -> list[BoardColumn]:
    """Return the columns in the board's order, and last the jobs in none. Raises FilterError."""
    row, policy, scopes = boards.get(db, board.board_id), policies.in_force(db, board.board_id), [board.scope]
    names: list[str | None] = [column.name for column in row.columns] if row else []
    counts = lanes.lane_counts(db, scopes, wanted)
    if only and only not in names:
        raise card_filters.unknown_word("column", only, [name for name in names if name])
    columns = list[BoardColumn]()
    for name in dict.fromkeys((*names, *counts)):
        if only not in ("", name):
            continue
        column = policy.column(name) if name else None
        listed = lanes.of_column(db, scopes, name, wanted, limit=limit) if limit else ()
        columns.append(
            BoardColumn(
                name=clean(name or ""),
                meaning=clean(consequence(column)) if column else "",
                jobs=counts.get(name, {}),
                listed=[job_summary(card, [board]) for card in listed],
            )
        )
    return columns
