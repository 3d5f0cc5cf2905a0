"""A card enters a column: seen there for the first time, or moved there by a person or by Cardinal."""

from datetime import datetime

from ledger.events.board import (
    CardArrived,
    CardConverted,
    CardDescribed,
    CardExplained,
    CardHeldBack,
    CardMoved,
    CardReplaced,
    CardRestored,
    CardSeen,
    LabelJudged,
    MoverFound,
)
from ledger.events.placement import RepositoryResolved
from ledger.rows.runs import RunRow
from ledger.states import CardState, Reason, RunState
from rules.answers import answers
from rules.card.agent_choice import chooses
from rules.card.column_actions import act
from rules.card.left_column import apply_on_leave, came_back, is_leaving, let_run_go, only_waits, serve_return
from rules.card.preferences import reorder_run
from rules.card.trigger import RuleTrigger
from rules.columns import planning
from rules.handlers.access import spread
from rules.intents.internal import show_card
from rules.intents.outbound import Decision, Say, UpdateFace, WriteRunComment
from rules.policy.model import Policy
from rules.policy.roles import role_of
from rules.runs.plan_approval import is_reworded
from rules.snapshot import Snapshot
from rules.text import code, sentence

CARD_MARK = "<!-- cardinal:card:"  # ends the text of an issue that an agent asked for
UNDRAGGED = "an agent asked for this card: /cardinal retry, or drag it out and in again, to start work on it"
UNKNOWN = "the board"  # as whom a drag counts of which it is not known whose it was


def serve_new_card(policy: Policy, snapshot: Snapshot, event: CardSeen, now: datetime) -> Decision:
    """Serve a card that stands in a column when it is seen for the first time."""
    if event.column != snapshot.column:
        return Decision((), ("the card has moved on since",))
    if not event.arrived:  # it stood there before Cardinal came: nobody dragged it for an agent
        # Its face in a last column on GitHub stays as people left it.
        return show_card(on_face=not snapshot.archetype.IS_FINAL)
    if _nobody_dragged(snapshot):
        return show_card(because=UNDRAGGED)
    return enter_column(policy, snapshot, now)


@answers(CardMoved, by_mover=True, unsettles_merge=True, changes_check=True)
def serve_move(policy: Policy, snapshot: Snapshot, event: CardMoved, now: datetime) -> Decision:
    """Serve a card that changed its column; one with a run that has begun is held back."""
    if event.after != snapshot.column or snapshot.archived:
        return Decision((), ("the card has moved on since",))
    run = snapshot.live_run
    if run and is_leaving(event, run) and only_waits(run):
        return exit_from(policy, snapshot, event.before, now) + let_run_go(snapshot, event.after, run)
    if run and is_leaving(event, run):
        return apply_on_leave(policy, snapshot, event, run, now)
    if run:
        return serve_return(snapshot, event)
    if event.before is None and _nobody_dragged(snapshot):
        return show_card(because=UNDRAGGED)
    return exit_from(policy, snapshot, event.before, now) + enter_column(policy, snapshot, now)


@answers(CardArrived, by_mover=True)
def serve_arrival(policy: Policy, snapshot: Snapshot, event: CardArrived, now: datetime) -> Decision:
    """Serve a card whose drag is known from a delivery only."""
    if event.column != snapshot.column or snapshot.archived:
        return Decision((), ("the card has moved on since",))
    if snapshot.live_run:
        return came_back(policy, snapshot, snapshot.live_run)
    if snapshot.begun and snapshot.begun[0] > event.came_at:
        return Decision((), ("a run has begun since",))
    if snapshot.run is None and _nobody_dragged(snapshot):
        return show_card(because=UNDRAGGED)
    return exit_from(policy, snapshot, event.column, now) + enter_column(policy, snapshot, now)


def _nobody_dragged(snapshot: Snapshot) -> bool:
    """Tell whether an automation put an agent's own card to work: agents that hire agents would never end."""
    made = CARD_MARK in snapshot.body
    return made and snapshot.archetype.STARTS_RUNS


@answers(MoverFound, by_mover=True, unsettles_merge=True)
def mover_found(policy: Policy, snapshot: Snapshot, event: MoverFound, now: datetime) -> Decision:
    """Serve a card that waited since it was not known who had moved it."""
    if event.column != snapshot.column or snapshot.archived or snapshot.reason is not Reason.MOVER_UNKNOWN:
        return Decision()
    run = snapshot.live_run
    if run is None:
        return enter_column(policy, snapshot, now)
    move = CardMoved(
        card_id=snapshot.card_id,
        before=run.column,
        after=event.column,
        by_cardinal=False,
        by=event.by,
        role=event.role,
    )
    return apply_on_leave(policy, snapshot, move, run, now) if is_leaving(move, run) else Decision()


def dragger(snapshot: Snapshot) -> str:
    """Return the person for whom the column serves the card: its mover, or the owner of the run."""
    return snapshot.moved_by.login or UNKNOWN


def exit_from(policy: Policy, snapshot: Snapshot, column: str | None, now: datetime) -> Decision:
    """Carry out the `on_exit` actions of the column that the card left."""
    column_policy = policy.column(column)
    if column_policy is None or not column_policy.on_exit:
        return Decision()
    return act(
        policy, snapshot, column_policy.on_exit, RuleTrigger(f"{column}/on_exit", dragger(snapshot), now)
    )


