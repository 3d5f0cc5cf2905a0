"""Cardinal's acts on GitHub: an outbox entry carried out, held, or given up."""

from dataclasses import dataclass

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
class EntryGivenUp(CardEvent):
    """An outward act failed for good; `because` is a text that a person can act on.

    `payload` is the request, in JSON: `cardinal replay --acts` carries it out again.
    """

    key: EntryKey
    act: str
    because: str
    payload: str = ""


@dataclass(frozen=True, slots=True)
class EntryHeld(CardEvent):
    """GitHub still refuses an outward act for now; it is tried again, and people are told once.

    Without `because` it was carried out after all.
    """

    key: EntryKey
    act: str
    because: str
