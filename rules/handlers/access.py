"""Cards that Cardinal cannot work on: access that is lost or regained, and pull requests as cards."""

from collections.abc import Mapping

from ledger.events.run import RunRequeued, RunStopAsked
from ledger.states import RUN_HELD, CardState, PullCard, Reason, StopKind
from rules.card.stops import describe_stop
from rules.intents.internal import show_card
from rules.intents.outbound import Decision, Say
from rules.snapshot import Snapshot
from rules.text import sentence

_INSTEAD = "Add its issue to the board, or write one, and drag that card"
SENTENCES: Mapping[PullCard, str] = {
    PullCard.FORK: f"This pull request comes from a fork: Cardinal does not work on it. {_INSTEAD}",
    PullCard.OTHER: f"Cardinal did not open this pull request, and does not work on it. {_INSTEAD}",
    PullCard.OWN: "Cardinal opened this pull request for another card: drag that one, here nothing happens",
}
BY = "Cardinal"
WHY = "access lost"  # why such a run was paused, and not by somebody's own word


def explain_pull_card(snapshot: Snapshot, *, entered: bool) -> Decision:
    """Show on the card's face why nothing happens; say it once, where it `entered` a column that works."""
    because = SENTENCES[snapshot.pull_card]
    archetype, column = snapshot.archetype, snapshot.column_policy
    if column is None or (archetype.IS_FINAL and not column.on_entry):
        return show_card()  # nothing would happen for any card
    decision = show_card(CardState.BLOCKED, because, Reason.OUT_OF_REACH)
    if entered and (archetype.STARTS_RUNS or archetype.HAS_ASSISTANT):
        decision += Decision((Say(snapshot.card_id, "pull-card", sentence(because)),))
    return decision


def refuse_outside_owner(snapshot: Snapshot) -> Decision:
    """Block a card whose issue other people have the say over: nothing that is said there is obeyed."""
    said = f"its issue is outside {snapshot.board_owner}: cards of other owners are shown, but not worked on"
    return show_card(CardState.BLOCKED, said, Reason.OUT_OF_REACH)


def spread(snapshot: Snapshot) -> Decision:
    """Return the decision on one card after a change of access."""
    if snapshot.archived:
        return Decision()
    if snapshot.is_outside_owner:
        return _pause(snapshot) + refuse_outside_owner(snapshot)
    if snapshot.pull_card:
        return explain_pull_card(snapshot, entered=False)
    if snapshot.archetype.IS_FINAL:
        return Decision()  # nothing is to be done there any more
    if snapshot.unreachable_reason:
        return _pause(snapshot, snapshot.unreachable_reason) + show_card()
    run = snapshot.live_run
    held = describe_stop(snapshot.stops, snapshot.card_id, snapshot.column)
    if run and snapshot.is_paused and run.stop_why == WHY and not held:
        return Decision((RunRequeued(run.run_id, "resumed"),), ("it can be reached again",))
    return show_card()


def _pause(snapshot: Snapshot, because: str = "") -> Decision:
    """Pause a run that a worker holds: its writes are refused."""
    run = snapshot.live_run
    if run is None or run.state not in RUN_HELD or run.stop_asked:
        return Decision()
    return Decision((RunStopAsked(run.run_id, StopKind.PAUSE, BY, WHY),), (because,))
