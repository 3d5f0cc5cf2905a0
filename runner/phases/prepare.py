"""The start of a claim: mirror, workspace, and a branch that stands on its base."""

import json
import logging
from hashlib import sha256

from ledger.events.agent import SessionLost
from ledger.events.artifact import BRIEFING
from ledger.events.instruction import SkillsChosen
from ledger.events.run import BriefingMade
from ledger.states import RunState
from runner.artifacts.keep import keep
from runner.branch.export import export_commit, head_name
from runner.branch.rebase import go_back_to_head, take_in_base, take_in_pushes
from runner.checks.clean_checkout import clear_away
from runner.checks.commands import note_hosts, start_command
from runner.errors import BackendError, NetworkError, RunnerError, UnsandboxedError
from runner.exec.child import finish
from runner.git.mirror import Heads
from runner.phases.stage_transitions import stands_at
from runner.prompts.briefing import digest_of
from runner.run.context import RunContext
from runner.run.exits import failed
from runner.run.instructions import stack_event
from runner.run.stage_machine import may_edit
from runner.text.redact import redact
from runner.workspaces.reuse import make_anew, unusable

_SETUP_S = 900.0
_KEEP_S = 420.0  # packing or unpacking what set-up left: nothing can renew the claim meanwhile
log = logging.getLogger(__name__)
_SETUP_OUTPUT_BYTES = 20_000_000


def admit(run: RunContext, *, allow_unsandboxed: bool) -> None:
    """Write down what the agent is told, and let nobody in who may not work in such a place.

    Raises Park on an open question, BackendError, NetworkError or UnsandboxedError.
    """
    order = run.order
    run.step(RunState.PREPARING)
    digest = digest_of(order.briefing)
    if run.history.instructed.briefed != digest:
        told = BriefingMade(order.run_id, order.briefing, digest, order.briefing_omitted, order.issue)
        run.log.append(told, *keep(run, "briefing.md", BRIEFING, order.briefing))
    _instruct(run)
    run.deliver_answers()
    if order.workspace not in run.agent.backends:
        raise BackendError(run.agent.name, order.workspace, run.agent.backends)
    if order.tools.network not in run.workspace.networks:
        raise NetworkError(order.workspace, order.tools.network, run.workspace.networks)
    if run.workspace.locked and not allow_unsandboxed:
        checks = order.validation
        if not run.agent.trusted:
            raise UnsandboxedError(run.agent.name, run.workspace.locked)
        if checks.setup or checks.fast or checks.full:  # commands of the repository, on what an agent wrote
            raise UnsandboxedError("what the repository's policy runs", run.workspace.locked)


def prepare(run: RunContext, *, allow_unsandboxed: bool) -> str:
    """Make everything ready and return the commit that the run began at: GitHub's head of the branch, or the
    base, as the run's first claim found it.

    Raises Park on an open question, NetworkError, UnsandboxedError, RepositoryError or WorkspaceError.
    """
    order = run.order
    clear_away(order)
    admit(run, allow_unsandboxed=allow_unsandboxed)
    heads = run.mirror.fetch_heads(order.branch, order.base_branch)
    if run.workspace.fresh:
        forget_session(run)
        _check_out(run, heads)
    elif why := unusable(run, lambda: _take_over(run, heads)):
        make_anew(run, heads.branch or heads.base, why)
        _check_out(run, heads)
    return _start(run, heads.branch or heads.base)


def _check_out(run: RunContext, heads: Heads) -> None:
    """Fill an empty place."""
    if not _bring_back(run, heads):
        run.checkout.clone(run.order.branch, run.order.base_branch, heads)
    set_up(run, heads.base)
    run.workspace.settle()  # not before: a set-up that was cut short, or failed, is no set-up
    _put_on(run, heads)


def _take_over(run: RunContext, heads: Heads) -> None:
    """Go on in a place where an agent has been. Raises WorkspaceError where that is not possible."""
    run.checkout.fetch(run.order.branch, run.order.base_branch, heads)
    _clear_after_commands(run)
    _put_on(run, heads)


def _put_on(run: RunContext, heads: Heads) -> None:
    """Put the work on what people pushed, and before the agent's first turn on the base. Raises Park."""
    if take_in_pushes(run, heads.branch) and run.history.stages.open is not None:
        export_commit(run)  # a stage that may not edit is left at that commit
    if run.history.turn is None:
        take_in_base(run, heads.base)


