"""Let this card's agents do what matches a pattern without asking; `workflows` lets them change CI files.

`git push:*` is git push with anything.
"""

from datetime import datetime

from ledger.events.agent import CardToolAllowed
from ledger.events.conversation import CommandGiven
from ledger.rows.limit_answers import Code, Subject, subject_of
from rules.chatops.parser import WORKFLOWS
from rules.chatops.replies import choose_answer, say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code, plain

USAGE = "/cardinal allow <pattern>|workflows"
ROLE = Role.MAINTAIN
TAKES = "optional"
MAX_CHARACTERS = 200


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the pattern for the card; the next start of an agent knows it."""
    pattern = given.argument.strip().strip("`").strip()
    if not pattern:
        return say(snapshot, given, "Say what to allow: `/cardinal allow git push:*`.")
    if pattern.lower() == WORKFLOWS:
        return _workflows(snapshot, given)
    if not any(char.isalnum() for char in pattern):
        text = f"{code(pattern)} would allow everything, so nothing was done: begin it with a command."
        return say(snapshot, given, text)
    if plain(pattern, MAX_CHARACTERS) != " ".join(pattern.split()):
        text = (
            f"Nothing was allowed: a pattern is one line of at most {MAX_CHARACTERS} characters that"
            " can be seen."
        )
        return say(snapshot, given, text)
    allowed = CardToolAllowed(snapshot.card_id, " ".join(pattern.split()), given.by)
    return Decision((allowed,), (f"{given.by} allows {code(pattern)} on this card",))


def _workflows(snapshot: Snapshot, given: CommandGiven) -> Decision:
    """Let the card's agents change files of CI, and answer the run that waits for just that."""
    run, because = snapshot.live_run, (f"{given.by} allows changes of workflow files on this card",)
    allowed = Decision((CardToolAllowed(snapshot.card_id, WORKFLOWS, given.by),), because)
    if run and snapshot.question and subject_of(snapshot.question) is Subject.WORKFLOWS:
        return allowed + choose_answer(run, snapshot.question, given.by, Code.PUBLISH)
    return allowed
