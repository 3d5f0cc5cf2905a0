"""Make the card that an investigation proposed, by its number in the findings."""

import re
from datetime import datetime

from ledger.events.conversation import CommandGiven
from rules.chatops.replies import say
from rules.intents.outbound import CreateCard, Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot

USAGE = "/cardinal follow-up <number>"
ROLE = Role.WRITE
TAKES = "optional"
_WANTED = re.compile(r"(?:(?P<run>r[0-9]{1,18}):)?#?(?P<proposal>[0-9]{1,3})")


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Make it once; where there is none of that number, say which there are."""
    wanted, findings = _WANTED.fullmatch(given.argument.strip()), snapshot.findings
    if findings is None or not findings.follow_ups:
        none = "No investigation of this card proposes a follow-up: `/cardinal investigate` starts one."
        return say(snapshot, given, none)
    run_id, most = findings.run_id, len(findings.follow_ups)
    number = int(wanted["proposal"]) if wanted and wanted["run"] in (None, run_id) else 0
    if not 1 <= number <= most:
        known = f"There is no such follow-up: the findings of {run_id} have 1 to {most}."
        return say(snapshot, given, known)
    follow_up = next((it for it in snapshot.made if it.proposal == number), None)
    if follow_up is not None:
        issue = f"{follow_up.repository}#{follow_up.number}"
        return say(snapshot, given, f"Follow-up {number} of {run_id} is {issue} already.", is_done=True)
    it = findings.follow_ups[number - 1]
    create = CreateCard(
        card_id=snapshot.card_id,
        run_id=run_id,
        proposal=number,
        title=it.title,
        body=it.body,
        reason=it.reason,
        again=True,
    )
    return Decision((create,), (f"{given.by} wants follow-up {number} of {run_id}",))
