"""planning: a shared assistant talks with people until the card has acceptance criteria."""

from ledger.states import CardState
from rules.card.column_actions import act, headlines
from rules.card.state import DerivedState, drag_on
from rules.card.trigger import RuleTrigger
from rules.intents.internal import show_card
from rules.intents.outbound import AskAssistant, ConvertDraft, Decision
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.snapshot import Snapshot

STATES = (CardState.DISCUSSING, CardState.NEEDS_INPUT, CardState.BLOCKED)
HAS_ASSISTANT = True


def enter(policy: Policy, snapshot: Snapshot, column: ColumnPolicy, trigger: RuleTrigger) -> Decision:
    """Let the assistant answer the newest messages."""
    actions = act(policy, snapshot, column.entry_actions, trigger)
    return show_card() + ask_assistant(snapshot) + actions


def ask_assistant(snapshot: Snapshot) -> Decision:
    """Ask the assistant where there is something that it has not answered; a draft is converted first."""
    said = bool(snapshot.body.strip()) or snapshot.last_said > 0
    if not said:
        return Decision((), ("the card says nothing yet that could be answered",))
    if snapshot.last_answered >= snapshot.last_said > 0:
        return Decision((), ("the assistant has answered everything",))
    if snapshot.is_draft:
        return Decision((ConvertDraft(snapshot.card_id),), ("a conversation needs an issue",))
    return Decision((AskAssistant(snapshot.card_id, snapshot.last_said),), ("the assistant answers",))


def derive(policy: Policy, snapshot: Snapshot) -> DerivedState:
    """A card here is discussed; where the assistant asked, it waits for a person."""
    if snapshot.assistant_waits:
        return DerivedState(
            CardState.NEEDS_INPUT, "the assistant has a question for you: answer it on the issue"
        )
    if snapshot.brief:
        drag = drag_on(policy, snapshot.column, "execution")
        return DerivedState(CardState.DISCUSSING, f"ready for execution: {drag}, or write what is missing")
    return DerivedState(CardState.DISCUSSING, "write on the issue: the planning assistant answers")


def headline(column: ColumnPolicy) -> str:
    served = 'The planning assistant asks until the card says what "done" means.'
    actions = headlines(column.entry_actions)
    return f"{served} Entering {', '.join(actions)}." if actions else served
