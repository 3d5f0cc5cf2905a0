"""Drags out of the column where a run works: ask, cancel, let it finish, or end a run that never began."""

from datetime import datetime

from ledger.event import RuleEvent
from ledger.events.board import CardHeldBack, CardMoved
from ledger.events.run import RunEnded, RunStopAsked
from ledger.model.column_names import same_column
from ledger.rows.limit_answers import CANCEL, FINISH, Code, Subject, answer_question, of_rules
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, Ending, RunState, StopKind
from rules.card.trigger import time_stamp
from rules.intents.internal import show_card
from rules.intents.outbound import Decision, Intent, MoveCard, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import code

MAX_BACK = 5  # moves of Cardinal's own for one run: then something else keeps dragging, and it gives way


def is_leaving(event: CardMoved, run: RunRow) -> bool:
    """Return whether somebody, not Cardinal itself, took the card from where its live run belongs."""
    return not event.by_cardinal and not same_column(event.after, run.column)


def only_waits(run: RunRow) -> bool:
    """Return whether nothing was ever at work for the run, and nothing is."""
    return not run.begun and run.state in (RunState.QUEUED, RunState.PARKED)


def end_waiting(run: RunRow, reason: str, detail: str) -> RunEnded:
    """Return the cancelled ending of a run that no worker holds."""
    last_known = f"{run.state}: {run.last_line}" if run.last_line else str(run.state)
    return RunEnded(run.run_id, Ending.CANCELLED, reason, detail, last_known)


def let_run_go(snapshot: Snapshot, wanted: str | None, run: RunRow) -> Decision:
    """End a run that only waits: the card may go, and is served where it stands once the run has ended."""
    where = f"to {code(wanted)}" if wanted else "out of its column"
    because = f"{_name_mover(snapshot)} dragged the card {where} before {run.run_id} began"
    end = end_waiting(run, "superseded", because)
    return Decision((end,), (because,))


def came_back(policy: Policy, snapshot: Snapshot, run: RunRow) -> Decision:
    """Answer a drag out and in again that was over before anybody looked, while the card's run lives.

    The card is where its run belongs, so nothing is put back and nothing asked; whoever meant it as a new
    start reads how to get one.
    """
    column, card = policy.column(run.column), snapshot.card_id
    if run.is_cancelling:
        return Decision((), (f"{run.run_id} is already being cancelled",))
    if only_waits(run):
        return Decision((), (f"{run.run_id} is still waiting for its turn",))
    if column and column.on_leave == "cancel":
        mover = _name_mover(snapshot)
        because = f"{mover} dragged the card out of its column and back, and the policy cancels then"
        by = snapshot.moved_by.login or "policy"
        return Decision((RunStopAsked(run.run_id, StopKind.CANCEL, by, because),), (because,))
    text = f"{_name_mover(snapshot)} dragged the card out and back while {_doing(snapshot, run)}: "
    text += "that run continues. To start over: `/cardinal cancel`, then `/cardinal retry`."
    return Decision((Say(card, f"came-back:{run.run_id}", text),), (text,))


def _doing(snapshot: Snapshot, run: RunRow) -> str:
    if snapshot.question:
        return f"{run.run_id} is waiting for an answer"
    if run.state is RunState.AWAITING_APPROVAL:
        return f"{run.run_id} is waiting for its plan to be approved"
    if run.state in RUN_HELD:
        return f"{run.run_id} is working"
    return f"{run.run_id} is paused" if run.state is RunState.PARKED else f"{run.run_id} is waiting to resume"


