"""Start another run on the card, or a revision when a review asked for something."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.board import MoverFound
from ledger.events.conversation import CommandGiven
from ledger.states import Ending
from rules.card.column_actions import act
from rules.card.move_rights import is_dragged
from rules.card.trigger import RuleTrigger, was_before
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import door_of
from rules.chatops.replies import say
from rules.intents.outbound import Decision, OpenPull
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.mode import again
from rules.runs.start import queue_card, start_obstacle
from rules.snapshot import Snapshot

USAGE = "/cardinal retry"
ROLE = Role.WRITE
INSTEAD = "What the agent should know: write a plain comment first."


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer another attempt where one may start, and in a terminal column another merge."""
    run = snapshot.run
    merges = snapshot.archetype.IS_FINAL and snapshot.open_pull
    if run and not run.alive and (merges or not start_obstacle(policy, snapshot)):
        hint = "Try the merge again" if merges else "Try again, with what was said since"
        looks_first = run.ending is Ending.SUCCEEDED and not merges  # there is something to review
        urgency = Urgency.CARD if looks_first else Urgency.RUN
        yield CommandOffer(f"retry:{run.run_id}", "Retry", hint, urgency)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue a run where one may start; in a terminal column, try the merge again."""
    column = snapshot.column_policy
    final = column and snapshot.archetype.IS_FINAL
    if column and final and snapshot.open_pull and not snapshot.live_run:
        decision = act(policy, snapshot, column.entry_actions, RuleTrigger("retry", given.by, now))
        if is_dragged(policy, snapshot):
            return decision
        # What is merged after a check or in its turn is merged for whoever put the card where it stands.
        placed = MoverFound(snapshot.card_id, snapshot.column or "", given.by, given.role)
        return Decision((placed,)) + decision
    run = snapshot.run
    if run and snapshot.unopened and run.has_finished_work and not snapshot.open_pull:
        said = f"Cardinal opens the pull request of {run.run_id} again. Its work is done: no run was started."
        opens = OpenPull(snapshot.card_id, run.run_id, again=True)
        return Decision((opens,)) + say(snapshot, given, said)
    if snapshot.begun and was_before(given.said_at, snapshot.begun[0], now):
        return say(snapshot, given, "That was said before the newest run, so no other run was started.")
    because = start_obstacle(policy, snapshot)
    if because:
        return say(snapshot, given, f"No run was started: {because}.")
    return queue_card(policy, snapshot, by=given.by, door=door_of(given.source), mode=again(policy, snapshot))
