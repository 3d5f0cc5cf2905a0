"""The issues that a card waits for."""

from collections.abc import Set
from dataclasses import dataclass

from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class LinkRow:
    """An issue that the card's issue is blocked by. `state`: open, completed, not_planned or duplicate.

    `public`: everybody may read its repository, as far as is known. `done`: its card is done though it is
    open. Blockers out of sight have no `repository` and count down from -1 as `number`.
    """

    card_id: CardId
    repository: str
    number: int
    title: str
    state: str
    done: bool
    public: bool

    @property
    def holds(self) -> bool:
        """Tell whether the card has to wait for it, or for a person's word about it."""
        return self.state != "completed" and not (self.state == "open" and self.done)


def is_open(repository: str, public: bool, places: Set[str]) -> bool:
    """Tell whether whoever may read all that is written in `places` may read that repository."""
    return public or places == {repository}