def _clear_after_commands(run: RunContext) -> None:
    """Take away what checks and clean-up commands left in the workspace or did to the branch, where a claim
    was killed before it could: nothing else was at work there.
    """
    visit, stage = run.history.stages.open, run.stage
    if run.history.checking:
        run.checkout.restore(run.history.checking)
    elif visit is not None and stage is not None and not may_edit(stage):
        run.checkout.restore(stands_at(run, visit))
        go_back_to_head(run)


def _bring_back(run: RunContext, heads: Heads) -> bool:
    """Check out what the stages so far handed over, or else what the run brought out last, from the mirror;
    False when there is nothing of the kind that a new checkout would not have.

    Raises Finish when it was handed over elsewhere: the stage that is due could not go on from it.
    """
    handed = [visit.snapshot.head for visit in run.history.stages.visits if visit.snapshot is not None]
    brought = run.mirror.recall(head_name(run))
    if not handed and brought and not run.mirror.goes_on_from(heads.branch or heads.base, brought):
        handed = [brought]
    if not handed or handed[-1] == (heads.branch or heads.base):
        return False
    if not run.mirror.commit(handed[-1]):
        raise failed("repository", "the workspace is gone, and with it what the stages made: retry")
    if not brought:  # it is what the run began at, or the ref was lost
        run.mirror.remember(head_name(run), handed[-1])
    order = run.order
    run.checkout.clone_from(f"refs/cardinal/{head_name(run)}", order.branch, order.base_branch)
    run.checkout.fetch(order.branch, order.base_branch, heads)
    go_back_to_head(run)
    return True


def _instruct(run: RunContext) -> None:
    """Record what the agent is instructed with, where that is new, and give it the files of its skills."""
    order, history = run.order, run.history.instructed
    if order.considered != history.considered:
        run.log.append(SkillsChosen(order.run_id, order.considered))
    stacked = stack_event(order.run_id, order.stack)
    if stacked.digest != history.digest:
        run.log.append(stacked)
    run.workspace.equip({one.path: one.content for one in order.skill_files})


def forget_session(run: RunContext) -> None:
    """Note that no session of the run can go on: its place was removed with the agents' home, for the card
    was done, or worked on elsewhere.
    """
    session = run.history.session(run.order.session_id)
    gone = dict.fromkeys(one for one in (session, *run.history.stages.sessions) if one)
    run.log.append(*(SessionLost(run.order.run_id, one) for one in gone))


def _start(run: RunContext, now: str) -> str:
    """Remember the start over crashes: after one that came just behind the push, GitHub's head is our own."""
    name = f"{run.order.run_id}-start"
    start = run.mirror.recall(name)
    if not start:
        run.mirror.remember(name, now)
    return start or now


def set_up(run: RunContext, base: str) -> None:
    """Run the repository's own set-up once, or bring back what it left elsewhere under the same key; a
    failure ends the run, since nothing could be checked after it.

    Only what an untouched base made is kept for others: on a branch the set-up may be the agent's.
    """
    commands = run.order.validation.setup
    if not commands:
        return
    locks = run.checkout.lock_files()
    key = setup_key(run.order.repository, commands, locks.names)
    run.log.hold(_KEEP_S)
    if not locks.more and run.workspace.restore_setup(key):
        return
    for command in commands:
        child = start_command(run, run.workspace, command, cap_bytes=_SETUP_OUTPUT_BYTES, of_column=True)
        ran = finish(child, what=command, timeout_s=_SETUP_S, beat=run.beat)
        note_hosts(run)
        if ran.exit_code != 0:
            why = child.fate or redact(ran.tail)[-600:]
            raise failed("repository", f"the set-up failed before an agent began: $ {command}: {why}")
    if not locks.more and run.checkout.commit() == base:
        run.log.hold(_KEEP_S)
        try:
            run.workspace.keep_setup(key)
        except RunnerError as error:  # the next card pays for it; this one has what it needs
            log.warning("set-up not kept run=%s reason=%s", run.order.run_id, error)


def setup_key(repository: str, commands: tuple[str, ...], locks: tuple[str, ...]) -> str:
    """Return the digest of what decides what set-up leaves behind, besides the image."""
    return sha256(json.dumps([repository, commands, locks]).encode()).hexdigest()


def take_in_again(run: RunContext) -> None:
    """Put the finished work on what people pushed while it was made. Raises Park on a conflict."""
    order = run.order
    heads = run.mirror.fetch_heads(order.branch, order.base_branch)
    run.checkout.fetch(order.branch, order.base_branch, heads)
    take_in_pushes(run, heads.branch)
