"""Check-only run: the gate on GitHub's branch, rebased first where that is wanted; no agent, no model."""

from collections.abc import Mapping

from ledger.events.bounds import ValidationWaived
from ledger.events.run import RunEnded
from ledger.states import Ending, RunState
from runner import agents
from runner.checks.by_path import checks_of
from runner.checks.places import empty_place
from runner.checks.tier import GateTier, run_tier
from runner.errors import NetworkError, UnsandboxedError
from runner.gateway.control.claim import gateway_of
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.phases.rebase_branch import rebase_branch
from runner.phases.validate import same_checks
from runner.run.exits import failed
from runner.run.log import RunLog
from runner.run.run_spec import Clock, Remote, RunSpec
from runner.session.context import RunContext
from runner.workspaces.contract import CleanWorkspace, Workspace

PREFIX = "check-"  # begins the names of the places in which such runs stand


def recheck(
    order: RunSpec,
    log: RunLog,
    remote: Remote,
    clock: Clock,
    tool_secrets: Mapping[str, str],
    *,
    allow_unsandboxed: bool,
) -> None:
    """Check GitHub's head of the branch on a clean checkout, and end the run with the result.

    A claim after a crash begins again, unless the result is written already. Raises StageExit and
    RunnerError.
    """
    agent = agents.load("scripted")  # a live run has one; here it is never started, and pays for nothing
    log.raise_if_stopped()
    mirror = Mirror(order.places.mirrors, order.repository, remote, log.beat_or_stop)
    name = f"{PREFIX}{order.run_id}"
    with gateway_of(order, agent, (), {}, log.deadline, tool_secrets) as gateway:

        def standing_in(room: Workspace) -> RunContext:
            checkout = Checkout(room, mirror, order.authorship.author, log.beat_or_stop)
            return RunContext(order, log, clock, agent, room, mirror, checkout, gateway)

        with empty_place(order, name) as room:
            run = standing_in(room)
            run.step(RunState.PREPARING)
            _must_be_locked(run, allow_unsandboxed=allow_unsandboxed)
            heads = mirror.fetch_heads(order.branch, order.base_branch)
            if not heads.branch:
                # A rebase that nobody asked for comes too late where its pull request was merged meanwhile.
                reason = "superseded" if order.rebases else "repository"
                raise failed(reason, f"the branch {order.branch} is no longer on GitHub")
            head = rebase_branch(run, heads) if order.rebases else heads.branch
        with empty_place(order, name) as room:
            run = standing_in(room)
            run.step(RunState.VALIDATING)
            if not _passes(run, room, head, heads.base):
                raise failed("validation", f"the checks do not pass at {head[:12]}")
    log.append(RunEnded(order.run_id, Ending.SUCCEEDED, "", "", "validating"))


def _passes(run: RunContext, room: CleanWorkspace, head: str, base: str) -> bool:
    """Check the commit, unless an earlier claim did; waived checks pass."""
    known, wanted = run.history.validation, checks_of(run.mirror, run.order.validation, base, head)
    if known is not None and known.head == head and known.clean and same_checks(known, wanted):
        return known.passed
    if wanted.waived:
        run.log.append(ValidationWaived(run.order.run_id, head, base, wanted.definition))
        return True
    if not (wanted.full or wanted.fast):
        raise failed("no_validation", wanted.absent or "the repository's policy names no checks")
    name = "full" if wanted.full else "fast"
    run.mirror.remember(f"{run.order.run_id}-head", head)
    ref = f"refs/cardinal/{run.order.run_id}-head"
    run.checkout.clone_from(ref, run.order.branch, run.order.base_branch)
    return run_tier(run, GateTier(name, run.history.iterations + 1, head, base, wanted, room))


def _must_be_locked(run: RunContext, *, allow_unsandboxed: bool) -> None:
    """Raise UnsandboxedError or NetworkError where the workspace cannot hold the commands."""
    room, order = run.workspace, run.order
    if order.tools.network not in room.networks:
        raise NetworkError(order.workspace, order.tools.network, room.networks)
    if room.locked and not allow_unsandboxed:
        raise UnsandboxedError("what the repository's policy runs", room.locked)
