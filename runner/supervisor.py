"""Supervisor: takes one claimed run through its phases, from wherever its events end."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy.exc import OperationalError

from ledger.errors import StaleClaimError
from ledger.events.run import CHECK, RunEnded, RunParked, RunStepped
from ledger.parts import UnknownPartError
from ledger.states import RUN_HELD, Ending, RunState
from runner import agents, errors, workspaces
from runner.agents.contract import AgentAdapter, Phase
from runner.checks.browser_replay import play_after, play_before
from runner.checks.places import tenancy
from runner.checks.set_up import spare_set_up, stand_for_servers
from runner.gateway.control.claim import gateway_of, payer
from runner.git.checkout import Checkout
from runner.guards import builtin
from runner.phases.checkpoint import checkpoint, pace_of
from runner.phases.early import keep_live, publish_early
from runner.phases.guard import enforce_guards
from runner.phases.investigate import investigate
from runner.phases.keep_files import keep_work, mirror_of
from runner.phases.own_image import with_own_image
from runner.phases.prepare import prepare, refetch
from runner.phases.publish import publish_work
from runner.phases.recheck import recheck
from runner.phases.stage_transitions import ask, brief_stage, close, enter_stage, exit_stage
from runner.phases.validate import demand_checks, validate_work
from runner.phases.work import cut_short, deliver_answer, do_work, make_plan, resume, take_turn
from runner.run.exits import AwaitApproval, Finish, Park, StageExit, StopRequested, fail
from runner.run.facts import StageVisit
from runner.run.log import RunLog
from runner.run.provider import Provider
from runner.run.run_spec import Clock, Remote, RunSpec
from runner.run.secrecy import secrecy_of
from runner.session.context import RunContext
from runner.session.stage_machine import Enter, admit_entry
from runner.session.tool_effects import final_report
from runner.session.tool_servers import ending_servers
from runner.text.plain import cut_bytes, one_line, redact
from runner.workspaces.card_folder import is_there
from runner.workspaces.contract import DEFAULT_IMAGE, Workspace
from runner.workspaces.docker.errors import EngineTroubleError

_DETAIL_BYTES = 2_000


def play_stages(run: RunContext) -> None:
    """Return once a stage has ended the work, and no turn or answer is left over.

    Continues from the events. Raises Park when people must decide, and Finish when an agent ends its turn
    without choosing the next stage.
    """
    log = run.history.stages
    while not log.over:
        visit = log.open
        if visit is not None:
            _play(run, visit)
            exit_stage(run, visit)
            publish_early(run)
            continue
        due = admit_entry(run.spec.stages, run.history)
        if isinstance(due, Enter):
            enter_stage(run, due)
        else:
            ask(run, due)
    if log.open is not None:
        _resume(run, log.open)
    deliver_answer(run)
    close(run)


def _play(run: RunContext, visit: StageVisit) -> None:
    """Return once the agent of this entry chose the next stage."""
    _resume(run, visit)
    if visit.target is None and visit.turn not in run.history.turns:
        brief_stage(run, visit)
        take_turn(run, Phase.STAGE, visit.turn)
    report = f"{Phase.REPORT}-{visit.turn}"
    if visit.target is None and report not in run.history.turns:
        take_turn(run, Phase.REPORT, report)
    if visit.target is None:
        said = "neither `go_to_stage` nor `finish` was called, and not when it was asked to"
        raise fail("gave_up", f"the agent of stage {visit.stage} left without saying how to continue: {said}")


def _resume(run: RunContext, visit: StageVisit) -> None:
    """Resume the entry's newest turn when it did not end by itself, unless it has handed over."""
    cut = cut_short(run, since=visit.seq)
    unheard = run.history.find_undelivered_answer() is not None
    if cut and (visit.target is None or run.history.stages.over or unheard):
        resume(run, cut)


