"""List the workspaces on the hosts, the longest unused first; `give_command` with `clean` removes one."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from bot.state import card_filters
from bot.state.run_filters import MAX_DAYS
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.model.run_modes import INVESTIGATE
from ledger.queries import workspaces
from ledger.queries.card_filter import CardScope
from ledger.queries.workspaces import ListedWorkspace, WorkspaceFilter
from runner.text.untrusted import without_invisible as clean

PATH = "/workspaces"
EXAMPLE: Mapping[str, Any] = {"older_than_days": 14}
COLUMNS = ("job", "host", "size_mb", "used_at", "run", "status", "branch", "uncommitted_files", "unsaved")
BYTES_PER_MB = 1_000_000
MAX_LISTED, MAX_MB = 1000, 10_000_000


class WorkspaceFields(ApiModel):
    """Conditions on workspaces: all that are given must hold."""

    host: str = Field("", max_length=200, description="The host's name")
    column: str = Field("", max_length=200, description="The card's column")
    state: str = Field("", max_length=200, description="The card's state, such as failed")
    older_than_days: int = Field(0, ge=0, le=MAX_DAYS, description="Unused for so many days; 0 for all")
    larger_than_mb: int = Field(0, ge=0, le=MAX_MB, description="At least so many MB; 0 for all")

    def read_filter(self, now: datetime) -> WorkspaceFilter:
        """Return the filter. Raises FilterError."""
        days = timedelta(days=self.older_than_days)
        return WorkspaceFilter(
            host=self.host,
            column=self.column,
            state=card_filters.read_state(self.state) if self.state else None,
            before=now - days if days else None,
            min_bytes=self.larger_than_mb * BYTES_PER_MB,
        )


class WorkspaceQuery(WorkspaceFields):
    """Which workspaces, of which board, and how many."""

    board: str = Field("", max_length=200, description="owner/number of a board")
    limit: int = Field(100, ge=1, le=MAX_LISTED)


class WorkspaceInList(ApiModel):
    """A workspace with its card and its last run."""

    repository: str = Field(description="owner/name of the issue's repository")
    number: int = Field(description="The issue's number")
    card: str = Field(description="The card's id")
    title: str
    column: str
    investigates: bool = Field(description="The card is only read there")
    host: str
    size_mb: float = Field(description="Disk that it took when its run last measured it; 0: not known")
    used_at: datetime = Field(description="When a run took it last")
    run: str
    status: str
    branch: str
    uncommitted_files: int
    uncommitted: list[str] = Field(description="The first names of those files")
    unsaved: list[str] = Field(description="What is saved nowhere else: it is removed only with `discard`")
    clean_by: str = Field(description="Who asked to remove it, while its host has not done so")


class WorkspaceList(ApiModel):
    """Workspaces."""

    workspaces: list[WorkspaceInList] = Field(description="The longest unused first")
    more: bool = Field(description="There are more than `limit`")


Input, Output = WorkspaceQuery, WorkspaceList


def run(call: ApiRequest, given: WorkspaceQuery) -> WorkspaceList:
    """Return those of cards that the account may see. Raises ApiError, BusyError, FilterError."""
    scopes = [board.scope for board in call.boards_named(given.board)]
    return list_workspaces(call, given, scopes)


def list_workspaces(call: ApiRequest, given: WorkspaceQuery, scopes: list[CardScope]) -> WorkspaceList:
    """Return the workspaces of cards in these scopes. Raises FilterError."""
    wanted = given.read_filter(call.site.clock())
    with event_store.reading(call.site.engine) as db:
        listed = workspaces.longest_unused(db, scopes, wanted, limit=given.limit + 1)
    return WorkspaceList(
        workspaces=[as_row(it) for it in listed[: given.limit]], more=len(listed) > given.limit
    )


def as_row(it: ListedWorkspace) -> WorkspaceInList:
    """Return a workspace as lists show it."""
    workspace, card = it.workspace, it.card
    return WorkspaceInList(
        repository=card.repository or "",
        number=card.number or 0,
        card=card.card_id,
        title=clean(card.title),
        column=clean(card.column or ""),
        investigates=it.run.mode == INVESTIGATE,
        host=clean(workspace.host),
        size_mb=round(workspace.disk_bytes / BYTES_PER_MB, 1),
        used_at=workspace.taken_at,
        run=workspace.run_id,
        status=it.run.status,
        branch=clean(workspace.branch),
        uncommitted_files=workspace.uncommitted_files,
        uncommitted=list(map(clean, workspace.uncommitted)),
        unsaved=list(map(clean, workspace.unsaved)),
        clean_by=clean(workspace.clean_by),
    )
