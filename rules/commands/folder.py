"""Show what the card's folder holds and held; with a run, bring back the files as that run left them."""

import re
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.workspace import FolderRestored
from ledger.rows.folders import SnapshotRow
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code, count

USAGE = "/cardinal folder [run]"
ROLE = Role.WRITE
TAKES = "optional"
INSTEAD = "A run is written as `r12`."
_RUN = re.compile(r"r[0-9]{1,18}")
_MB = 1_000_000
MAX_SHOWN = 10


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """List the snapshots, the one in force first; restore one unless a run works in the folder."""
    folder, wanted = snapshot.folder, given.argument.strip()
    if folder is None or not folder.snapshots:
        none = "No run of this card has kept files in a folder or an empty place yet."
        return say(snapshot, given, none)
    if not wanted:
        rows = "\n".join(f"- {_describe(row)}" for row in folder.snapshots[:MAX_SHOWN])
        how = "`/cardinal folder r12` brings the files back as r12 left them."
        return say(snapshot, given, f"The folder, newest first:\n\n{rows}\n\n{how}")
    found = next((row for row in folder.snapshots if row.run_id == wanted), None)
    if found is None:
        known = ", ".join(dict.fromkeys(row.run_id for row in folder.snapshots[:MAX_SHOWN]))
        what = f"{wanted} left nothing in this folder." if _RUN.fullmatch(wanted) else INSTEAD
        return say(snapshot, given, f"{what} The newest runs that left files here: {known}.")
    if folder.writer:
        return say(
            snapshot,
            given,
            f"{folder.writer} works in the folder: wait until it pauses or ends, or cancel it.",
        )
    if found == folder.snapshots[0]:
        return say(snapshot, given, f"The folder is as {found.run_id} left it.", is_done=True)
    restored = FolderRestored(
        card_id=snapshot.card_id,
        folder=folder.folder,
        source=found.run_id,
        commit=found.commit,
        bundle=found.bundle,
        files=found.files,
        size_bytes=found.size_bytes,
        by=given.by,
    )
    text = f"The folder is as {found.run_id} left it: the next run begins there."
    because = f"{given.by} restores the folder of {found.run_id}"
    return Decision((restored,), (because,)) + say(snapshot, given, text)


def _describe(row: SnapshotRow) -> str:
    by = f", restored by {code(row.by, 40)}" if row.by else ""
    size = f"{count(row.files, 'file')}, {row.size_bytes / _MB:,.1f} MB"
    return f"{row.run_id}: {row.at:%Y-%m-%d %H:%M} UTC, {size}{by}"
