"""Choose a run that stood beside the card's own: its branch gets the card's pull request."""

from datetime import datetime

from ledger.events.branch import RunChosen
from ledger.events.conversation import CommandGiven
from ledger.events.run import RERUN
from ledger.ids import NO_RUN
from ledger.rows.runs import RunRow
from ledger.states import Ending, PullState, RunState
from rules.card.left_column import end_waiting
from rules.chatops.replies import say
from rules.commands.rerun import RUN
from rules.intents.outbound import Decision, Intent, PostPlan, PostQuestion, SupersedePull
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.runs.rerun import stop_all_reruns
from rules.snapshot import Snapshot
from rules.text import code, plain

USAGE = "/cardinal choose <run>"
ROLE = Role.WRITE
TAKES = "text"
ALSO = ("approve",)
INSTEAD = "Name one run, such as `/cardinal choose r13`."
NAMES_RUN = True
_WAITS = (RunState.QUEUED, RunState.PARKED, RunState.AWAITING_APPROVAL)


def find_named(argument: str) -> str:
    """Return the run in the words after the command; empty for anything else."""
    word = argument.strip().strip("`").lower()
    return word if RUN.fullmatch(word) else ""


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Make the run the card's own; an open pull request and runs that wait or work beside it give way."""
    past = snapshot.past
    if past is None:
        named = find_named(given.argument)
        return say(snapshot, given, f"Nothing was chosen: this card has no {named}." if named else INSTEAD)
    run, own = past.run, snapshot.run
    if own is not None and run.run_id == own.run_id:
        return say(snapshot, given, f"{run.run_id} is the card's own run already.", is_done=True)
    if because := find_choice_obstacle(snapshot, run):
        return say(snapshot, given, f"Nothing was chosen: {because}.")
    who = f"{code(given.by, 40)} chose {run.run_id}"
    chosen = RunChosen(snapshot.card_id, run.run_id, run.branch, own.run_id if own else NO_RUN, given.by)
    decision = _end_own(snapshot, who) + stop_all_reruns(snapshot, f"{given.by} chose {run.run_id}")
    decision += Decision((chosen,), (f"{given.by} chose {run.run_id}",))
    pull, repository = snapshot.open_pull, snapshot.pull_repository
    told = (
        f"{who}: the pull request of its branch {code(run.branch)} is the card's, and later runs continue it."
    )
    if pull is not None and repository is not None:
        because = f"{plain(given.by, 40)} chose {run.run_id}, whose pull request replaces this one"
        decision += Decision((SupersedePull(snapshot.card_id, repository, pull.number, because),))
        told += f" Pull request #{pull.number} is closed; its branch {code(pull.branch)} stays."
    ended = [own.run_id] if own is not None and own.state in _WAITS else []
    stopped = [*ended, *(it.run_id for it in snapshot.reruns)]
    if stopped:
        told += f" Superseded, and stopped: {', '.join(stopped)}."
    return decision + say(snapshot, given, told, is_done=True)


def find_choice_obstacle(snapshot: Snapshot, run: RunRow) -> str:
    """Return why that run cannot be the card's, with the way out; empty when it can."""
    own, pull, name = snapshot.run, snapshot.pull, run.run_id
    if snapshot.archived:
        return "the card left the board"
    if run.kind != RERUN:
        again = f"`/cardinal rerun {name}` does it again beside the card, to be chosen then"
        return f"{name} is not a run beside the card's own. {again}"
    if run.alive:
        doing = "waiting" if run.state in _WAITS else "at work"
        stop = f"`/cardinal cancel {name}` stops it"
        return f"{name} is still {doing} ({run.status}). Choose it once it has ended; {stop}"
    if run.ending is not Ending.SUCCEEDED:
        again = f"`/cardinal rerun {name}` tries again"
        return f"{name} {run.ending}, and only a run that succeeded can be chosen: {again}"
    if run.folder:
        bring = f"`/cardinal folder {name}` switches to its files"
        return f"{name} worked without a repository, so it has no branch: {bring}"
    if not run.pushed_head:
        return f"{name} published no branch, so its report is all that it has: it is on the card"
    if pull is not None and pull.state is PullState.MERGED:
        by_hand = f"open one of {code(run.branch)} yourself, if it is wanted"
        return f"pull request #{pull.number} is merged already: {by_hand}"
    if own is not None and own.alive and own.state not in _WAITS:
        return f"{own.run_id} is at work on the card: `/cardinal cancel`, then choose {name}"
    return ""


def _end_own(snapshot: Snapshot, because: str) -> Decision:
    """End the card's own run where it waits, and take the buttons from its plan or question."""
    own = snapshot.run
    if own is None or not own.alive:
        return Decision()
    shown: list[Intent] = []
    if snapshot.question is not None:
        shown.append(PostQuestion(snapshot.card_id, own.run_id, snapshot.question.question_id))
    if own.state is RunState.AWAITING_APPROVAL:
        shown.append(PostPlan(snapshot.card_id, own.run_id, own.plan_revision))
    return Decision((end_waiting(own, "superseded", because), *shown), (because,))
