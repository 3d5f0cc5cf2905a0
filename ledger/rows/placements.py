"""Where the runs of a card work, when its issue is about another repository."""

from dataclasses import dataclass

from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """A decision, as in RepositoryResolved; `repository` goes with one that is renamed, `named` does not."""

    card_id: CardId
    repository: str
    named: str
    rule: str
    value: str
    problem: str
