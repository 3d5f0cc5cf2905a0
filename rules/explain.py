"""The reason why a card does or does not move, in one line with the next step."""

from ledger.model.column_names import same_column
from ledger.rows.runs import RunRow
from ledger.states import CardState, PullState, RunState
from rules.card.move_rights import is_dragged, refusal
from rules.card.state import derive
from rules.card.stops import describe_stop
from rules.card.workflow_choice import describe_workflow
from rules.chatops.parser import needs
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import alternatives, code, in_queue, plain, sentence, state_word, usd, with_full_stop


def why(policy: Policy, snapshot: Snapshot, *, quotes: bool = True) -> str:
    """Return the reason in one line, for every state and kind of column; with an open question or without."""
    if snapshot.archived:
        live = snapshot.live_run
        goes_on = not live.stop_asked if live else snapshot.open_pull is not None
        if goes_on and not is_dragged(policy, snapshot):
            return plain(refusal(policy, snapshot), 400)
        return "the card left the board: restore it there to continue"
    if snapshot.unreachable_reason and not snapshot.archetype.IS_FINAL:
        return plain(snapshot.unreachable_reason, 400)
    run = snapshot.live_run
    stopped = describe_stop(snapshot.stops, snapshot.card_id, snapshot.column)
    if run:
        return plain(
            f"{_of_run(policy, snapshot, run, stopped, quotes)}{_astray(policy, snapshot, run)}", 400
        )
    if stopped and snapshot.archetype.STARTS_RUNS:
        return plain(stopped, 400)
    return plain(_of_rest(policy, snapshot), 400)


def explain_with_workflow(policy: Policy, snapshot: Snapshot, *, quotes: bool = True) -> str:
    """Return the reason, and which workflow the newest run has."""
    run, reason = snapshot.run, why(policy, snapshot, quotes=quotes)
    flow = describe_workflow(run.workflow, run.workflow_rule, run.workflow_value) if run else ""
    return f"{with_full_stop(reason)} {run.run_id} has the workflow {flow}" if run and flow else reason


def card_status(policy: Policy, snapshot: Snapshot) -> str:
    """Return how the card stands as a short Markdown list."""
    where = code(snapshot.column) if snapshot.column else "no column"
    state = state_word(snapshot.state)
    lines = [f"- **{state}** in {where}" if state else f"- rests in {where}"]
    lines.append(f"- {sentence(explain_with_workflow(policy, snapshot))}")
    if snapshot.run:
        run = snapshot.run
        ending = f"ended: {run.ending}" if run.ending else run.state.replace("_", " ")
        said = f", last said {code(run.last_line, 120)}" if run.last_line else ""
        attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
        lines.append(f"- {run.run_id}{attempt} {ending}, {usd(run.usd)}{said}")
    if snapshot.pull:
        draft = ", draft" if snapshot.pull.draft and snapshot.pull.state is PullState.OPEN else ""
        lines.append(f"- pull request #{snapshot.pull.number}: {snapshot.pull.state}{draft}")
    return "\n".join(lines)


def _who(policy: Policy, command: str) -> str:
    """Return `alice or anyone with write access`, from the policy."""
    words = needs(policy, command)
    roles = [word for word in words if word in ("none", "read", "triage", "write", "maintain", "admin")]
    people = [code(word) for word in words if word not in roles]
    anybody = [f"anyone with {role} access" for role in roles]
    return alternatives([*people, *anybody]) or "a person"


def _of_run(policy: Policy, snapshot: Snapshot, run: RunRow, stopped: str, quotes: bool) -> str:
    run_id = run.run_id
    if run.is_cancelling:
        return f"{run_id} is being cancelled{_by(run)}"
    if snapshot.question:
        who = _who(policy, "answer")
        asks = f". It asks: {plain(snapshot.question.text, 160)}" if quotes else ""
        return f"{run_id} is waiting for {who} to answer it, with a plain comment or /cardinal answer{asks}"
    match run.state:
        case RunState.AWAITING_APPROVAL:
            who = _who(policy, "approve")
            return f"{run_id} is waiting for {who} to approve its plan, or to /cardinal redirect it"
        case RunState.PARKED:
            paused = (
                f"{run_id} is paused{_by(run)}: /cardinal resume continues it"
                if snapshot.is_paused
                else f"{run_id} is paused: it continues on its own"
            )
            return stopped or paused
        case RunState.QUEUED:
            place = f", {in_queue(snapshot.place)}" if snapshot.place else ""
            return stopped or f"{run_id} is queued{place}: {snapshot.because or 'it is waiting for its turn'}"
        case _:
            said = f": {plain(run.last_line, 160)}" if run.last_line else ""
            held = f"; then the card goes to {snapshot.held_back}" if snapshot.held_back else ""
            return f"{run_id} is {run.state.replace('_', ' ')}{said}{held}"


def _astray(policy: Policy, snapshot: Snapshot, run: RunRow) -> str:
    """Say of a card outside of its run's column that its mover may not decide about the run."""
    elsewhere = not same_column(snapshot.column, run.column)
    return f"; {refusal(policy, snapshot)}" if elsewhere and not is_dragged(policy, snapshot) else ""


def _by(run: RunRow) -> str:
    return f" by {plain(run.stop_by, 40)}" if run.stop_by else ""


def _of_rest(policy: Policy, snapshot: Snapshot) -> str:
    said = plain(snapshot.because, 400)
    # What the rules said last is nearer to the truth than what the views can tell: a refused merge, for one.
    if said and snapshot.state in (CardState.BLOCKED, CardState.FAILED):
        return said
    derived = derive(policy, snapshot)
    if derived is None:
        return said or "its pull request is being merged"
    return said if snapshot.state is derived.state and said else derived.because
