"""Decisions of a person for themselves, whatever the board."""

from dataclasses import dataclass

from ledger.event import Event


@dataclass(frozen=True, slots=True)
class PersonEvent(Event):
    """The base of a person's acts in their own matters. `user_id` is GitHub's."""

    user_id: int

    @property
    def stream(self) -> str:
        return f"person:{self.user_id}"


@dataclass(frozen=True, slots=True)
class NoticesChosen(PersonEvent):
    """A person said which of their notices they want, and when.

    `login` was theirs then, and `door` is where they said so. `quiet_from` and `quiet_until` are HH:MM by the
    clock of `time_zone`; equal times are no quiet hours.
    """

    login: str
    door: str
    kinds: tuple[str, ...]
    digest_minutes: int
    quiet_from: str
    quiet_until: str
    time_zone: str
