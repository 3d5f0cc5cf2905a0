"""List the hosts: their states, places, labels and versions, and the runs at work on each."""

from collections.abc import Collection
from datetime import datetime
from http import HTTPStatus

from pydantic import Field
from sqlalchemy import Connection

from bot.web.api.operation import ApiError, ApiModel, ApiRequest
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queries import hosts
from ledger.queries.hosts import HostState
from ledger.views import runs
from runner.text.untrusted import without_invisible as clean

PATH = "/hosts"
COLUMNS = ("host", "state", "seen_at", "runs", "slots", "labels", "version")
MAX_LISTED = 1000


class HostQuery(ApiModel):
    """How many."""

    limit: int = Field(MAX_LISTED, ge=1, le=MAX_LISTED)
    after: str = Field("", max_length=200, description="`next` of the page before")


class HostInList(ApiModel):
    """A host."""

    host: str = Field(description="Its name")
    state: HostState
    seen_at: datetime = Field(description="Its last heartbeat")
    runs: list[str] = Field(description="At work there, of boards whose policy the account may write")
    slots: int = Field(description="How many runs it works on at once")
    labels: list[str]
    version: str


class ListedHosts(ApiModel):
    """A page of hosts, for an account that may write to a board's policy."""

    hosts: list[HostInList] = Field(description="By name")
    next: str = Field(description="Pass it as `after` for the next page; empty on the last one")


Input, Output = HostQuery, ListedHosts


def run(call: ApiRequest, given: HostQuery) -> ListedHosts:
    """Return a page of them. Raises ApiError, BusyError."""
    operated = {board.board_id for board in call.site.list_operated_boards(call.visit)}
    if not (operated or call.is_operators):
        remedy = "use the token of an account that may"
        because = "hosts are for accounts that may write to a board's policy"
        raise ApiError(HTTPStatus.FORBIDDEN, "role", because, remedy)
    with event_store.reading(call.site.engine) as db:
        listed = describe_hosts(db, None if call.is_operators else operated)
    page = [it for it in listed if it.host > given.after][: given.limit]
    more = page and page[-1].host != listed[-1].host
    return ListedHosts(hosts=page, next=page[-1].host if more else "")


def describe_hosts(db: Connection, boards: Collection[BoardId | None] | None) -> list[HostInList]:
    """Return all hosts, with the runs of these boards; None for those of all."""
    held = {run.run_id for run in runs.list_held(db) if boards is None or run.board_id in boards}
    return [
        HostInList(
            host=clean(it.row.name),
            state=it.state,
            seen_at=it.row.seen_at,
            runs=[run for run in it.runs if run in held],
            slots=it.row.slots,
            labels=list(map(clean, it.row.labels)),
            version=clean(it.row.version),
        )
        for it in hosts.statuses(db)
    ]
