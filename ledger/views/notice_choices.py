"""Which of their notices each person wants, and when: their newest choice."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, fields_for, keep, list_rows
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.person import NoticesChosen
from ledger.fold import Fold


@dataclass(frozen=True, slots=True)
class NoticeChoiceRow:
    """A choice; `name` is the person's login in small letters. The others are as in NoticesChosen."""

    name: str
    kinds: tuple[str, ...]
    digest_minutes: int
    quiet_from: str
    quiet_until: str
    time_zone: str


notice_choices = Table("view_notice_choices", VIEWS, *columns(NoticeChoiceRow, "name"))
fold = Fold()


def every(db: Connection) -> dict[str, NoticeChoiceRow]:
    return {row.name: row for row in list_rows(db, NoticeChoiceRow, notice_choices)}


@fold.on(NoticesChosen)
def _fold_notices_chosen(db: Connection, _recorded: Recorded, event: NoticesChosen) -> None:
    keep(db, notice_choices, {"name": event.login.casefold()}, fields_for(notice_choices, event))
