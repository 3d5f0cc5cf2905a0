"""A command was given: acknowledge it and let its file decide; or it was refused: say why."""

from dataclasses import replace
from datetime import datetime
from itertools import compress

from ledger.event import Event
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.run import BY_PUSH, PlanRebound
from ledger.rows.runs import RunRow
from ledger.states import Door, Ending, StopKind
from rules.answers import answers
from rules.card.state import list_steps
from rules.card.trigger import is_to_come, was_before
from rules.chatops.parser import APART, BOXES, door_of
from rules.chatops.replies import AT_ONCE, about, say, talk_of
from rules.commands import block, ok
from rules.handlers import check_buttons
from rules.handlers.access import SENTENCES
from rules.handlers.card_moved import UNKNOWN
from rules.intents.internal import ShowCard
from rules.intents.outbound import Decision, Intent, React, Say, UntickBoxes, WriteRunComment
from rules.policy.model import Policy
from rules.policy.roles import Role, role_of
from rules.registry import COMMANDS
from rules.runs.kill_switch import targets
from rules.snapshot import Snapshot
from rules.text import code, plain, sentence

# What a run that somebody cancelled cannot obey any more.
_OF_A_RUN = frozenset({"cancel", "pause", "resume", "finish", "approve", "redirect", "answer", "budget"})
_STARTS = frozenset({"retry", "fix", "investigate"})
_NOBODY = frozenset({"", UNKNOWN, BY_PUSH, "policy"})  # in whose name Cardinal acts by itself
_Done = tuple[str, str]  # who did what
ALWAYS = frozenset({"cancel", "pause", "stop-all"})  # what stops something is decided however fast it comes
ANSWERS = frozenset({"explain", "help", "status"})  # what they say is about each card of the issue
# What is obeyed on a card that is a pull request: it is about no card's work.
OF_BOARD = ANSWERS | {"pause", "resume", "stop-all", "subscribe", "unsubscribe"}
MAX_SHOWN = 2000  # characters of a form's text, in the comment that reports it
_READS = (
    "place", "held", "released", "lifted", "paced", "unopened", "halt", "findings", "made", "workspaces",
    "folder", "past", "compared", "reruns",
)  # fmt: skip


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
        return ("" if run.door == Door.CHECKS else run.by), f"started {run.run_id}"
    match command:
        case "block" | "claim" if not block.blocker(given):
            return _find_stop(snapshot, "card")
        case "pause" | "stop-all":
            return _find_stop(snapshot, "board" if command == "stop-all" else given.argument)
        case "resume" | "unblock" if snapshot.lifted is not None:
            at = snapshot.lifted.at
            at_once = (given.said_at or now) <= at + AT_ONCE and not is_to_come(at, now)
            return (snapshot.lifted.by if at_once else ""), "resumed it"
        case "finish" if run is not None and run.alive:
            return snapshot.finish_by, f"let {run.run_id} finish"
        case "ok":
            released = ok.find_meant(given, snapshot.released, now)
            return (released[-1].vouched_by, "let that comment through") if released else ("", "")
        case "cancel" | "check" if snapshot.checks:
            check = snapshot.checks[0]
            if command == "cancel":
                return check.stop_by, f"cancelled {check.run_id}"
            return (check.by if check.alive else ""), f"started {check.run_id}"
    return "", ""


def _is_cancelled(run: RunRow) -> bool:
    return run.is_cancelling and run.ending in (None, Ending.CANCELLED)


def _find_stop(snapshot: Snapshot, argument: str) -> _Done:
    scope = argument.strip().lower() or "card"
    run = snapshot.live_run
    if scope == "card" and run is not None and run.stop_asked is StopKind.PAUSE:
        return run.stop_by, f"paused {run.run_id}"
    target = targets(snapshot).get(scope)
    same = (stop.by for stop in snapshot.stops if stop.scope == scope and stop.target == target)
    return next(same, ""), f"stopped the {scope}"


@answers(CommandGiven, answers_pulls=True, reads=_READS)
def obey_command(policy: Policy, snapshot: Snapshot, event: CommandGiven, now: datetime) -> Decision:
    """Obey the command; its comment gets a thumb, or eyes where there was nothing to do but to answer."""
    if snapshot.paced > policy.limits.commands_per_minute and event.command not in ALWAYS:
        return _too_fast(policy, snapshot, event, now)
    if door_of(event.source) in (Door.BUTTON, *APART):
        return _obey_press(policy, snapshot, event, now)
    decision = _limit_answers(_obey(policy, snapshot, event, now), event, now)
    if door_of(event.source) == Door.BOX:
        # The tick stays in the comment until it is written anew; a reaction to oneself would say nothing.
        run = snapshot.run
        again: tuple[Intent, ...] = (WriteRunComment(snapshot.card_id, run.run_id),) if run else ()
        return decision + Decision(again)
    answered = bool(decision.intents) and all(isinstance(intent, Say) for intent in decision.intents)
    if answered and snapshot.goes_first and event.command not in ANSWERS:
        return Decision((), (f"it is for {snapshot.goes_first.run_id}, on the same issue",))
    mark = React(snapshot.card_id, event.place, event.comment_id, "eyes" if answered else "+1")
    return Decision((mark,)) + decision