def execute_run(
    spec: RunSpec,
    log: RunLog,
    remote: Remote,
    clock: Clock,
    *,
    allow_unsandboxed: bool = False,
    providers: Mapping[str, Provider] | None = None,
    tool_secrets: Mapping[str, str] | None = None,
) -> None:
    """Carry a claimed run on until it ends, parks, or waits for approval; the ledger has its state then.

    `providers` are those that the operator pays for, by name; only the run's gateway gets their keys.
    `tool_secrets` are those of the repository by name; only its tool servers and the gateway get them,
    and hosts that the policy names.

    Call it again after a crash or an answer, under a new claim: it continues from the events. A run that
    nobody holds (parked, ended …) is left alone. Raises StaleClaimError when the claim was taken over:
    nothing more was written and the agent is dead. Raises OperationalError when the ledger could not be
    written for long, and KilledError when git, the sandbox or the agent was killed from outside; the run can
    be taken up again. Any other error ends the run as `internal` and is raised again.
    """
    if log.history.state not in RUN_HELD:
        return
    try:
        log.beat()  # nothing is started before the claim has a deadline
        spec = with_own_image(with_image_of_agent(spare_set_up(spec)), log, remote)
        if spec.kind == CHECK:
            recheck(spec, log, remote, clock, tool_secrets or {}, allow_unsandboxed=allow_unsandboxed)
            return
        _carry_on(
            spec,
            log,
            remote,
            clock,
            providers or {},
            tool_secrets=tool_secrets or {},
            allow_unsandboxed=allow_unsandboxed,
        )
    except (StaleClaimError, OperationalError, errors.KilledError):
        raise
    except StageExit as leave:
        _record_exit(spec, log, leave)
    except (errors.RunnerError, UnknownPartError) as error:
        reason = _reason(error)
        cause = _cause(error) if reason == "spawn_failed" else ""
        _record_exit(spec, log, fail(reason, str(error), cause))
    except Exception as error:
        _record_exit(spec, log, fail("internal", f"{type(error).__name__}: {error}"))
        raise


def with_image_of_agent(spec: RunSpec) -> RunSpec:
    """Return the specification with the image of its agent's program, unless the policy names another one.

    The checks use the same image.
    """
    own = spec.paths.agents
    if spec.image not in ("", DEFAULT_IMAGE) or spec.agent not in agents.names(own):
        return spec
    return replace(spec, image=agents.load(spec.agent, own).image or spec.image)


def _carry_on(
    spec: RunSpec,
    log: RunLog,
    remote: Remote,
    clock: Clock,
    providers: Mapping[str, Provider],
    *,
    tool_secrets: Mapping[str, str],
    allow_unsandboxed: bool,
) -> None:
    log.secrecy = secrecy_of(spec.equipment, stages=spec.stages)
    agent = agents.load(spec.agent, spec.paths.agents)
    log.raise_if_stopped()
    demand_checks(spec)
    workspace = _place(spec, log)
    # A session of the card may repeat private text of skills that were attached before.
    log.secrecy = secrecy_of(spec.equipment, workspace.private_phrases(), spec.stages)
    workspace.register_secrets(log.secrecy.phrases)
    mirror = mirror_of(spec, log, remote, log.beat_or_stop)
    checkout = Checkout(workspace, mirror, spec.authorship.author, log.beat_or_stop)
    models, calls = _models(spec, agent), log.history.server_calls
    with gateway_of(
        spec, agent, models, providers, log.deadline, tool_secrets=tool_secrets, server_calls=calls
    ) as gateway:
        run = RunContext(
            spec=spec,
            log=log,
            clock=clock,
            agent=agent,
            workspace=workspace,
            mirror=mirror,
            checkout=checkout,
            gateway=gateway,
            keep=keep_live,
            pace=pace_of(spec),
            payer=lambda model: payer(agent, model, providers),
            tool_secrets=tool_secrets,
            stand=stand_for_servers,
        )
        try:
            with ending_servers(run):
                carry_out(run, allow_unsandboxed=allow_unsandboxed)
        except StopRequested as stop:
            stop.commits = _commits_kept(spec, log, remote, workspace)
            checkpoint(run)
            raise
        except StageExit as left:
            checkpoint(run, left.point)
            raise
        except errors.RunnerError:
            checkpoint(run)
            raise


def _models(spec: RunSpec, agent: AgentAdapter) -> tuple[str, ...]:
    """Return the models that the gateway allows: the column's, its stages', and the policy's others."""
    stages = (agent.models(stage.model) for stage in spec.stages if stage.model)
    named = (*agent.models(spec.model), *(model for models in stages for model in models), *spec.models)
    return tuple(dict.fromkeys(named))


