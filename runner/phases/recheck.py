"""Check-only run: the gate on GitHub's branch, rebased first where that is wanted; no agent, no model."""

from collections.abc import Mapping

from ledger.events.bounds import ValidationWaived
from ledger.events.branch import BranchRebased
from ledger.events.run import RunEnded
from ledger.states import Ending, RunState
from runner import agents
from runner.branch.export import export_commit, head_name, list_lost_commits, record_base_head
from runner.checks.by_path import checks_of
from runner.checks.places import empty_place
from runner.checks.tier import GateTier, run_tier
from runner.errors import MovedBranchError, NetworkError, UnsandboxedError
from runner.gateway.control.claim import gateway_of
from runner.git.checkout import Checkout
from runner.git.mirror import Heads, Mirror
from runner.phases.publish import push
from runner.phases.validate import same_checks
from runner.run.exits import fail
from runner.run.log import RunLog
from runner.run.run_spec import Clock, Remote, RunSpec
from runner.session.context import RunContext
from runner.text.plain import one_line
from runner.workspaces.contract import CleanWorkspace, Workspace

_SHOWN = 10
_WAY_OUT = (
    "merge {base} into {branch} by hand and push that, or drag the card back to its execution column and"
    " comment `/cardinal retry`: that run asks how to proceed"
)


def rebase_branch(run: RunContext, heads: Heads) -> str:
    """Rebase GitHub's branch in an empty workspace, push it with a lease, and return its commit.

    A branch that has its base already stays as it is. Raises Finish, with the branch untouched, on a conflict
    and where a rebase would lose or alter people's commits.
    """
    spec, mirror = run.spec, run.mirror
    if mirror.goes_on_from(heads.branch, heads.base):
        before = mirror.read_ref(_before(run))
        if before and heads.branch == mirror.read_ref(head_name(run)):  # a claim died right behind its push
            _note(run, before, heads.branch, heads.base)
        return heads.branch
    if any(len(commit.parents) > 1 for commit in mirror.commits(heads.branch, heads.base)):
        raise _fail_rebase(run, "it has merge commits, which a rebase would drop")
    mirror.remember(_before(run), heads.branch)
    run.checkout.clone(spec.branch, spec.base_branch, heads)
    record_base_head(run, heads.branch)
    conflicts = run.checkout.put_on(heads.base, f"Unfinished work before run {spec.run_id}")
    if conflicts:
        more = " …" if len(conflicts) > _SHOWN else ""
        raise _fail_rebase(run, f"both change {', '.join(conflicts[:_SHOWN])}{more}")
    head = export_commit(run, run.checkout.commit())
    if lost := list_lost_commits(run, head):
        raise _fail_rebase(
            run, f"commit {lost[0].commit[:8]} by {one_line(lost[0].author, 80)!r} would be altered"
        )
    try:
        head = push(run, head)
    except MovedBranchError as error:
        raise fail("superseded", f"{spec.branch} has new commits on GitHub") from error
    _note(run, heads.branch, head, heads.base)
    return head


def _note(run: RunContext, before: str, after: str, base: str) -> None:
    same = _lines(run, before, base) == _lines(run, after, base)
    spec = run.spec
    run.log.append(
        BranchRebased(
            run_id=spec.run_id,
            card_id=spec.card_id,
            branch=spec.branch,
            before=before,
            after=after,
            base=base,
            same=same,
        )
    )


def _lines(run: RunContext, head: str, base: str) -> tuple[str, ...]:
    """Return the lines that a commit adds and removes since it left the base, file by file. Of binary files,
    which show no lines, the ids of the objects are among it.
    """
    patch = run.mirror.patch(base, head)
    kept = (
        "+",
        "-",
        "diff ",
        "new ",
        "deleted ",
        "old ",
        *(("index ",) if "\nBinary files " in patch else ()),
    )
    return tuple(line for line in patch.splitlines() if line.startswith(kept))


def _before(run: RunContext) -> str:
    """Return the mirror's name for GitHub's branch before the rebase."""
    return f"{run.spec.run_id}-before"


def _fail_rebase(run: RunContext, why: str) -> Exception:
    spec = run.spec
    way_out = _WAY_OUT.format(base=spec.base_branch, branch=spec.branch)
    return fail("conflict", f"{spec.branch} cannot be rebased on {spec.base_branch}: {why}; {way_out}")


PREFIX = "check-"  # begins the names of the places in which such runs stand


def recheck(
    spec: RunSpec,
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
    mirror = Mirror(spec.paths.mirrors, spec.repository, remote, log.beat_or_stop)
    name = f"{PREFIX}{spec.run_id}"
    with gateway_of(spec, agent, (), {}, log.deadline, tool_secrets=tool_secrets) as gateway:

        def standing_in(workspace: Workspace) -> RunContext:
            checkout = Checkout(workspace, mirror, spec.authorship.author, log.beat_or_stop)
            return RunContext(
                spec=spec,
                log=log,
                clock=clock,
                agent=agent,
                workspace=workspace,
                mirror=mirror,
                checkout=checkout,
                gateway=gateway,
            )

        with empty_place(spec, name) as workspace:
            run = standing_in(workspace)
            run.step(RunState.PREPARING)
            _must_be_locked(run, allow_unsandboxed=allow_unsandboxed)
            heads = mirror.fetch_heads(spec.branch, spec.base_branch)
            if not heads.branch:
                # A rebase that nobody asked for comes too late where its pull request was merged meanwhile.
                reason = "superseded" if spec.rebases else "repository"
                raise fail(reason, f"the branch {spec.branch} is no longer on GitHub")
            head = rebase_branch(run, heads) if spec.rebases else heads.branch
        with empty_place(spec, name) as workspace:
            run = standing_in(workspace)
            run.step(RunState.VALIDATING)
            if not _passes(run, workspace, head, heads.base):
                raise fail("validation", f"the checks do not pass at {head[:12]}")
    log.append(RunEnded(spec.run_id, Ending.SUCCEEDED, "", "", "validating"))


def _passes(run: RunContext, workspace: CleanWorkspace, head: str, base: str) -> bool:
    """Check the commit, unless an earlier claim did; waived checks pass."""
    event, spec = run.history.validation, checks_of(run.mirror, run.spec.validation, base, head)
    if event is not None and event.head == head and event.clean and same_checks(event, spec):
        return event.passed
    if spec.waived:
        run.log.append(ValidationWaived(run.spec.run_id, head, base, spec.definition))
        return True
    if not (spec.full or spec.fast):
        raise fail("no_validation", spec.absent or "the repository's policy names no checks")
    name = "full" if spec.full else "fast"
    run.mirror.remember(f"{run.spec.run_id}-head", head)
    ref = f"refs/cardinal/{run.spec.run_id}-head"
    run.checkout.clone_from(ref, run.spec.branch, run.spec.base_branch)
    return run_tier(
        run,
        GateTier(
            name=name,
            iteration=run.history.iterations + 1,
            head=head,
            base=base,
            checks=spec,
            workspace=workspace,
        ),
    )


def _must_be_locked(run: RunContext, *, allow_unsandboxed: bool) -> None:
    """Raise UnsandboxedError or NetworkError where the workspace cannot hold the commands."""
    workspace, spec = run.workspace, run.spec
    if spec.tools.network not in workspace.networks:
        raise NetworkError(spec.workspace, spec.tools.network, workspace.networks)
    if workspace.locked and not allow_unsandboxed:
        raise UnsandboxedError("what the repository's policy runs", workspace.locked)
