"""Continue a paused run or card; `column` or `board` lifts the stop of everything there."""

from collections.abc import Iterator
from datetime import datetime

from ledger.event import RuleEvent
from ledger.events.board import HaltLifted, StopLifted
from ledger.events.conversation import CommandGiven
from ledger.events.run import RunRequeued
from ledger.states import StopKind
from rules.card.stops import describe_block, describe_stop, identify_stop
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import SEEN_STOP, Parsed, RefusedCommand, permit
from rules.chatops.replies import STALE_STOP, is_stale_stop, say
from rules.intents.outbound import Decision, Intent
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.kill_switch import targets
from rules.snapshot import Snapshot
from rules.text import sentence

USAGE = "/cardinal resume [column|board]"
ROLE = Role.WRITE
TAKES = "optional"
SCOPES = {"column": "stop-all", "board": "stop-all"}  # who may not stop it may not start it either


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer it for a paused run, and for a pause of the card or a stop of the board."""
    run = snapshot.live_run
    if run and snapshot.is_paused:
        yield CommandOffer(f"resume:{run.run_id}", "Resume", "Resume the paused run", Urgency.RUN)
    for stop in snapshot.stops:
        name, label = f"resume:{SEEN_STOP}{identify_stop(stop)}", f"Resume the {stop.scope}"
        if (stop.scope, stop.target) == ("card", snapshot.card_id) and not stop.because:
            yield CommandOffer(name, label, "Lift the card's own stop", Urgency.RUN)
        if stop.scope == "board":
            words, on = (("board", label),), "The board is stopped"
            yield CommandOffer(name, label, on, Urgency.RUN, choices=words, of_board=True)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Lift the stop of that scope; without one, requeue the paused run and lift the card's own stop.

    A block is lifted by whom the policy lets `unblock` it.
    """
    scope = given.argument.strip().lower() or "card"
    if scope not in ("card", "column", "board"):
        return say(snapshot, given, f"Nothing was resumed: say `{USAGE}`.")
    card, run, target = snapshot.card_id, snapshot.live_run, targets(snapshot)[scope]
    if is_stale_stop(snapshot, given):
        return say(snapshot, given, STALE_STOP)
    if scope == "card" and (held := describe_block(snapshot.stops, card)):
        may = permit(policy, Parsed("unblock", ""), role=given.role, login=given.by)
        if isinstance(may, RefusedCommand):
            return say(snapshot, given, f"{sentence(held)} {may.because}")
    intents: list[Intent | RuleEvent] = [
        StopLifted(snapshot.board_id, scope, target, given.by)
        for stop in snapshot.stops
        if stop.scope == scope and stop.target == target
    ]
    if scope == "board" and snapshot.halt:
        intents.append(HaltLifted(snapshot.board_id, snapshot.halt.cause, given.by))
    if scope == "card" and run and snapshot.is_paused:
        intents.append(RunRequeued(run.run_id, "resumed", by=given.by))
    if intents:
        return Decision(tuple(intents), (f"{given.by} resumes the {scope}",))
    return say(snapshot, given, _nothing(snapshot, scope))


def _nothing(snapshot: Snapshot, scope: str) -> str:
    run = snapshot.live_run
    if scope != "card":
        return f"The {scope} is not stopped."
    if run and snapshot.question:
        return f"{run.run_id} is not paused, it is waiting for an answer: `/cardinal answer <text>`."
    if run and run.stop_asked is StopKind.PAUSE:
        return f"{run.run_id} is still stopping: resume it in a moment."
    wider = describe_stop(snapshot.stops, snapshot.card_id, snapshot.column)
    return f"The card itself is not paused, but {wider}." if wider else "Nothing is paused on this card."
