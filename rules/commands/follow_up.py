"""Make the card that an investigation proposed, by its number in the findings."""

import re
from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import say
from rules.intents.outbound import CreateCard, Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import FollowUpSeen, Snapshot

USAGE = "/cardinal follow-up <number>"
ROLE = Role.WRITE
TAKES = "optional"
_WANTED = re.compile(r"(?:(?P<run>r[0-9]{1,18}):)?#?(?P<proposal>[0-9]{1,3})")


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Make it once; where there is none of that number, say which there are."""
    follow_up = _meant(snapshot, given.argument)
    if follow_up is None:
        return say(snapshot, given, _which(snapshot))
    if follow_up.made:
        return say(
            snapshot,
            given,
            f"Follow-up {follow_up.proposal} of {follow_up.run_id} is {follow_up.made} already.",
        )
    card = snapshot.card_id
    made = CreateCard(
        card,
        follow_up.run_id,
        follow_up.proposal,
        follow_up.title,
        follow_up.body,
        follow_up.reason,
        again=True,
    )
    return Decision((made,), (f"{given.by} wants follow-up {follow_up.proposal} of {follow_up.run_id}",))


def _meant(snapshot: Snapshot, argument: str) -> FollowUpSeen | None:
    wanted = _WANTED.fullmatch(argument.strip())
    if wanted is None:
        return None
    run = wanted["run"]
    mine = (follow_up for follow_up in snapshot.follow_ups if follow_up.proposal == int(wanted["proposal"]))
    return next((follow_up for follow_up in mine if run in (None, follow_up.run_id)), None)


def _which(snapshot: Snapshot) -> str:
    if not snapshot.follow_ups:
        return "No investigation of this card proposes a follow-up: `/cardinal investigate` starts one."
    newest, most = snapshot.follow_ups[0].run_id, max(follow_up.proposal for follow_up in snapshot.follow_ups)
    return f"There is no such follow-up: the findings of {newest} have 1 to {most}."
