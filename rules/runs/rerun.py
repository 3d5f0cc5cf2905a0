"""Runs that do again what an earlier one did, beside the card's own: what is shown of them, and their end."""

from ledger.events.access import AccessLost
from ledger.events.board import StopOrdered
from ledger.events.run import RunEnded, RunEvent, RunParked, RunQueued, RunStopAsked
from ledger.ids import CardId
from ledger.model.run_modes import INVESTIGATE
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState, StopKind
from rules.card.left_column import end_waiting
from rules.intents.outbound import Decision, Intent, PostReport, UpdateTicker, WriteFindings, WriteRunComment
from rules.policy.column import ColumnPolicy, Tools
from rules.policy.network import narrowest
from rules.policy.stages import strictest
from rules.snapshot import Snapshot
from rules.text import plain

MAX_AT_ONCE = 3  # of a card
# Settings of a column that count as they are today.
OF_TODAY = (
    *("budget_usd", "timeout_minutes", "silence_minutes", "max_turns", "max_tokens", "max_output_mb"),
    *("retries", "secrets"),
)
ASKED = (
    "it needs a person, and a run beside the card's own waits for nobody: its page has the question. Change"
    " what it asks about (the policy, the budget, the issue), then rerun it; or continue from there with"
    " `/cardinal fork`, its name and your answer"
)


def limit_to_today(then: ColumnPolicy, today: ColumnPolicy | None) -> ColumnPolicy:
    """Return the settings of then with today's limits and secrets, where the agent may do no more than both
    allow. Of a column that is gone nothing is given: no secret, and no host.
    """
    if today is None:
        tools = then.tools.model_copy(update={"network": ()})
        return then.model_copy(update={"secrets": (), "tools": tools})
    limits = {name: getattr(today, name) for name in OF_TODAY}
    return then.model_copy(update={**limits, "tools": _narrow(then.tools, today.tools)})


def _narrow(then: Tools, today: Tools) -> Tools:
    asks = tuple(dict.fromkeys((*then.ask, *today.ask)))
    least = {name: strictest(getattr(then, name), getattr(today, name)) for name in ("edit", "run", "commit")}
    return then.model_copy(update={**least, "ask": asks, "network": narrowest(then.network, today.network)})


def follow_rerun(snapshot: Snapshot, run: RunRow, event: RunEvent) -> Decision:
    """Show the run and report its end: it moves no card, and touches no branch or pull request of the card.

    One that waits for a person ends: the card's answers are for its own run.
    """
    card = snapshot.card_id
    shown: list[Intent] = [WriteRunComment(card, run.run_id)]
    if isinstance(event, RunQueued | RunEnded):
        shown.append(UpdateTicker(CardId(snapshot.board_id)))
    if isinstance(event, RunEnded):
        found = run.mode == INVESTIGATE and event.ending is Ending.SUCCEEDED
        shown.insert(0, WriteFindings(card, run.run_id) if found else PostReport(card, run.run_id))
    decision = Decision(tuple(shown), (f"{run.run_id} is beside the card's own runs",))
    if isinstance(event, RunParked) and run.state is RunState.PARKED:
        decision += Decision((end_waiting(run, "gave_up", ASKED),))
    return decision


def stop_all_reruns(snapshot: Snapshot, because: str) -> Decision:
    """Cancel the live reruns of a card that is given up: nobody would compare them, or could cancel them."""
    live = (run for run in snapshot.reruns if not run.is_cancelling)
    return Decision(tuple(RunStopAsked(run.run_id, StopKind.CANCEL, "policy", because) for run in live))


def stop_rerun(run: RunRow, event: StopOrdered) -> Decision:
    """Cancel a live rerun in the scope of a kill switch: it has no card that could let it go on."""
    named = {"board": run.board_id, "column": run.column, "card": run.card_id}
    if run.board_id != event.board_id or named[event.scope] != event.target or run.stop_asked:
        return Decision()
    stop = RunStopAsked(run.run_id, StopKind.CANCEL, event.by, f"{event.scope} stopped")
    return Decision((stop,), (f"the {event.scope} is stopped",))


def lose_access(run: RunRow, event: AccessLost) -> Decision:
    """Cancel a live rerun of a repository that is out of reach: it could not push, and waits for nobody."""
    places = {run.repository.casefold(), run.repository.partition("/")[0].casefold()}
    is_hit = run.board_id == event.board_id and event.target.casefold() in places
    if not is_hit or event.reason == "permissions" or run.stop_asked:
        return Decision()
    because = f"{plain(event.target, 100)} is out of reach"
    return Decision((RunStopAsked(run.run_id, StopKind.CANCEL, "policy", because),), (because,))
