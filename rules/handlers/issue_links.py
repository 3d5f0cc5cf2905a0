"""The links of a card's issue have changed, or an issue that it waits for has: what its queued run says."""

from datetime import datetime

from ledger.events.related import LinksSeen
from ledger.model.reasons import Reason
from ledger.states import RunState
from rules.card.dependencies import asked, waiting
from rules.card.state import settle
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.snapshot import Snapshot


def linked(policy: Policy, snapshot: Snapshot, event: LinksSeen, now: datetime) -> Decision:
    """Say what a queued run waits for now that its issue's links have changed."""
    return told(policy, snapshot)


def told(policy: Policy, snapshot: Snapshot) -> Decision:
    """Say what a queued run waits for, or that it waits no more; the dispatch starts it."""
    run = snapshot.live_run
    if run is None or run.state is not RunState.QUEUED:
        return Decision()
    if waiting(snapshot) is None and snapshot.reason is not Reason.DEPENDENCY:
        return Decision()
    return settle(policy, snapshot) + asked(snapshot, run.run_id)
