"""List the boards that Cardinal serves and the account may see something of."""

from pydantic import Field

from bot.state import served_boards
from bot.web.api.operation import ApiModel, ApiRequest, Nothing
from ledger.log import event_store
from ledger.views import runs
from runner.text.untrusted import without_invisible as clean

PATH = "/boards"
COLUMNS = ("board", "title", "policy_repository", "weight", "runs")
Input = Nothing


class BoardSummary(ApiModel):
    """A board."""

    board: str = Field(description="owner/number")
    title: str
    policy_repository: str = Field(description="owner/name; empty if the account may not read it")
    weight: int = Field(description="Its share of workers, while several boards are waiting for them")
    runs: int | None = Field(
        description="Active ones, for an account that may read every repository of its jobs"
    )


class BoardList(ApiModel):
    """All of them."""

    boards: list[BoardSummary]


Output = BoardList


def run(call: ApiRequest, _given: Nothing) -> BoardList:
    """Return them: to the operator, also one that was not read yet. Raises BusyError."""
    visible = {it.board_id: (it.home, call.site.is_whole_to(call.visit, it)) for it in call.boards}
    operators = (True, True) if call.is_operators else None
    with event_store.reading(call.site.engine) as db:
        listed = [
            BoardSummary(
                board=str(it.address),
                title=clean(it.title),
                policy_repository=it.home_repository if sight[0] else "",
                weight=it.weight,
                runs=len(runs.list_held(db, it.board_id)) if it.board_id and sight[1] else None,
            )
            for it in served_boards.all_served(db, call.site.config)
            if (sight := visible.get(it.board_id) if it.board_id else operators)
        ]
    return BoardList(boards=listed)
