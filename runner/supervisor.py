"""Takes one claimed run through its stages, from wherever its events say that it stands."""

from collections.abc import Mapping

from sqlalchemy.exc import OperationalError

from ledger.errors import StaleClaimError
from ledger.events.run import CHECK, RunEnded, RunParked, RunStepped
from ledger.states import RUN_HELD, Ending, RunState
from runner import agents, workspaces
from runner.agents.contract import Agent
from runner.checks.browser_replay import play_after, play_before
from runner.errors import (
    BackendError,
    CommandTimeoutError,
    KilledError,
    MovedBranchError,
    NetworkError,
    RepositoryError,
    RunnerError,
    ScenarioError,
    SpawnError,
    UnknownPartError,
    UnsandboxedError,
    WorkspaceError,
)
from runner.gateway.control.claim import gateway_for
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.phases.guard import enforce_guards
from runner.phases.investigate import investigate
from runner.phases.prepare import prepare, take_in_again
from runner.phases.publish import publish
from runner.phases.recheck import recheck
from runner.phases.stages import play_stages
from runner.phases.validate import demand_checks, validate
from runner.phases.work import make_plan, work
from runner.run.context import RunContext
from runner.run.exits import AwaitApproval, Finish, Park, StageExit, StopRequested, failed
from runner.run.log import RunLog
from runner.run.run_spec import Clock, Provider, Remote, RunSpec
from runner.run.secrecy import secrecy_of
from runner.text.redact import redact
from runner.text.truncate import cut, one_line
from runner.workspaces.contract import Workspace
from runner.workspaces.docker.errors import EngineTroubleError
from runner.workspaces.tenant import tenancy

_DETAIL_BYTES = 2_000


def execute(
    order: RunSpec,
    log: RunLog,
    remote: Remote,
    clock: Clock,
    *,
    allow_unsandboxed: bool = False,
    providers: Mapping[str, Provider] | None = None,
) -> None:
    """Carry a claimed run on until it ends, parks, or waits for approval; its state is in the ledger then.

    `providers` are those that the operator pays for, by name; their keys go to the run's gateway alone.

    Call it again after a crash or an answer, under a new claim: it goes on where the events stop. A run
    that nobody holds (parked, ended …) is left alone. Raises StaleClaimError when the claim was taken over:
    nothing more was written and the agent is dead. Raises OperationalError when the ledger could not be
    written for long, and KilledError when git, the sandbox or the agent was killed from outside; the run can
    be taken up again. Any other error has ended the run as `internal` and is raised again.
    """
    if log.history.state not in RUN_HELD:
        return
    try:
        if order.kind == CHECK:
            recheck(order, log, remote, clock, allow_unsandboxed=allow_unsandboxed)
            return
        _carry_on(order, log, remote, clock, providers or {}, allow_unsandboxed=allow_unsandboxed)
    except (StaleClaimError, OperationalError, KilledError):
        raise
    except StageExit as leave:
        _leave(order, log, leave)
    except RunnerError as error:
        _leave(order, log, failed(_reason(error), str(error)))
    except Exception as error:
        _leave(order, log, failed("internal", f"{type(error).__name__}: {error}"))
        raise


def _carry_on(
    order: RunSpec,
    log: RunLog,
    remote: Remote,
    clock: Clock,
    providers: Mapping[str, Provider],
    *,
    allow_unsandboxed: bool,
) -> None:
    log.secrecy = secrecy_of(order.layers, order.skill_files)
    agent = agents.load(order.agent)
    stop = log.stop_asked()
    if stop is not None:
        raise StopRequested(stop.how, stop.by)
    demand_checks(order)
    workspace = _place(order, log)
    # A session of the card may repeat what it was told when other skills were attached.
    log.secrecy = secrecy_of(order.layers, order.skill_files, workspace.private_phrases())
    workspace.confide(log.secrecy.phrases)

    def beat() -> None:
        log.beat()
        asked = log.stop_asked()
        if asked is not None:
            raise StopRequested(asked.how, asked.by)

    mirror = Mirror(order.places.mirrors, order.repository, remote, beat)
    checkout = Checkout(workspace, mirror.path, order.committer, beat)
    granted = gateway_for(
        agent,
        order.tools,
        order.places,
        f"{order.run_id}-{order.generation}",
        models=_models(order, agent),
        private_hosts=order.private_hosts,
        providers=providers,
    )
    with granted as gateway:
        run = RunContext(order, log, clock, agent, workspace, mirror, checkout, gateway)
        try:
            carry_out(run, allow_unsandboxed=allow_unsandboxed)
        except StopRequested as obeyed:
            obeyed.commits = _commits_kept(order, log, remote, workspace)
            raise


