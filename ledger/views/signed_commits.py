"""Commits that GitHub made and signed in place of those that the gate judged, with the same files."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, recorder
from ledger.db.tables import VIEWS
from ledger.events.branch import CommitsSigned
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class SignedRow:
    """One signed commit, and the commit `head` in whose place it stands."""

    run_id: RunId
    signed: str
    head: str
    tree: str


signed_commits = Table("view_signed_commits", VIEWS, *columns(SignedRow, "run_id", "signed"))
fold = Fold()


def find_judged_commit(db: Connection, head: str) -> str:
    """Return the commit whose evidence counts for `head`: itself, unless GitHub signed it anew."""
    row = find(db, SignedRow, signed_commits, signed=head)
    return row.head if row else head


fold.on(CommitsSigned)(recorder(signed_commits))
