"""Reports of who changed a card: the newest of each stays until its change was seen, or it is too old."""

from sqlalchemy import Engine

from ledger.log import event_store
from ledger.queue import change_reports
from ledger.queue.change_reports import About, ChangeReport
from tests.ledger.samples import CARD, later


def test_the_newest_of_each_stays_until_it_was_seen_or_is_too_old(ledger: Engine) -> None:
    moved = [ChangeReport("bob", About.COLUMN, "Done", later(n)) for n in (5, 9, 7)]
    label = ChangeReport("eve", About.LABEL, "bug", later(6))
    with event_store.writing(ledger) as db:
        for report in (*moved, label, label):
            change_reports.add_report(db, CARD, report)
        assert change_reports.of_card(db, CARD) == (label, moved[1])
        change_reports.drop_reports(
            db, CARD, moved[:1], later(0)
        )  # a newer one was told while somebody looked
        assert change_reports.of_card(db, CARD) == (label, moved[1])
        change_reports.drop_reports(db, CARD, [moved[1]], later(0))
        assert change_reports.of_card(db, CARD) == (label,)
        change_reports.drop_reports(db, CARD, [], later(8))
        assert change_reports.of_card(db, CARD) == ()
