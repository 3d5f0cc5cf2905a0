"""Run the checks on the pull request's commit, without an agent."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.check_only import begin_check, check_obstacle
from rules.snapshot import Snapshot

USAGE = "/cardinal check"
ROLE = Role.WRITE
INSTEAD = "It runs what the policy of the default branch names, on the commit that GitHub has."


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer it where the gate has not let the pull request's commit through."""
    if snapshot.open_pull and not snapshot.open_pull.gate.lets_through and not check_obstacle(snapshot):
        yield CommandOffer("check", "Check", "Run the checks on this commit, no agent", Urgency.CARD)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue a run that only checks, where there is something to check and nothing does so already."""
    because = check_obstacle(snapshot)
    if because:
        return say(snapshot, given, f"Nothing was started: {because}.")
    return begin_check(snapshot, given.by)
