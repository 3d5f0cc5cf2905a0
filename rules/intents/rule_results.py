"""Outward intents that carry out the answer of an `ai_task` rule's model, or take it back."""

from dataclasses import dataclass

from rules.intents.outbound import Intent


@dataclass(frozen=True, slots=True)
class AddLabels(Intent):
    """Add labels to the card's issue; `about` makes it the same act."""

    labels: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class ExpandBody(Intent):
    """Write `body` over the card's description, if that still has the digest `replaces`."""

    rule: str
    body: str
    replaces: str
    about: str


@dataclass(frozen=True, slots=True)
class RestoreBody(Intent):
    """Bring back the description that an ExpandBody wrote over; `about` makes it the same act."""

    about: str


@dataclass(frozen=True, slots=True)
class FillField(Intent):
    """Choose an option of a project field that is empty; `about` makes it the same act."""

    field: str
    option: str
    about: str
