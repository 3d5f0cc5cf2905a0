"""The base of events: frozen, past tense, bound to one stream, with all that is known of their kind."""

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, TypedDict, Unpack

from ledger.states import RunState


class Zoom(StrEnum):
    """The depth of a timeline; each shows the lines of those before it, too."""

    CONVERSATION = "conversation"
    ACTIVITY = "activity"
    DEBUG = "debug"


class KindFacts(TypedDict, total=False):
    """What a kind says of itself in its class statement; each is an attribute of `Event`."""

    line: str
    zoom: Zoom
    has_words: bool
    in_full: str
    is_work: bool
    shows_payload: bool
    is_audited: bool
    section: str
    section_omits: tuple[str, ...]
    affects_dispatch: bool
    changes_lane: bool
    changes_workspace: bool
    leads_to: RunState
    only_shows: bool


class Event:
    """The base of every event kind; a kind is a frozen dataclass in `ledger/events/<family>.py`.

    Its class name is its kind in the log and may never change; a changed shape is a new kind. What others
    know of a kind stands in its class statement: `class RunHung(RunEvent, zoom=Zoom.ACTIVITY, line="…")`.
    """

    __slots__ = ()
    line: ClassVar[str] = ""  # what people read, with fields in braces; `describe` where it takes more
    zoom: ClassVar[Zoom] = Zoom.DEBUG  # the depth of a timeline from which on it has its line
    has_words: ClassVar[bool] = False  # its line has words of people, or to them, and may be long
    in_full: ClassVar[str] = ""  # the field that a run's page shows in full where it is longer than a line
    is_work: ClassVar[bool] = False  # a run's page has its line at any depth
    # The depth debug shows its fields: they tell of a run's own work, not of other cards or the policy.
    shows_payload: ClassVar[bool] = False
    is_audited: ClassVar[bool] = False  # an audit's document of a run has it, as it has all events of the run
    section: ClassVar[str] = ""  # of the audit's summary, of which it is a row; empty: see `sections.py`
    section_omits: ClassVar[tuple[str, ...]] = ()  # the fields that its row leaves out
    # Dispatch chooses again after it, if a view that dispatch reads takes it.
    affects_dispatch: ClassVar[bool] = True
    changes_lane: ClassVar[bool] = False  # after it a card may have left a merge lane
    changes_workspace: ClassVar[bool] = False  # after it the workspace differs from its checkpoint
    leads_to: ClassVar[RunState | None] = None  # the state of its run after it; None: as before

    def __init_subclass__(cls, **facts: Unpack[KindFacts]) -> None:
        super().__init_subclass__()
        for name, fact in facts.items():  # none the second time: dataclass(slots=True) makes the class again
            setattr(cls, name, fact)

    @property
    def stream(self) -> str:
        """The stream that orders this event: `board:ID`, `card:ID` or `run:ID`."""
        raise NotImplementedError(type(self).__name__)

    def describe(self) -> str:
        """Return what people read of it in one line; the name of its kind, where that says nothing else."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return self.line.format_map(values) if self.line else type(self).__name__


class RuleEvent(Event):
    """The base of events that the rules decide themselves; others follow from an intent and the ledger.

    One that `only_shows` what is needs nobody's right, as with an intent.
    """

    __slots__ = ()
    only_shows: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the log holds it; `at` is in UTC, `seq` counts over the log, `version` over the stream."""

    seq: int
    stream: str
    version: int
    at: datetime
    event: Event
