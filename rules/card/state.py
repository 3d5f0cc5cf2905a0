"""The state that a card ought to be in, the legal way there, and what people are shown of it at the end."""

from dataclasses import dataclass, replace

from ledger.event import RuleEvent
from ledger.events.board import CardExplained
from ledger.events.run import OWN
from ledger.ids import CardId
from ledger.model.column_names import same_column
from ledger.rows.runs import RunRow
from ledger.rows.same_issue import RunElsewhere
from ledger.states import ATTENTION, CARD_STEPS, CardState, Ending, Reason, RunKind, RunState, StopKind
from rules.card.dependencies import why_waiting
from rules.card.routes import find_route
from rules.card.stops import describe_block
from rules.intents.internal import ChangeCardState, ShowCard
from rules.intents.outbound import Decision, Intent, MoveCard, UpdateFace, UpdateTicker, WriteRunComment
from rules.policy.model import Policy
from rules.registry import ARCHETYPES, Archetype
from rules.snapshot import Snapshot
from rules.text import code, plain

# Loud on the board, so never a stop on the way to something else when there is another way.
_LOUD = (CardState.BLOCKED, CardState.FAILED)


@dataclass(frozen=True, slots=True)
class DerivedState:
    """A state and the sentence that people read with it."""

    state: CardState
    because: str
    reason: Reason = Reason.OTHER


def drag_on(policy: Policy, column: str | None, *archetypes: str) -> str:
    """Return the next drag as words: to the first column of `archetypes` after `column`, else before it."""
    names = list(policy.board.columns)
    here = next((at for at, name in enumerate(names) if column and same_column(name, column)), -1)
    further = [*names[here + 1 :], *names[: max(here, 0)]]
    columns = policy.board.columns
    target = next((it for kind in archetypes for it in further if columns[it].archetype == kind), "")
    return f"drag the card to {plain(target, 60)}" if target else "drag the card on"


def describe_closed(policy: Policy, snapshot: Snapshot) -> str:
    """Return the sentence of a card whose issue is closed and whose work nobody has merged."""
    drag = drag_on(policy, snapshot.column, "terminal")
    return f"the issue is closed as completed: {drag}, or reopen it to continue"


def legal_states(archetype: Archetype, after: CardState, *, live: bool) -> tuple[CardState, ...]:
    """Return the states among which a card becomes `after`. The states of its live run are legal wherever it
    stands, be it in a column that no policy names any more.
    """
    kinds = (archetype, *(part for _, part in ARCHETYPES.all() if live and part.STARTS_RUNS))
    return next((kind.STATES for kind in kinds if after in kind.STATES), archetype.STATES)


def legal_way(legal: tuple[CardState, ...], before: CardState, after: CardState) -> tuple[CardState, ...]:
    """Return the steps from `before` to `after` among `legal` states; empty when there is nothing to do.

    A state that is not legal in the column was brought along from another: any legal one may follow.
    """
    if before is after:
        return ()
    if after is CardState.ARCHIVED:
        return (after,)
    if after not in legal:
        return ()
    if before not in legal or after in CARD_STEPS[before]:
        return (after,)
    between = sorted((state for state in legal if state in CARD_STEPS[before]), key=lambda s: s in _LOUD)
    return next(((state, after) for state in between if after in CARD_STEPS[state]), ())


def conclude_decision(policy: Policy, snapshot: Snapshot, decision: Decision) -> Decision:
    """Return the decision with each ShowCard carried out: the card's steps, or its sentence, and its face.

    Repeated intents are dropped, and those that GitHub refuses for a card that left the board.
    """
    refused: tuple[type[Intent], ...] = (UpdateFace, MoveCard) if snapshot.archived else ()
    shown: dict[object, ShowCard | None] = {
        it: _find_shown(policy, snapshot, it) for it in decision.intents if isinstance(it, ShowCard)
    }
    asked = [it for wanted in decision.intents if (it := shown.get(wanted, wanted)) is not None]
    steps = (list_steps(policy, snapshot, it) if isinstance(it, ShowCard) else (it,) for it in asked)
    once = dict.fromkeys(intent for step in steps for intent in step if not isinstance(intent, refused))
    lines = (shown.get(line, line) for line in decision.because)
    said = (plain(line.because, 300) if isinstance(line, ShowCard) else line for line in lines)
    return Decision(tuple(once), tuple(dict.fromkeys(line for line in said if line)))


def list_steps(policy: Policy, snapshot: Snapshot, wanted: ShowCard) -> tuple[Intent | RuleEvent, ...]:
    """Return what shows the card so: its steps there, or only the sentence; empty where nothing is new."""
    card, shown = snapshot.card_id, _find_shown(policy, snapshot, wanted)
    if shown is None:
        return ()
    after, line, reason = shown.state or snapshot.state, shown.because, shown.reason
    face = (UpdateFace(card),) if shown.on_face else ()
    legal = legal_states(snapshot.archetype, after, live=snapshot.live_run is not None)
    if way := legal_way(legal, snapshot.state, after):
        steps = (ChangeCardState(card, state, line, reason) for state in way)
        return (*steps, *face, *_comment(snapshot), *_ticker(snapshot, after))
    is_new = snapshot.state is after and (snapshot.because, snapshot.reason) != (line, reason)
    return (CardExplained(card, line, reason), *face) if shown.stays or is_new else ()


def _find_shown(policy: Policy, snapshot: Snapshot, shown: ShowCard) -> ShowCard | None:
    """Return it with its state and the sentence for people; None where the card stays as it is."""
    if shown.stays:
        return shown
    derived = derive(policy, snapshot) if shown.state is None else DerivedState(shown.state, shown.because)
    if derived is None:
        return None
    because, reason = (shown.because, shown.reason) if shown.because else (derived.because, derived.reason)
    return replace(shown, state=derived.state, because=plain(because, 300), reason=reason)


