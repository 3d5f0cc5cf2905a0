"""The repository that the work on a card is for, where its issue's own is not the one."""

from dataclasses import dataclass

from ledger.events.board import CardEvent


@dataclass(frozen=True, slots=True)
class RepositoryResolved(CardEvent):
    """It was decided in which repository runs of the card work. `rule`: label, line, field, own or none.

    `value` is the input of the rule. `problem` is the question to people where nothing could be decided; then
    `repository` is empty, and no run may start.
    """

    repository: str
    rule: str
    value: str
    problem: str
