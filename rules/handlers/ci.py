"""GitHub's checks of a pull request: a bounded repair for each commit, or a comment."""

from datetime import datetime, timedelta

from ledger.events.pull import ChecksSettled
from ledger.events.run import RunEnded
from ledger.model.run_modes import INVESTIGATE, PLACES
from ledger.states import CardState, Door, Ending, Reason, RunKind
from rules.answers import answers
from rules.intents.internal import QueueRun, show_card, show_sentence
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.runs.mode import choose_mode
from rules.runs.start import start_obstacle
from rules.snapshot import Snapshot
from rules.text import code, count

BY = "CI"  # as whom a repair is started of what nobody is known to have asked for
_NAMED = 5


@answers(ChecksSettled, reads=("ci",))
def judge_ci(policy: Policy, snapshot: Snapshot, event: ChecksSettled, now: datetime) -> Decision:
    """Start a repair of checks that only the branch breaks, or give the reason against it, once a commit."""
    pull = snapshot.open_pull
    if pull is None or pull.head != event.head or snapshot.archived:
        return Decision((), ("the pull request has moved on since",))
    if pull.draft and pull.unfinished:
        return Decision((), ("the work is not finished, so a red check says nothing yet",))
    mine = tuple(failure.name for failure in event.failures if not failure.on_base)
    if not event.failures:
        mended = (snapshot.state, snapshot.reason) == (CardState.BLOCKED, Reason.CHECKS_RED)
        return show_card() if mended else Decision((), ("no check is red",))
    if not mine:
        names = _names(tuple(failure.name for failure in event.failures))
        because = f"{names} is also red on the default branch: not repaired"
        return _comment_on(snapshot, event, because)
    if snapshot.live_run:
        return Decision((), (f"{snapshot.live_run.run_id} is still active: its next push is checked again",))
    because = _why_not(policy, snapshot, event, now)
    if because:
        return _comment_on(snapshot, event, f"{_names(mine)} is red: {because}")
    mode = choose_mode(policy, snapshot)
    repair = QueueRun(
        snapshot.card_id,
        RunKind.REPAIR,
        (snapshot.run.by if snapshot.run else "") or BY,
        plan_required=False,
        mode_rule=mode.rule,
        mode_value=mode.value,
        door=Door.CHECKS,
    )
    return Decision((repair,), (f"{_names(mine)} is red",))


def after_run(policy: Policy, snapshot: Snapshot, event: RunEnded, now: datetime) -> Decision:
    """Handle checks that were red while the run was alive: nothing was pushed since."""
    pull = snapshot.open_pull
    if event.ending is not Ending.SUCCEEDED or pull is None or not snapshot.red:
        return Decision()
    return judge_ci(policy, snapshot, ChecksSettled(snapshot.card_id, pull.head, snapshot.red, ()), now)


def _why_not(policy: Policy, snapshot: Snapshot, event: ChecksSettled, now: datetime) -> str:
    """Return why no repair starts by itself, with the next step; empty where one starts."""
    limits, ci = policy.limits, snapshot.ci
    if snapshot.feedback_waits:
        return "the next revision repairs it, too"
    mode = choose_mode(policy, snapshot).mode
    if mode == INVESTIGATE:
        return "its card is only investigated; /cardinal fix starts a run that repairs it"
    if mode in PLACES:
        return "agents work without the repository here: drag the card to a column where they have a clone"
    if limits.repairs == 0:
        return "the policy does not let a run repair it; /cardinal retry starts a run"
    if ci is not None and ci.repaired == event.head:
        return "a run has tried on this very commit; /cardinal retry starts another"
    if ci is not None and ci.repairs >= limits.repairs:
        return f"still, after {count(ci.repairs, 'repair')} in a row; look at it, or /cardinal retry"
    lately = sum(1 for begun in snapshot.begun if now - begun < timedelta(hours=1))
    if lately >= limits.automatic_runs_per_hour:
        return f"{lately} runs began within an hour; /cardinal retry starts one"
    return start_obstacle(policy, snapshot)


def _comment_on(snapshot: Snapshot, event: ChecksSettled, because: str) -> Decision:
    text = f"{because}."
    decision = Decision((Say(snapshot.card_id, f"ci:{event.head}", text, "pull"),), (because,))
    busy = snapshot.live_run or not snapshot.archetype.STARTS_RUNS
    if busy or all(failure.on_base for failure in event.failures):
        return decision + show_sentence(because, Reason.CHECKS_RED)
    return decision + show_card(CardState.BLOCKED, because, Reason.CHECKS_RED)


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(code(name, 60) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"CI ({shown}{f' and {more} more' if more > 0 else ''})"
