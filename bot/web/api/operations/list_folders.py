"""List the folders in which runs work without a repository, with their sizes and histories."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field
from sqlalchemy import Connection

from bot.web.api.operation import ApiModel, ApiRequest
from bot.web.site.visibility import VisibleBoard
from ledger.ids import CardId
from ledger.log import event_store
from ledger.model.run_modes import parts_of_folder
from ledger.rows.folders import SnapshotRow
from ledger.views import cards, folders
from rules.policy.column import OF_CARD
from runner.text.untrusted import without_invisible as clean

PATH = "/folders"
EXAMPLE: Mapping[str, Any] = {"board": "acme/1"}
MAX_FOLDERS, MAX_HISTORY = 200, 20
COLUMNS = ("board", "repository", "folder", "files", "size_bytes", "run", "at")


class FolderQuery(ApiModel):
    """Of which board."""

    board: str = Field("", max_length=200, description="owner/number of a board; empty for all")


class FolderSnapshot(ApiModel):
    """The folder's files as a run left them."""

    run: str
    at: datetime
    files: int
    size_bytes: int
    restored_by: str = Field(
        description="Who brought these files back at that time; empty for the run itself"
    )


class KeptFolder(ApiModel):
    """A folder as it is now."""

    board: str = Field(description="owner/number")
    repository: str = Field(description="Whose cards share it; empty for those of the whole board")
    folder: str = Field(description="Its name in the policy, or the issue of the card that it belongs to")
    run: str = Field(description="Whose files are in force")
    at: datetime
    files: int
    size_bytes: int
    history: list[FolderSnapshot] = Field(description="Newest first; the slash command `folder` restores one")


class FolderList(ApiModel):
    """Those of the boards of which the account sees every repository."""

    folders: list[KeptFolder]


Input, Output = FolderQuery, FolderList


def run(call: ApiRequest, given: FolderQuery) -> FolderList:
    """Return them. Raises ApiError, BusyError."""
    boards = call.boards_named(given.board)
    whole = [board for board in boards if call.site.is_whole_to(call.visit, board)]
    with event_store.reading(call.site.engine) as db:
        listed = [
            _folder(db, board, row)
            for board in whole
            for row in folders.of_board(db, board.board_id, MAX_FOLDERS)
        ]
    return FolderList(folders=listed)


def _folder(db: Connection, board: VisibleBoard, row: SnapshotRow) -> KeptFolder:
    _, repository, name = parts_of_folder(row.folder)
    kind, _, card_id = name.partition("/")
    card = cards.get(db, CardId(card_id)) if kind == OF_CARD and card_id else None
    return KeptFolder(
        board=f"{board.owner}/{board.number}",
        repository=clean(repository),
        folder=clean(f"{card.repository}#{card.number}" if card else name),
        run=row.run_id,
        at=row.at,
        files=row.files,
        size_bytes=row.size_bytes,
        history=[
            FolderSnapshot(
                run=past.run_id,
                at=past.at,
                files=past.files,
                size_bytes=past.size_bytes,
                restored_by=clean(past.by),
            )
            for past in folders.list_snapshots(db, row.folder, MAX_HISTORY)
        ],
    )