def apply_on_leave(
    policy: Policy, snapshot: Snapshot, event: CardMoved, run: RunRow, now: datetime
) -> Decision:
    """Apply the column's rule for leaving; the run goes on until somebody has chosen."""
    column = policy.column(run.column)
    rule = column.on_leave if column else "ask"
    wanted, card = event.after, snapshot.card_id
    if run.is_cancelling:
        return Decision((), (f"{run.run_id} is already being cancelled",))
    back = MoveCard(card, run.column, about=f"back:{run.run_id}:{time_stamp(now)}", source=wanted or "")
    if snapshot.put_back >= MAX_BACK:
        return _give_way(snapshot, run, wanted)
    if wanted is None:
        text = f"The card lost its status while {_doing(snapshot, run)}, so it was put back. "
        text += "`/cardinal cancel` stops the run."
        return Decision((back, Say(card, f"back:{run.run_id}", text)), (text,))
    if rule == "cancel":
        because = f"{_name_mover(snapshot)} dragged the card to {code(wanted)}, and the policy cancels then"
        return Decision(
            (RunStopAsked(run.run_id, StopKind.CANCEL, snapshot.moved_by.login or "policy", because),),
            (because,),
        )
    hold: tuple[Intent | RuleEvent, ...] = (CardHeldBack(card, wanted, _who(snapshot)), back)
    if rule == "finish":
        return Decision(hold, (f"{run.run_id} may finish, then the card goes to {code(wanted)}",))
    if snapshot.leaving:
        return Decision(hold, ("it was asked already what should become of the run",))
    if snapshot.question:
        # One question at a time: the agent's own waits for an answer already, so say how to choose.
        text = f"{_name_mover(snapshot)} dragged the card to {code(wanted)} while {_doing(snapshot, run)}: "
        text += "it was put back until that run ends. `/cardinal cancel` stops it, "
        text += "`/cardinal finish` lets it finish its work."
        return Decision((*hold, Say(card, f"leave:{run.run_id}:{time_stamp(now)}", text)), (text,))
    text = f"{_name_mover(snapshot)} dragged the card to {code(wanted)} while {_doing(snapshot, run)}. "
    text += "Cancel it, or let it finish?"
    return Decision(
        (*hold, of_rules(run.run_id, run.questions, Subject.LEAVING, text, (CANCEL, FINISH))), (text,)
    )


def _who(snapshot: Snapshot) -> str:
    return snapshot.moved_by.login or "somebody"


def _name_mover(snapshot: Snapshot) -> str:
    return code(snapshot.moved_by.login, 40) if snapshot.moved_by.login else "Someone"


def _give_way(snapshot: Snapshot, run: RunRow, wanted: str | None) -> Decision:
    text = f"The card was dragged away {MAX_BACK} times while {_doing(snapshot, run)}, so it will not be put "
    text += "back again: does a board automation move it? `/cardinal cancel` stops the run."
    hold: tuple[Intent | RuleEvent, ...] = (
        (CardHeldBack(snapshot.card_id, wanted, _who(snapshot)),) if wanted else ()
    )
    return Decision((*hold, Say(snapshot.card_id, f"gave-way:{run.run_id}", text)), (text,))


def serve_return(snapshot: Snapshot, event: CardMoved) -> Decision:
    """Serve a card that is back where its run works; a person who brought it back has chosen to stay."""
    if event.by_cardinal or not snapshot.held_back:
        return show_card()
    card = snapshot.card_id
    kept: tuple[Intent | RuleEvent, ...] = (CardHeldBack(card, "", _who(snapshot)),)
    if snapshot.leaving:
        answer = answer_question(
            snapshot.leaving, by=_who(snapshot), text="The card was put back.", code=Code.WORDS
        )
        return Decision((*kept, answer), ("the card was put back: the run continues",))
    return show_card() + Decision(kept, ("the card was put back: the run continues",))


def release_card(snapshot: Snapshot, now: datetime) -> Decision:
    """Move a card that was held back to where it was wanted, once its run has ended."""
    if not snapshot.held_back or snapshot.run is None:
        return Decision()
    card, wanted = snapshot.card_id, snapshot.held_back
    about = f"release:{snapshot.run.run_id}:{time_stamp(now)}"
    move = MoveCard(card, wanted, about=about, source=snapshot.column or "")
    return Decision((CardHeldBack(card, "", "policy"), move), (f"the card goes to {code(wanted)}, as asked",))