def enter_column(policy: Policy, snapshot: Snapshot, now: datetime) -> Decision:
    if snapshot.archived:
        return show_card()
    free = (CardHeldBack(snapshot.card_id, "", "policy"),) if snapshot.held_back == snapshot.column else ()
    released = Decision(free)
    column = snapshot.column_policy
    if column is None:
        return released + show_card()
    trigger = RuleTrigger(f"{snapshot.column}/on_entry", dragger(snapshot), now)
    return released + snapshot.archetype.enter(policy, snapshot, column, trigger)


@answers(CardConverted, by_mover=True)
def continue_converted(
    policy: Policy, snapshot: Snapshot, event: CardConverted | CardReplaced, now: datetime
) -> Decision:
    """Resume the step that needed an issue in place of the draft."""
    archetype = snapshot.archetype
    if archetype.HAS_ASSISTANT:
        return planning.ask_assistant(snapshot)
    if archetype.STARTS_RUNS and snapshot.run is None:
        return enter_column(policy, snapshot, now)
    # It may have been blocked because its repository was not found under the name that it had.
    return spread(snapshot) if snapshot.state is CardState.BLOCKED else Decision()


@answers(CardReplaced, by_mover=True)
def continue_replaced(policy: Policy, snapshot: Snapshot, event: CardReplaced, now: datetime) -> Decision:
    """Write the face anew, for the draft's went with it, and resume as after a conversion."""
    return Decision((UpdateFace(snapshot.card_id),)) + continue_converted(policy, snapshot, event, now)


@answers(CardDescribed, by_mover=True)
def serve_description(policy: Policy, snapshot: Snapshot, event: CardDescribed, now: datetime) -> Decision:
    """Let the assistant begin once a card in planning says something; labels may give another priority."""
    return _serve_text(snapshot) + reorder_run(policy, snapshot)


def _serve_text(snapshot: Snapshot) -> Decision:
    if snapshot.live_run and is_reworded(snapshot):
        return _tell_old_text(snapshot, snapshot.live_run)
    begun = snapshot.last_answered > 0 or snapshot.last_said > 0 or snapshot.brief
    if not snapshot.archetype.HAS_ASSISTANT or begun or snapshot.is_draft:
        return Decision()
    return planning.ask_assistant(snapshot)


def _tell_old_text(snapshot: Snapshot, run: RunRow) -> Decision:
    """Say, once a run, that its agent goes on with the text from before: an edit never acts by itself."""
    text = f"The issue was edited, and {run.run_id} was not told: it works from the earlier text. "
    if run.state is RunState.AWAITING_APPROVAL:
        text += f"Approving plan {run.plan_revision} makes a new one."
    else:
        text += "To tell it, write a comment. To start over: `/cardinal cancel`, then retry."
    return Decision((Say(snapshot.card_id, f"edited:{run.run_id}", text),), (text,))


@answers(RepositoryResolved, by_mover=True)
def serve_placement(policy: Policy, snapshot: Snapshot, event: RepositoryResolved, now: datetime) -> Decision:
    """Resume a card that waited for its repository, or ask again."""
    waits = (
        snapshot.reason is Reason.REPOSITORY_UNCLEAR and snapshot.live_run is None and not snapshot.archived
    )
    if waits:
        return enter_column(policy, snapshot, now)
    # The repository that it named before may be out of reach, which does not concern it any more.
    # Why else it is blocked, it is not for a label to take back.
    out_of_reach = bool(snapshot.unreachable_reason) or snapshot.reason is Reason.OUT_OF_REACH
    return show_card() if snapshot.state is CardState.BLOCKED and out_of_reach else Decision()


@answers(CardRestored, by_mover=True)
def show_restored(policy: Policy, snapshot: Snapshot, event: CardRestored, now: datetime) -> Decision:
    """Show a card that is back; it starts nothing by itself."""
    if snapshot.state is not CardState.ARCHIVED:
        return Decision()
    return show_card()


@answers(CardExplained)
def show_explanation(policy: Policy, snapshot: Snapshot, event: CardExplained, now: datetime) -> Decision:
    """Show it on the card's face, and a new cause in the comment of a queued run: GitHub counts each edit."""
    run = snapshot.live_run
    waits = run is not None and run.state is RunState.QUEUED and event.changed
    told = (WriteRunComment(snapshot.card_id, run.run_id),) if run and waits else ()
    return Decision((UpdateFace(snapshot.card_id), *told))


@answers(LabelJudged)
def refuse_label(policy: Policy, snapshot: Snapshot, event: LabelJudged, now: datetime) -> Decision:
    """Say of a label that would choose something for the card that it does not, and why."""
    board = policy.board
    maps = (*board.repositories.labels, *board.modes.labels, *board.labels)
    choosing = {label.casefold() for label in maps}
    by_name = chooses(event.label) and any(column.agents for column in board.columns.values())
    decision = reorder_run(policy, snapshot)
    if event.counts or not (event.label.casefold() in choosing or by_name) or snapshot.is_draft:
        return decision
    text = f"{code(event.by, 40)} set the label {code(event.label)}, has the role {code(role_of(event.role))}"
    text += " here, and may not move cards: it chooses nothing."
    text += " Ask someone who may move cards to remove it and set it again"
    about = f"label:{event.by}:{event.label}:{now:%Y%m%d%H}"
    return Decision((Say(snapshot.card_id, about, sentence(text)),), (text,)) + decision
