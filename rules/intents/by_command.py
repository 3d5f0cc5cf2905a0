"""Outward intents that only a person's command asks for; `about` makes each the same act."""

from dataclasses import dataclass

from rules.intents.outbound import Intent


@dataclass(frozen=True, slots=True)
class ChangeAssignees(Intent):
    """Assign the card's issue to people, or unassign them where `wanted` is false."""

    people: tuple[str, ...]
    wanted: bool
    about: str


@dataclass(frozen=True, slots=True)
class ArchiveCard(Intent):
    """Archive the card's item on the board for `by`, who has that role, or bring it back."""

    wanted: bool
    by: str
    role: str
    about: str


@dataclass(frozen=True, slots=True)
class UnlinkCard(Intent):
    """Remove the dependency that LinkCard makes."""

    target: str
    relation: str
    about: str
