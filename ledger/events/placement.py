"""The repository that the work on a card is for, where its issue's own is not the one."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.board import CardEvent


@dataclass(frozen=True, slots=True)
class RepositoryResolved(CardEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """It was decided in which repository runs of the card work. `rule`: label, line, field, own or none.

    `value` is the input of the rule. `problem` is the question to people where nothing could be decided; then
    `repository` is empty, and no run may start.
    """

    repository: str
    rule: str
    value: str
    problem: str

    def describe(self) -> str:
        return self.problem or f"works in {self.repository} ({self.rule}: {self.value})"
