"""A snapshot has the parts that the rules for its event need; the others are unread."""

from pathlib import Path
from random import Random

import pytest

from bot.state import snapshots
from ledger.event import Event
from ledger.ids import CardId
from ledger.log import event_store
from ledger.views import cards
from rules.answers import all_rules
from rules.snapshot import Unread
from tests.ledger.samples import CARD, NOW, any_event, board_seen, card_seen
from tests.ledgers import new_ledger

READS = {kind: rule.reads for kind, rule in all_rules().items() if rule.reads}
PARTS = {part for parts in READS.values() for part in parts}


@pytest.mark.parametrize("kind", READS, ids=lambda kind: kind.__name__)
def test_a_snapshot_has_the_parts_of_its_event_and_no_others(kind: type[Event], tmp_path: Path) -> None:
    engine = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), card_seen(), at=NOW)
        row = cards.get(db, CardId(CARD))
        assert row is not None
        snapshot = snapshots.for_event(db, row, any_event(Random(7).choice, kind), NOW)
    unread = {part for part in PARTS if isinstance(getattr(snapshot, part), Unread)}
    assert unread == PARTS - set(READS[kind])
    engine.dispose()
