"""Pause the run or the card; `column` or `board` stops everything there."""

from collections.abc import Iterator
from datetime import datetime

from ledger.events.board import StopOrdered
from ledger.events.conversation import CommandGiven
from ledger.events.run import RunStopAsked
from ledger.states import RUN_HELD, RunState, StopKind
from rules.card.stops import stop_words
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.kill_switch import targets
from rules.snapshot import Snapshot

USAGE = "/cardinal pause [column|board]"
ROLE = Role.WRITE
TAKES = "optional"
SCOPES = {"column": "stop-all", "board": "stop-all"}  # stopping what is everybody's needs that command's role
IS_SAFE = True


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer it for a run that neither waits for somebody nor stops already."""
    run = snapshot.live_run
    waits = run and (run.state is RunState.AWAITING_APPROVAL or snapshot.question is not None)
    if run and not (waits or run.stop_asked):
        yield CommandOffer(f"pause:{run.run_id}", "Pause", "Stop for now; nothing is lost", Urgency.RUN)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Pause a run that a worker holds; else stop the card, the column or the board."""
    scope = given.argument.strip().lower() or "card"
    run = snapshot.live_run
    if scope not in ("card", "column", "board"):
        return say(snapshot, given, f"Nothing was paused: say `{USAGE}`.")
    if scope == "card" and run and run.state in RUN_HELD:
        if run.stop_asked:
            return say(snapshot, given, f"{run.run_id} is already being stopped.", is_done=True)
        stop = RunStopAsked(run.run_id, StopKind.PAUSE, given.by, "/cardinal pause")
        return Decision((stop,), (f"{given.by} pauses {run.run_id}",))
    if scope == "card" and run and snapshot.is_paused:
        return say(
            snapshot, given, f"{run.run_id} is already paused. `/cardinal resume` continues it.", is_done=True
        )
    target = targets(snapshot)[scope]
    if held_stop := next((it for it in snapshot.stops if (it.scope, it.target) == (scope, target)), None):
        _, undo = stop_words(scope, held_stop.by, held_stop.because, claims=held_stop.claims)
        return say(snapshot, given, f"The {scope} is already stopped. `{undo}` resumes it.", is_done=True)
    order = StopOrdered(snapshot.board_id, scope, target, given.by)
    return Decision((order,), (f"{given.by} stops the {scope}",))