def carry_out(run: RunContext, *, allow_unsandboxed: bool) -> None:
    """Take a run through its phases to its ending. Raises StageExit for every other exit, and RunnerError."""
    if run.spec.investigates:
        investigate(run, allow_unsandboxed=allow_unsandboxed)
        return
    start = prepare(run, allow_unsandboxed=allow_unsandboxed)
    try:
        play_before(run, run.mirror.head(run.spec.base_branch))
        make_plan(run)
        builtin.load_ahead(run.spec.guards)
        if run.spec.stages:
            play_stages(run)
        else:
            do_work(run)
        _offer(run, start)
    except Park:
        publish_early(run)
        raise
    except (errors.WorkspaceError, errors.RepositoryError) as error:
        run.workspace.mark_untrusted(str(error))  # else every retry would begin with the same failure
        raise
    checkpoint(run)
    publish = publish_work if run.spec.has_repository else keep_work
    try:
        publish(run, start)
    except errors.MovedBranchError:  # once: who pushes all the time is asked to retry
        refetch(run)
        _offer(run, start)
        publish(run, start)


def _place(spec: RunSpec, log: RunLog) -> Workspace:
    backend, tenant = workspaces.load(spec.workspace), tenancy(spec)
    was_there = is_there(spec.paths.workspaces, tenant.card_id)
    workspace = backend.open(spec.paths, tenant)
    # What was cut short while it was made begins again in an empty place; and where an earlier investigation
    # stood, it is at an older commit.
    if was_there and (workspace.fresh or (spec.investigates and not log.history.reads)):
        workspace.destroy()
        workspace = backend.open(spec.paths, tenant)
    return workspace


def _offer(run: RunContext, start: str) -> None:
    """Return once guards and checks pass. Guards come first, and again after a repair for the checks.

    Then a card with steps is played in the browser.
    """
    enforce_guards(run, start)
    validate_work(run, start)
    while run.history.guards.moved and enforce_guards(run, start):
        validate_work(run, start)
    play_after(run, start)


def _commits_kept(spec: RunSpec, log: RunLog, remote: Remote, workspace: Workspace) -> int:
    """Return the count of a stopped run's commits; its own parts would raise StopRequested again."""
    if workspace.fresh:
        return 0
    mirror = mirror_of(spec, log, remote, log.beat)
    checkout = Checkout(workspace, mirror, spec.authorship.author, log.beat)
    return checkout.commits_since(mirror.read_ref(f"{spec.run_id}-start"))


def _reason(error: errors.RunnerError | UnknownPartError) -> str:
    match error:
        case UnknownPartError() | errors.BackendError() | errors.NetworkError() | errors.UnsandboxedError():
            return "spawn_failed"
        case errors.ScenarioError() | errors.SpawnError() | EngineTroubleError():
            return "spawn_failed"
        case errors.RepositoryError() | errors.WorkspaceError() | errors.CommandTimeoutError():
            return "repository"
    return "internal"


def _cause(error: Exception) -> str:
    """Return the code of an error that other cards meet, too: its class, and the name of its subject."""
    facts = (str(getattr(error, name, "")) for name in ("agent", "name", "image"))
    return ":".join((type(error).__name__, *filter(None, facts)))


def _record_exit(spec: RunSpec, log: RunLog, stage_exit: StageExit) -> None:
    """Write the run's exit to the log; a run that was requeued meanwhile stays queued."""
    run_id, history = spec.run_id, log.history
    last_known = one_line(f"{history.state}: {history.last_line}" if history.last_line else history.state)
    match stage_exit:
        case Park(why=why):
            log.append_unless_requeued(RunParked(run_id, why))
        case AwaitApproval():
            log.append_unless_requeued(RunStepped(run_id, history.state, RunState.AWAITING_APPROVAL))
        case StopRequested(how="pause"):
            log.append_unless_requeued(RunParked(run_id, "pause"))
        case StopRequested(by=by, commits=commits):
            log.append(
                *final_report(spec, history),
                RunEnded(
                    run_id=run_id,
                    ending=Ending.CANCELLED,
                    reason="cancelled",
                    detail=f"stopped by {by}",
                    last_known=last_known,
                    commits=commits,
                ),
            )
        case Finish(ending=ending, reason=reason, detail=detail, cause=cause):
            said = cut_bytes(redact(detail), _DETAIL_BYTES)
            ended = RunEnded(run_id, ending, reason, said, last_known, cause=cause)
            log.append(*final_report(spec, history), ended)
