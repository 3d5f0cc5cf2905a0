"""Runs of other cards: of the same issue, or on the same files."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId, CardId, RunId


@dataclass(frozen=True, slots=True)
class RunElsewhere:
    """A run of the same issue's card on the board of that name; `asked` as in RunQueued."""

    run_id: RunId
    board: str
    asked: str = ""
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SiblingRow:
    """A card with work in a repository. `at_work`: its newest run was begun and has not ended; `pull` is the
    number of its open pull request, 0 without one.
    """

    card_id: CardId
    board_id: BoardId
    run_id: RunId
    at_work: bool
    pull: int
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name for people: a repository's pull request, else the run."""
        return f"#{self.pull}" if self.pull else str(self.run_id)
