"""The follow-ups of findings that became issues."""

from dataclasses import dataclass

from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class FollowUpRow:
    """A follow-up that became an issue."""

    run_id: RunId
    proposal: int
    repository: str
    number: int
