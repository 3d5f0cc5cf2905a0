"""Show a board: its columns, the effect of a drag there, and the number of jobs in each state."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from bot.state import policies
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.queries import lanes
from ledger.states import CardState
from ledger.views import boards
from rules.card.column_actions import consequence
from runner.text.untrusted import without_invisible as clean

PATH = "/boards/{owner}/{number}"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "number": 1}


class BoardName(ApiModel):
    """The board."""

    owner: str = Field(max_length=100)
    number: int = Field(ge=1, le=999_999_999)


class BoardColumn(ApiModel):
    """A column."""

    name: str
    meaning: str = Field(description="Effect of a drag into it; empty for none")
    jobs: dict[CardState, int] = Field(description="Number of jobs there, by state")


class BoardDetail(ApiModel):
    """The board."""

    board: str
    title: str
    columns: list[BoardColumn]


Input, Output = BoardName, BoardDetail


def run(call: ApiRequest, given: BoardName) -> BoardDetail:
    """Return it. Raises ApiError, BusyError."""
    board = call.board(f"{given.owner}/{given.number}")
    with event_store.reading(call.site.engine) as db:
        row, policy = boards.get(db, board.board_id), policies.in_force(db, board.board_id)
        counts = lanes.lane_counts(db, [board.scope])
    columns = list[BoardColumn]()
    for name in (known.name for known in row.columns) if row else ():
        column = policy.column(name)
        meaning = clean(consequence(column)) if column else ""
        columns.append(BoardColumn(name=clean(name), meaning=meaning, jobs=counts.get(name, {})))
    return BoardDetail(board=f"{board.owner}/{board.number}", title=clean(board.title), columns=columns)
