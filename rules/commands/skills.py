"""Choose the skills of this card's next runs, in addition to the policy's; `none` takes them away."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.instruction import SkillsPinned
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.skills import MAX_NAMED, names_of
from rules.snapshot import Snapshot
from rules.text import code

USAGE = "/cardinal skills <names>|none"
ROLE = Role.WRITE
TAKES = "optional"
_HINT = "a skill is a folder in `.github/cardinal/skills/`, and has its name"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the names; whether there is such a skill is known when a run begins, and is said there."""
    words = given.argument.replace(",", " ").split()
    if not words:
        return say(snapshot, given, f"Say which: `/cardinal skills safe-migration`; {_HINT}.")
    if [word.lower() for word in words] == ["none"]:
        cleared = SkillsPinned(snapshot.card_id, (), given.by)
        return Decision((cleared,), (f"{given.by} chose no skills for this card",))
    names = names_of(given.argument)
    wrong = next((word for word in words if not names_of(word)), "")
    if wrong or len(words) > MAX_NAMED:
        because = f"{code(wrong, 40)} is not a skill's name" if wrong else f"at most {MAX_NAMED} can be named"
        return say(snapshot, given, f"Nothing was chosen: {because}; {_HINT}.")
    pinned = SkillsPinned(snapshot.card_id, names, given.by)
    return Decision((pinned,), (f"{given.by} chose {', '.join(names)} for the card's next runs",))
