"""The newest brief by the model of each `ai_task` rule for a card's next runs."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, drop, list_rows, record, rename_key
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import CardReplaced
from ledger.events.conversation import TaskAnswered
from ledger.fold import Fold
from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class RuleBriefRow:
    """The newest brief of one rule about one card."""

    card_id: CardId
    rule: str
    seq: int
    text: str


rule_briefs = Table("view_rule_briefs", VIEWS, *columns(RuleBriefRow, "card_id", "rule", long=("text",)))
fold = Fold()


def newest(db: Connection, card_id: CardId, limit: int) -> tuple[RuleBriefRow, ...]:
    """Return the briefs of the card's rules, at most so many of the newest, the oldest first."""
    rows = list_rows(db, RuleBriefRow, rule_briefs, "-seq", limit=limit, card_id=card_id)
    return tuple(reversed(rows))


@fold.on(TaskAnswered)
def _fold_task_answered(db: Connection, recorded: Recorded, event: TaskAnswered) -> None:
    """Keep the brief; an answer of the rule without one takes the older one away."""
    if event.brief:
        record(db, rule_briefs, recorded, text=event.brief)
    else:
        drop(db, rule_briefs, card_id=event.card_id, rule=event.rule)


@fold.on(CardReplaced)
def _fold_card_replaced(db: Connection, _recorded: Recorded, event: CardReplaced) -> None:
    rename_key(db, rule_briefs, "card_id", event.draft, event.card_id)
