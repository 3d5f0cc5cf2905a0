"""Late commands: the person who was first with the same wish is named."""

from dataclasses import replace
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.run import BY_PUSH
from ledger.rows.runs import RunRow
from ledger.states import Ending
from rules.chatops.replies import AT_ONCE, say
from rules.commands import block, ok
from rules.handlers.card_moved import UNKNOWN
from rules.intents.outbound import Decision, Say
from rules.runs.kill_switch import targets
from rules.snapshot import Snapshot
from rules.text import code

# What a run that somebody cancelled cannot obey any more.
_OF_A_RUN = frozenset({"cancel", "pause", "resume", "finish", "approve", "redirect", "answer", "budget"})
_STARTS = frozenset({"retry", "fix", "investigate"})
_NOBODY = frozenset({"", UNKNOWN, BY_PUSH, "policy"})  # in whose name Cardinal acts by itself
_Done = tuple[str, str]  # who did what


def with_the_first(snapshot: Snapshot, given: CommandGiven, handled: Decision, now: datetime) -> Decision:
    """Return the command's decision; where it is only an answer, with the person who was first."""
    if not all(isinstance(intent, Say) for intent in handled.intents):
        return handled
    by, did = _first(snapshot, given, now)
    if by in _NOBODY or by.casefold() == given.by.casefold():
        return handled
    notice = f"{code(by, 40)} {did} first."
    if not handled.intents:
        return handled + say(snapshot, given, notice)
    said = (
        replace(intent, text=f"{notice} {intent.text}")
        for intent in handled.intents
        if isinstance(intent, Say)
    )
    return Decision(tuple(said), (notice, *handled.because))


def _first(snapshot: Snapshot, given: CommandGiven, now: datetime) -> _Done:
    run, command = snapshot.run, given.command
    if (
        run is not None
        and (command in _OF_A_RUN or (command in _STARTS and run.alive))
        and _is_cancelled(run)
    ):
        return run.stop_by, f"cancelled {run.run_id}"
    if command in _STARTS and run is not None and run.alive:
        return ("" if run.door == "checks" else run.by), f"started {run.run_id}"
    match command:
        case "block" | "claim" if not block.blocker(given):
            return _find_stop(snapshot, "card")
        case "pause" | "stop-all":
            return _find_stop(snapshot, "board" if command == "stop-all" else given.argument)
        case "resume" | "unblock" if snapshot.lifted is not None:
            by, at = snapshot.lifted
            return (by if (given.said_at or now) <= at + AT_ONCE else ""), "resumed it"
        case "finish" if run is not None and run.alive:
            return snapshot.finish_by, f"let {run.run_id} finish"
        case "ok":
            released = ok.find_meant(given, snapshot.released)
            return (released[-1].vouched_by, "let that comment through") if released else ("", "")
        case "cancel" | "check" if snapshot.checks:
            check = snapshot.checks[0]
            if command == "cancel":
                return check.stop_by, f"cancelled {check.run_id}"
            return (check.by if check.alive else ""), f"started {check.run_id}"
    return "", ""


def _is_cancelled(run: RunRow) -> bool:
    return run.stop_asked == "cancel" and run.ending in (None, Ending.CANCELLED)


def _find_stop(snapshot: Snapshot, argument: str) -> _Done:
    scope = argument.strip().lower() or "card"
    run = snapshot.live_run
    if scope == "card" and run is not None and run.stop_asked == "pause":
        return run.stop_by, f"paused {run.run_id}"
    target = targets(snapshot).get(scope)
    same = (stop.by for stop in snapshot.stops if stop.scope == scope and stop.target == target)
    return next(same, ""), f"stopped the {scope}"
