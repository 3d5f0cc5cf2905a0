"""A workspace that stays though somebody asked to remove it: the card says why, and what to do."""

from datetime import datetime

from ledger.events.workspace import WorkspaceKept
from rules.answers import answers
from rules.card.trigger import time_stamp
from rules.commands.clean import DISCARD
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import code, plain


@answers(WorkspaceKept)
def say_why_kept(policy: Policy, snapshot: Snapshot, event: WorkspaceKept, now: datetime) -> Decision:
    """Name what its host did not find in the store."""
    text = (
        f"The workspace on {code(event.host or 'this host', 80)} was not removed: the store does not have"
        f" {plain('; '.join(event.missing), 400)}. `/cardinal clean {DISCARD}` removes it all the same."
    )
    return Decision((Say(snapshot.card_id, f"kept:{time_stamp(now)}", text),), (text,))
