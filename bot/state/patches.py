"""The change that a run has made, as the store has it: published, or of its newest checkpoint."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ledger.rows.runs import RunRow
from ledger.views import artifacts, checkpoints


@dataclass(frozen=True, slots=True)
class KeptPatch:
    """A patch in the store since the event `seq`. `checked`: the guards have let it through; else `host` had
    the work.
    """

    digest: str
    at: datetime
    checked: bool
    host: str = ""
    seq: int = 0


def newest(db: Connection, run: RunRow) -> KeptPatch | None:
    """Return the newest patch of the run that was not dropped; None where nothing differs from its base."""
    published = (
        KeptPatch(file.digest, file.at, checked=True, seq=file.seq)
        for file in artifacts.of_run(db, run.run_id)
        if (file.kind, file.name) == ("patch", f"{run.branch}.patch") and not file.dropped
    )
    checkpoint = checkpoints.get(db, run.run_id)
    unfinished = (
        [KeptPatch(checkpoint.patch, checkpoint.at, checked=False, host=checkpoint.host, seq=checkpoint.seq)]
        if checkpoint and checkpoint.patch
        else []
    )
    return max((*published, *unfinished), key=lambda patch: patch.seq, default=None)
