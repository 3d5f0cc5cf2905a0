"""List the boards the account may see something of."""

from pydantic import Field

from bot.web.api.operation import ApiModel, ApiRequest, Nothing
from runner.text.untrusted import without_invisible as clean

PATH = "/boards"
Input = Nothing


class BoardSummary(ApiModel):
    """A board."""

    board: str = Field(description="owner/number")
    title: str


class BoardList(ApiModel):
    """All of them."""

    boards: list[BoardSummary]


Output = BoardList


def run(call: ApiRequest, _given: Nothing) -> BoardList:
    """Return them. Raises BusyError."""
    listed = (BoardSummary(board=f"{it.owner}/{it.number}", title=clean(it.title)) for it in call.boards)
    return BoardList(boards=list(listed))
