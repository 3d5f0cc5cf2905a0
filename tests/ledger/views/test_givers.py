"""Commands are counted by board: what somebody does on one takes nothing from another."""

from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Engine

from ledger.events.conversation import CommandGiven
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.views import givers
from tests.ledger.samples import BOARD, CARD, card_seen
from tests.ledger.views.test_story import told

OTHER, THERE = BoardId("PVT_other"), CardId("PVTI_other")


def test_each_board_counts_the_commands_about_its_own_cards(ledger: Engine) -> None:
    event = CommandGiven(CARD, "status", "", "ci-bot", "write", "issue", 1, "1", None)
    with event_store.writing(ledger) as db:
        told(db, card_seen(), replace(card_seen(THERE, 99), board_id=OTHER))
        told(db, *(replace(event, comment_id=it) for it in range(3)), replace(event, card_id=THERE))
        old = datetime(2000, 1, 1, tzinfo=UTC)
        assert [givers.count_commands(db, board, "ci-bot", old) for board in (BOARD, OTHER)] == [3, 1]
        assert givers.count_commands(db, BOARD, "ann", old) == 0