def _obey(policy: Policy, snapshot: Snapshot, event: CommandGiven, now: datetime) -> Decision:
    unbound = event.source.removeprefix("box:") in BOXES  # it names no run: it is about the newest one then
    if unbound and snapshot.begun and was_before(event.said_at, snapshot.begun[0], now):
        return say(snapshot, event, "That box was ticked before the newest run, so it changed nothing.")
    if snapshot.pull_card and event.command not in OF_BOARD:
        return say(snapshot, event, sentence(SENTENCES[snapshot.pull_card]))
    handled = COMMANDS.load(event.command).handle(policy, snapshot, event, now)
    is_new = (not isinstance(it, ShowCard) or list_steps(policy, snapshot, it) for it in handled.intents)
    decision = Decision(tuple(compress(handled.intents, is_new)), handled.because)
    return with_the_first(snapshot, event, decision, now)


def _obey_press(policy: Policy, snapshot: Snapshot, event: CommandGiven, now: datetime) -> Decision:
    """Obey a button of the check or a form, unless it is about an older run than the card's newest."""
    late = check_buttons.describe_superseded(snapshot, event)
    refused = with_the_first(snapshot, event, say(snapshot, event, late), now) if late else Decision()
    decision = refused if late else _obey(policy, snapshot, event, now)
    if door_of(event.source) in APART:
        return _report(snapshot, decision, event)
    return _limit_answers(check_buttons.answer_press(snapshot, decision, event, now), event, now)


def _report(snapshot: Snapshot, decision: Decision, event: CommandGiven) -> Decision:
    """Report on the card a command that nobody can see there, with its answer, in one comment."""
    argument = plain(event.argument, MAX_SHOWN)
    ways: dict[str, str] = {
        Door.API: f"by a program (token {code(event.via, 60)})",
        Door.CLI: f"on the command line of Cardinal's host (as {code(event.via, 60)})",
        Door.REPLY: f"by {plain(event.via, 60)}",
    }
    where = ways.get(event.place, "on Cardinal's page")
    said = f"{code(event.by, 40)} gave `/cardinal {event.command}` {where}"
    said += f": “{argument}”." if argument else "."
    said_on_card = [intent for intent in decision.intents if isinstance(intent, Say)]
    answers = [intent.text for intent in said_on_card]
    acts = tuple(intent for intent in decision.intents if not isinstance(intent, Say))
    apart = "\n\n" if any(answer.startswith(("- ", "| ")) for answer in answers) else " "  # Markdown wants it
    told = Say(
        snapshot.card_id,
        about(event),
        apart.join((said, *answers)),
        talk_of(event),
        answer="\n\n".join(answers),
        is_done=event.command in ANSWERS
        or any(it.is_done for it in said_on_card)
        or any(map(_has_effect, acts)),
    )
    return Decision((*acts, told), (*decision.because, told.text))


def _has_effect(act: Intent | Event) -> bool:
    """Tell whether a decision does more than to show something, or to ask about a plan once more."""
    return not act.only_shows if isinstance(act, Intent) else not isinstance(act, PlanRebound)


def _too_fast(policy: Policy, snapshot: Snapshot, event: CommandGiven, now: datetime) -> Decision:
    """Obey nothing more of somebody this minute, and say so once: two programs could answer each other."""
    card, place = snapshot.card_id, talk_of(event)
    text = (
        f"{code(event.by, 40)} gave more than {policy.limits.commands_per_minute} commands within a minute:"
        " for now only `/cardinal cancel`, `pause` and `stop-all` are obeyed."
    )
    pace = f"pace:{event.by}:{now:%Y%m%d%H}"
    marks: tuple[Intent, ...] = (React(card, event.place, event.comment_id, "confused"),)
    if door_of(event.source) == Door.BOX:
        marks = (UntickBoxes(card, event.place, event.comment_id),)
    elif door_of(event.source) in (Door.BUTTON, *APART):
        marks = ()
    return Decision((*marks, Say(card, pace, text, place)), (text,))


@answers(CommandRefused, answers_pulls=True)
def explain_refusal(policy: Policy, snapshot: Snapshot, event: CommandRefused, now: datetime) -> Decision:
    """Say why the command was refused and which role it needs; a box that was ticked is restored."""
    card, place = snapshot.card_id, talk_of(event)
    if door_of(event.command) in (Door.BUTTON, *APART):
        # Once an hour for each button or form and person: it can be pressed without end.
        once = f"{event.command}:{event.by}:{now:%Y%m%d%H}"
        return _limit_answers(
            Decision((Say(card, once, event.because, place),), (event.because,)), event, now
        )
    if door_of(event.command) == Door.BOX:
        ticked = f"command:{event.comment_id}:{event.by}:{event.command}"
        untick = UntickBoxes(card, event.place, event.comment_id)
        return Decision((untick, Say(card, ticked, event.because, place)), (event.because,))
    mark = React(card, event.place, event.comment_id, "confused")
    # One that is mended by an edit gets a word of its own.
    answer = Say(card, f"command:{event.comment_id}:{event.command}", event.because, place)
    return _limit_answers(Decision((mark, answer), (event.because,)), event, now)


def _limit_answers(decision: Decision, event: CommandGiven | CommandRefused, now: datetime) -> Decision:
    """Answer people without write access once an hour and card: each comment is a mail to many."""
    if role_of(event.role).covers(Role.WRITE):
        return decision
    once = f"outsider:{event.by}:{now:%Y%m%d%H}"
    intents = (
        replace(intent, about=once) if isinstance(intent, Say) else intent for intent in decision.intents
    )
    return Decision(tuple(intents), decision.because)
