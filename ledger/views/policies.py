"""The policy in force on each board, and the problems of a newer file, if there is one."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, keep, record, recorder, value
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.policy import (
    ColumnChange,
    PolicyLoaded,
    PolicyProposed,
    PolicyRejected,
    SettingChange,
    WorkflowFile,
)
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """The last good policy, `digest` is empty without one; `problems` are those at `rejected_commit`."""

    board_id: BoardId
    digest: str = ""
    text: str = ""
    commit: str = ""
    problems: tuple[str, ...] = ()
    rejected_commit: str = ""
    rejected_digest: str = ""
    workflows: tuple[WorkflowFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """A policy file on a branch; as in PolicyProposed."""

    board_id: BoardId
    commit: str
    digest: str
    problems: tuple[str, ...]
    changes: tuple[ColumnChange, ...]
    settings: tuple[SettingChange, ...]
    more_settings: int


policies = Table("view_policies", VIEWS, *columns(PolicyRow, "board_id"))
proposals = Table("view_policy_proposals", VIEWS, *columns(ProposalRow, "board_id", "commit"))
fold = Fold()


def current(db: Connection, board_id: BoardId) -> PolicyRow | None:
    """Return the board's policy in force; None when no file was ever read."""
    return find(db, PolicyRow, policies, board_id=board_id)


def policy_digest(db: Connection, board_id: BoardId) -> str:
    """Return the digest of the file in force; empty where none is."""
    return value(db, policies.c.digest, board_id=board_id) or ""


def proposal(db: Connection, board_id: BoardId, commit: str) -> ProposalRow | None:
    """Return the policy file that a branch has at that commit; None where none is known."""
    return find(db, ProposalRow, proposals, board_id=board_id, commit=commit)


fold.on(PolicyLoaded)(recorder(policies))


@fold.on(PolicyProposed)
def _fold_policy_proposed(db: Connection, recorded: Recorded, _event: PolicyProposed) -> None:
    record(db, proposals, recorded)


@fold.on(PolicyRejected)
def _fold_policy_rejected(db: Connection, _recorded: Recorded, event: PolicyRejected) -> None:
    bad = {"problems": event.problems, "rejected_commit": event.commit, "rejected_digest": event.digest}
    keep(db, policies, {"board_id": event.board_id}, bad)
