"""Row of a card's workspace on a host, with what of it is in no store."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import CardId, RunId
from ledger.states import RUN_HELD, RunState


@dataclass(frozen=True, slots=True)
class CardWorkspace:
    """The workspace `place` on `host`, taken last by `run_id` at `taken_at`.

    `disk_bytes` and the first names of its `uncommitted_files` are as of its newest checkpoint; 0 where there
    is none. `unsaved` names what only the workspace has. `clean_by` asked that it be removed.
    """

    place: str
    card_id: CardId
    host: str
    run_id: RunId
    run_state: RunState
    branch: str
    taken_at: datetime
    disk_bytes: int
    uncommitted: tuple[str, ...]
    uncommitted_files: int
    unsaved: tuple[str, ...]
    clean_by: str

    @property
    def is_in_use(self) -> bool:
        """Whether a worker holds its run now."""
        return self.run_state in RUN_HELD
