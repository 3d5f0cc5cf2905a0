"""The policy in force on each board, and what is wrong with a newer file, if there is one."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table, select

from ledger.db.rows import columns, keep, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.policy import PolicyLoaded, PolicyRejected
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """The last good policy; `digest` is empty before the first. `problems` are of the file at
    `rejected_commit`.
    """

    board_id: BoardId
    digest: str
    text: str
    commit: str
    problems: tuple[str, ...]
    rejected_commit: str
    rejected_digest: str


policies = Table("view_policies", VIEWS, *columns(PolicyRow, "board_id"))
fold = Fold()


def current(db: Connection, board_id: BoardId) -> PolicyRow | None:
    """Return what is in force on the board; None when no file was ever read."""
    return one(db, PolicyRow, pick(PolicyRow, policies).where(policies.c.board_id == board_id))


def digest(db: Connection, board_id: BoardId) -> str:
    """Return the digest of the file in force; empty where none is."""
    return db.scalar(select(policies.c.digest).where(policies.c.board_id == board_id)) or ""


@fold.on(PolicyLoaded)
def _loaded(db: Connection, _it: Recorded, event: PolicyLoaded) -> None:
    good = {"digest": event.digest, "text": event.text, "commit": event.commit}
    keep(
        db,
        policies,
        {"board_id": event.board_id},
        {**good, "problems": (), "rejected_commit": "", "rejected_digest": ""},
    )


@fold.on(PolicyRejected)
def _rejected(db: Connection, _it: Recorded, event: PolicyRejected) -> None:
    bad = {"problems": event.problems, "rejected_commit": event.commit, "rejected_digest": event.digest}
    known = current(db, event.board_id) is not None
    keep(
        db,
        policies,
        {"board_id": event.board_id},
        bad if known else {**bad, "digest": "", "text": "", "commit": ""},
    )
