"""Cardinal's acts on GitHub: an outbox entry carried out, held, or given up."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.board import CardEvent
from ledger.ids import EntryKey


@dataclass(frozen=True, slots=True)
class EntryPublished(CardEvent):
    """An outward act was carried out; `remote_id` is GitHub's name for it (a comment's id …) or empty.

    `digest` is the SHA-256 of the content, so that the same is not sent twice. Board-wide acts use the
    board's id as `card_id`.
    """

    key: EntryKey
    act: str
    remote_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class EntryGivenUp(CardEvent, zoom=Zoom.CONVERSATION):
    """An outward act failed for good; `because` is a text that a person can act on.

    `payload` is the request, in JSON: `cardinal replay --acts` carries it out again. `declined`: what people
    did since makes it wrong for good: its card says so, and nobody repeats it.
    """

    key: EntryKey
    act: str
    because: str
    payload: str = ""
    declined: bool = False

    def describe(self) -> str:
        return f"could not {self.act.replace('_', ' ')}: {self.because}"


@dataclass(frozen=True, slots=True)
class EntryHeld(CardEvent, zoom=Zoom.CONVERSATION):
    """GitHub still refuses an outward act for now; it is tried again, and people are told once.

    Without `because` it was carried out after all.
    """

    key: EntryKey
    act: str
    because: str

    def describe(self) -> str:
        act = self.act.replace("_", " ")
        return f"could not {act} yet: {self.because}" if self.because else f"could {act} after all"
