"""Who follows a card or a run, apart from their general choice of notices."""

from dataclasses import dataclass

from ledger.event import RuleEvent
from ledger.events.board import CardEvent
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class CardSubscribed(CardEvent, RuleEvent, only_shows=True):
    """Somebody wants every notice about the card; with a `run_id` only until the next run is queued."""

    login: str
    run_id: RunId

    def describe(self) -> str:
        return f"{self.login} follows {self.run_id or 'the card'}"


@dataclass(frozen=True, slots=True)
class CardUnsubscribed(CardEvent, RuleEvent, only_shows=True):
    """Somebody no longer follows the card; `because` is empty where they said so themselves."""

    login: str
    because: str

    def describe(self) -> str:
        return f"{self.login} follows no more{self.because and ': '}{self.because}"
