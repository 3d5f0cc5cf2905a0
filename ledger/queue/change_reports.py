"""Reports: changes of cards and their authors, as deliveries say, until the change is read."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Delete

from ledger.db.rows import drop as drop_rows
from ledger.db.rows import keep, list_rows, value
from ledger.db.statements import statement
from ledger.db.tables import change_reports
from ledger.ids import CardId


class About(StrEnum):
    """The part of a card that a delivery is about."""

    COLUMN = "column"
    ARCHIVED = "archived"
    RESTORED = "restored"
    LABEL = "label"
    FIELD = "field"


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """`sender` changed something at `at`, by GitHub's clock.

    `value` is the column, the label or the field that the delivery names; empty where it names none.
    """

    sender: str
    about: str
    value: str
    at: datetime


def add_report(db: Connection, card_id: CardId, report: ChangeReport) -> None:
    """Keep the report; of the same change by the same person only the newest."""
    key = {"card_id": card_id, "sender": report.sender, "about": report.about, "value": report.value}
    known = value(db, change_reports.c.at, "-at", **key)
    if known is None or known < report.at:
        keep(db, change_reports, key, {"at": report.at})


def of_card(db: Connection, card_id: CardId) -> tuple[ChangeReport, ...]:
    """Return the card's reports, the oldest first."""
    return list_rows(db, ChangeReport, change_reports, "at", "sender", "value", card_id=card_id)


def drop_reports(db: Connection, card_id: CardId, reports: Iterable[ChangeReport], before: datetime) -> None:
    """Drop those whose change was seen, and those from before that moment."""
    for report in reports:
        drop_rows(db, change_reports, card_id=card_id, **asdict(report))
    _drop_older.run(db, {"card_id": card_id, "before": before})


@statement
def _drop_older(card_id: Any, before: Any) -> Delete:
    return change_reports.delete().where(change_reports.c.card_id == card_id, change_reports.c.at < before)