def _models(order: RunSpec, agent: Agent) -> tuple[str, ...]:
    """Return the models that the gateway lets through: the column's, its stages', and those beside them."""
    stages = (agent.models(stage.model) for stage in order.stages if stage.model)
    named = (*agent.models(order.model), *(model for models in stages for model in models), *order.models)
    return tuple(dict.fromkeys(named))


def carry_out(run: RunContext, *, allow_unsandboxed: bool) -> None:
    """Take a run through its stages to its ending. Raises Leave for every other way out, and RunnerError."""
    if run.order.investigates:
        investigate(run, allow_unsandboxed=allow_unsandboxed)
        return
    start = prepare(run, allow_unsandboxed=allow_unsandboxed)
    try:
        play_before(run, run.mirror.head(run.order.base_branch))
        make_plan(run)
        if run.order.stages:
            play_stages(run)
        else:
            work(run)
        _offer(run, start)
    except (WorkspaceError, RepositoryError) as error:
        run.workspace.distrust(str(error))  # else every retry would begin with what failed this one
        raise
    try:
        publish(run, start)
    except MovedBranchError:  # once: who pushes all the time is asked to retry
        take_in_again(run)
        _offer(run, start)
        publish(run, start)


def _place(order: RunSpec, log: RunLog) -> Workspace:
    backend = workspaces.load(order.workspace)
    workspace = backend.open(order.places, tenancy(order))
    # What was cut short while it was made begins again in an empty place; and where an earlier investigation
    # stood, it is at an older commit.
    if workspace.fresh or (order.investigates and not log.history.reads):
        workspace.destroy()
        workspace = backend.open(order.places, tenancy(order))
    return workspace


def _offer(run: RunContext, start: str) -> None:
    """Return once guards and checks let the work pass: what guards refuse costs no checks, and what was
    repaired for a check is looked at again. What passed is shown in the browser, where a card has steps.
    """
    enforce_guards(run, start)
    validate(run, start)
    while run.history.guards.moved and enforce_guards(run, start):
        validate(run, start)
    play_after(run, start)


def _commits_kept(order: RunSpec, log: RunLog, remote: Remote, workspace: Workspace) -> int:
    """Return how many commits a run that is being stopped made; its own parts would obey the order again."""
    if workspace.fresh:
        return 0
    mirror = Mirror(order.places.mirrors, order.repository, remote, log.beat)
    checkout = Checkout(workspace, mirror.path, order.committer, log.beat)
    return checkout.commits_since(mirror.recall(f"{order.run_id}-start"))


def _reason(error: RunnerError) -> str:
    match error:
        case UnknownPartError() | BackendError() | NetworkError() | UnsandboxedError():
            return "spawn_failed"
        case ScenarioError() | SpawnError() | EngineTroubleError():
            return "spawn_failed"
        case RepositoryError() | WorkspaceError() | CommandTimeoutError():
            return "repository"
    return "internal"


def _leave(order: RunSpec, log: RunLog, leave: StageExit) -> None:
    """Write how the run leaves its supervisor; a run that was let go on meanwhile stays queued."""
    run_id, history = order.run_id, log.history
    last_known = one_line(f"{history.state}: {history.last_line}" if history.last_line else history.state)
    match leave:
        case Park(why=why):
            log.append_unless_requeued(RunParked(run_id, why))
        case AwaitApproval():
            log.append_unless_requeued(RunStepped(run_id, history.state, RunState.AWAITING_APPROVAL))
        case StopRequested(how="pause"):
            log.append_unless_requeued(RunParked(run_id, "pause"))
        case StopRequested(by=by, took_s=took_s, commits=commits):
            stopped = f"stopped in {took_s:.1f} s by {by}"
            log.append(RunEnded(run_id, Ending.CANCELLED, "cancelled", stopped, last_known, commits))
        case Finish(ending=ending, reason=reason, detail=detail):
            log.append(RunEnded(run_id, ending, reason, cut(redact(detail), _DETAIL_BYTES), last_known))