def derive(policy: Policy, snapshot: Snapshot) -> DerivedState | None:
    """Return the state that the card ought to be in; None where it should stay as it is."""
    if snapshot.archived:
        return DerivedState(CardState.ARCHIVED, "the card left the board")
    archetype = snapshot.archetype
    if snapshot.unreachable_reason and not archetype.IS_FINAL:
        return DerivedState(CardState.BLOCKED, snapshot.unreachable_reason, Reason.OUT_OF_REACH)
    blocked, run = describe_block(snapshot.stops, snapshot.card_id), snapshot.live_run
    waits = run is None or snapshot.is_paused or run.state is RunState.QUEUED
    if blocked and waits and not archetype.IS_FINAL:
        claimed = run is None and not snapshot.closed and any(stop.claims for stop in snapshot.stops)
        derived = archetype.derive(policy, snapshot) if claimed and snapshot.column_policy else None
        if derived:
            return _of_claim(archetype, derived, blocked)
        return DerivedState(CardState.BLOCKED, blocked, Reason.BLOCKED)
    if run:
        return _of_live_run(policy, snapshot, run)
    if snapshot.column_policy is None:
        return DerivedState(CardState.DRAFT, _describe_unserved(snapshot.column))
    derived = archetype.derive(policy, snapshot)
    return _add_failure(policy, snapshot, archetype, derived) if derived else None


def describe_failed_run(run: RunRow) -> str:
    """Return why a run did not come to its end, for people."""
    reason = plain(run.detail or run.reason or "it stopped", 160)
    return f"{run.run_id} {'was lost' if run.ending is Ending.LOST else 'failed'}: {reason}"


def _add_failure(
    policy: Policy, snapshot: Snapshot, archetype: Archetype, derived: DerivedState
) -> DerivedState:
    """Return the state with the failure for which Cardinal moved the card to a column where nothing runs."""
    run = snapshot.run
    failed = run is not None and run.ending in (Ending.FAILED, Ending.LOST)
    if run is None or not failed or archetype.STARTS_RUNS or not snapshot.own_move:
        return derived
    if not same_column(find_route(policy, run, "on_failure", run.column), snapshot.column or ""):
        return derived  # people had it moved here
    because = f"{describe_failed_run(run)} (in {plain(run.column, 60)}); {derived.because}"
    return replace(derived, because=because, reason=derived.reason or Reason.RUN_FAILED)


def _of_claim(archetype: Archetype, derived: DerivedState, claimed: str) -> DerivedState:
    """Return the state of a card that somebody took: it waits for no agent, so it is not blocked."""
    if derived.state in _LOUD and archetype.STARTS_RUNS:
        return DerivedState(CardState.WORKING, claimed, Reason.BLOCKED)
    idle = derived.state is archetype.STATES[0]
    return DerivedState(derived.state, claimed if idle else derived.because, Reason.BLOCKED)


def _describe_unserved(column: str | None) -> str:
    if column is None:
        return "the card is not in a column yet: drag it to one"
    return f"the policy names no column {code(column)}: nothing runs there"


def say_whose_turn(other: RunElsewhere) -> str:
    """Return why a queued run waits for one on the same issue."""
    return (
        f"waiting for the run on board {plain(other.board, 80)}: {other.run_id} works on the same issue."
        " It continues on its own when that ends"
    )


def _comment(snapshot: Snapshot) -> tuple[Intent, ...]:
    """Have the comment of a queued run say why it waits now."""
    run = snapshot.live_run
    waits = run is not None and run.state is RunState.QUEUED and not snapshot.archived
    return (WriteRunComment(snapshot.card_id, run.run_id),) if run and waits else ()


def _ticker(snapshot: Snapshot, after: CardState) -> tuple[Intent, ...]:
    """Bring the board's ticker up to date where the card begins or ends to wait for a person."""
    counts = (snapshot.state in ATTENTION) != (after in ATTENTION)
    return (UpdateTicker(CardId(snapshot.board_id)),) if counts else ()


def _of_live_run(policy: Policy, snapshot: Snapshot, run: RunRow) -> DerivedState | None:
    run_id = run.run_id
    if snapshot.question:
        return DerivedState(CardState.NEEDS_INPUT, f"{run_id} asks: {snapshot.question.text}")
    match run.state:
        case RunState.AWAITING_APPROVAL:
            return DerivedState(CardState.NEEDS_INPUT, f"the plan of {run_id} is waiting for approval")
        case RunState.PARKED if run.stop_asked is StopKind.PAUSE:
            who = f" by {run.stop_by}" if run.stop_by else ""
            return DerivedState(CardState.BLOCKED, f"{run_id} is paused{who}")
        case RunState.PARKED:
            return None
        case RunState.QUEUED if snapshot.goes_first:
            return DerivedState(CardState.QUEUED, say_whose_turn(snapshot.goes_first), Reason.DEPENDENCY)
        case RunState.QUEUED if held := why_waiting(policy, snapshot):
            return DerivedState(*held, Reason.DEPENDENCY)
        case RunState.QUEUED if run.agent == OWN:
            said = f"{run_id} is waiting for a worker of your own to claim it"
            return DerivedState(CardState.QUEUED, said, Reason.PERSON)
        case RunState.QUEUED | RunState.CLAIMED:
            return DerivedState(CardState.QUEUED, f"{run_id} is waiting for its turn")
        case _:
            busy = CardState.REVISING if run.kind in (RunKind.REVISION, RunKind.REPAIR) else CardState.WORKING
            return DerivedState(busy, f"{run_id} is working")
