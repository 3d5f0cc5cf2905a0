"""The newest text of an `ai_task` rule over an issue's description, and the description before."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.events.conversation import BodyExpanded
from ledger.fold import Fold


@dataclass(frozen=True, slots=True)
class ExpansionRow:
    """An issue's newest expansion; `written` is the digest of the whole description that GitHub then had."""

    content_id: str
    rule: str
    written: str
    before: str
    text: str


expansions = Table("view_expansions", VIEWS, *columns(ExpansionRow, "content_id", long=("before", "text")))
fold = Fold()
fold.on(BodyExpanded)(recorder(expansions))


def get(db: Connection, content_id: str) -> ExpansionRow | None:
    """Return the issue's newest expansion, also where people have edited the description since."""
    return find(db, ExpansionRow, expansions, content_id=content_id)


def of_issues(db: Connection, content_ids: Iterable[str]) -> dict[str, ExpansionRow]:
    rows = list_rows(db, ExpansionRow, expansions, content_id=tuple(content_ids))
    return {row.content_id: row for row in rows}


def digest(body: str) -> str:
    """Return the SHA-256 of a description; ends of lines and space around it do not count."""
    return sha256(body.replace("\r\n", "\n").strip().encode(errors="replace")).hexdigest()
