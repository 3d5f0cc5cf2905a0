"""Parts of a snapshot that are read for some events only: to use one that was not read is an error."""

from collections.abc import Mapping
from typing import Any, NoReturn

from ledger.event import Event
from ledger.events.board import CardSeen
from ledger.events.conversation import CommandGiven
from ledger.events.job import JobMade
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import ChecksSettled
from ledger.events.run import BranchExported, QuestionAnswered, RunEnded, RunParked, RunQueued, RunStepped
from ledger.events.stage import SnapshotTaken
from rules.errors import UnreadPartError

# The parts that are read for an event, by its kind.
READ_FOR: Mapping[type[Event], tuple[str, ...]] = {
    CommandGiven: ("held", "released", "lifted", "paced", "unopened", "halt", "findings", "made"),
    EntryGivenUp: ("findings", "made", "proposed"),
    QuestionAnswered: ("proposed",),
    RunEnded: ("struck", "halt", "ci", "red"),
    **dict.fromkeys((RunStepped, RunParked), ("halt",)),
    **dict.fromkeys((CardSeen, JobMade), ("job",)),
    ChecksSettled: ("ci",),
    RunQueued: ("shared", "job"),
    **dict.fromkeys((BranchExported, SnapshotTaken), ("shared",)),
}


class Unread:
    """Stands where a part was not read. It has no value: each use raises UnreadPartError."""

    def __init__(self, part: str) -> None:
        self._part = part

    def __repr__(self) -> str:
        return f"<{self._part} was not read>"

    def _refuse(self, *_other: object) -> NoReturn:
        raise UnreadPartError(self._part)

    __getattr__ = __iter__ = __bool__ = __len__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def leave_unread(part: str) -> Any:
    """Return the default of a part that is read for some events only."""
    return Unread(part)
