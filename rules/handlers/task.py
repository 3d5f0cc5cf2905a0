"""Answers of `ai_task` rules: posted, obeyed, and the start of the run that waited for one."""

from datetime import datetime

from ledger.events.conversation import TaskAnswered
from rules.answers import answers
from rules.card.column_actions import last_brief
from rules.card.move_rights import is_dragged
from rules.card.trigger import time_stamp
from rules.handlers.card_moved import dragger
from rules.intents.outbound import Decision, Say
from rules.intents.rule_results import AddLabels, ExpandBody, FillField
from rules.policy.model import Policy
from rules.runs.start import start
from rules.snapshot import Snapshot


@answers(TaskAnswered)
def post_task_answer(policy: Policy, snapshot: Snapshot, event: TaskAnswered, now: datetime) -> Decision:
    """Post the answer of a rule's model, and set the chosen fields."""
    card, about = snapshot.card_id, f"task:{event.rule}:{time_stamp(now)}"
    said = (Say(card, about, event.text),) if event.text.strip() else ()
    labels = (AddLabels(card, event.labels, about),) if event.labels else ()
    option = (FillField(card, event.field, event.option, about),) if event.option else ()
    body = (ExpandBody(card, event.rule, event.body, event.replaces, about),) if event.body else ()
    set_here = Decision((*said, *labels, *option, *body), (f"{event.rule} was answered",))
    return set_here + begin_run(policy, snapshot, event.rule, now)


def begin_run(policy: Policy, snapshot: Snapshot, rule: str, now: datetime) -> Decision:
    """Start the run that waited for the brief of `rule`, unless the card left or a person started it."""
    column = policy.column(snapshot.column)
    last = last_brief(column.entry_actions) if column is not None else None
    if last is None or rule != f"{snapshot.column}/on_entry/{last}" or snapshot.archived:
        return Decision()
    begun = snapshot.begun and snapshot.moved_at is not None and snapshot.begun[0] >= snapshot.moved_at
    if begun or snapshot.live_run or not is_dragged(policy, snapshot):
        return Decision()
    return start(policy, snapshot, by=dragger(snapshot), now=now)
