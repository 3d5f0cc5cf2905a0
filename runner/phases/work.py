"""Phases with an agent at work: planning, working, repairing, reporting."""

from collections.abc import Mapping
from typing import NoReturn

from ledger.events.agent import SessionLost, ToolAllowed
from ledger.events.run import PlanApproved, Progressed
from ledger.rows.limit_answers import AS_FAR, GO_ON, STOP, Code, Subject
from ledger.states import RunKind, RunState
from runner.agents.contract import READ_ONLY, Phase, Task
from runner.branch.export import read_base_head
from runner.errors import KilledError
from runner.guards.report import refusal_text
from runner.phases.stage_transitions import close, reopen_stage
from runner.prompts.compose import CI_TURN, compose
from runner.run.exits import AwaitApproval, Park, StopRequested, fail
from runner.run.facts import Question, TurnRecord
from runner.run.limits import ASKS, ExceededLimit, RunUsage
from runner.session.context import RunContext
from runner.session.turn import TurnResult, play_turn

_SUBJECTS = {
    ExceededLimit.TIME: Subject.TIME,
    ExceededLimit.TURNS: Subject.TURNS,
    ExceededLimit.TOKENS: Subject.TOKENS,
}
# The first turn of the work, by the kind of the run.
_FIRST: Mapping[str, tuple[Phase, str]] = {
    RunKind.REVISION: (Phase.REVISE, "revise"),
    RunKind.REPAIR: (Phase.REPAIR, CI_TURN),
}
_LOST = "The agent could not continue its session and started a new one with the full briefing"
REPORTS = 1  # how often an agent that ended without a word is asked for its report


def needs_plan(run: RunContext) -> bool:
    """Whether a plan comes first: not for a revision, a repair, a fork, or a retry in its session."""
    spec = run.spec
    goes_on = spec.kind == "retry" and run.history.session(spec.session_id) and not spec.plan_required
    if spec.stages and spec.kind == "retry":
        goes_on = bool(run.history.stages.visits)  # no session of a stage knows the plan of an earlier run
    return spec.kind not in ("revision", "repair") and spec.origin is None and not goes_on


def make_plan(run: RunContext) -> None:
    """Return once a plan is approved. Raises AwaitApproval when people must approve it."""
    if not needs_plan(run):
        return
    while run.history.plan is None or run.history.plan.state != "approved":
        plan = run.history.plan
        if plan is not None and plan.state == "proposed":
            run.step(RunState.PLANNING)
            if run.spec.plan_required:
                raise AwaitApproval
            run.log.append(PlanApproved(run.spec.run_id, plan.revision, "policy"))
            return
        before = plan.revision if plan else 0
        if plan is None:
            take_turn(run, Phase.PLAN, "plan")
        else:
            take_turn(run, Phase.REDIRECT, f"redirect-{plan.revision}", detail=plan.text)
        fresh = run.history.plan
        if fresh is None or fresh.revision == before:
            raise fail("gave_up", "the agent ended its turn without proposing a plan")


def do_work(run: RunContext) -> None:
    """Return once the agent reported the end of its work, and no turn is interrupted."""
    phase, turn = _FIRST.get(run.spec.kind, (Phase.WORK, "work"))
    if run.spec.investigates:
        phase, turn = Phase.INVESTIGATE, str(Phase.INVESTIGATE)
    cut = cut_short(run)
    if cut:
        resume(run, cut)
    elif turn not in run.history.turns:
        take_turn(run, phase, turn)
    deliver_answer(run)
    for number in range(1, REPORTS + 1):
        if run.history.finish is not None:
            return
        take_turn(run, Phase.REPORT, f"report-{number}")
    if run.history.finish is None:
        raise fail("gave_up", "the agent ended without a report, and gave none when it was asked for one")


def resume(run: RunContext, turn: TurnRecord) -> None:
    """Play an interrupted turn again."""
    take_turn(run, Phase(turn.phase), turn.turn, detail=_detail_of(run, turn))


def deliver_answer(run: RunContext) -> None:
    """Give people's words on a limit to the agent, unless a turn has delivered them."""
    question = run.history.undelivered_words()
    turn = f"heed-{question.question_id}" if question else ""
    delivered = run.history.turns.get(turn)
    if question is not None and (delivered is None or delivered.outcome != "done"):
        reopen_stage(run, "heed")
        take_turn(run, Phase.HEED, turn, detail=question.words)


def _detail_of(run: RunContext, turn: TurnRecord) -> str:
    """Return the matter of an interrupted turn: people's words, or the failure."""
    if turn.phase == Phase.HEED:
        question = run.history.undelivered_words()
        return question.words if question is not None else ""
    refused = turn.turn == run.history.guards.turn
    return _refusal_text(run) if refused else run.history.rounds.newest_output()


def repair(run: RunContext, iteration: int, failing: str) -> None:
    """Give the failing output to the same session, or to that of the last stage that may edit."""
    reopen_stage(run, "repair")
    take_turn(run, Phase.REPAIR, f"repair-{iteration}", detail=failing)
    close(run)


def repair_change(run: RunContext) -> None:
    """Let the same session, or that of the last stage that may edit, undo the refused parts of the change."""
    reopen_stage(run, "repair")
    take_turn(run, Phase.REPAIR, run.history.guards.turn, detail=_refusal_text(run))
    close(run)


def _refusal_text(run: RunContext) -> str:
    return refusal_text(
        run.history.guards.denied, read_base_head(run) or run.mirror.head(run.spec.base_branch)
    )


def take_turn(run: RunContext, phase: Phase, turn: str, *, detail: str = "") -> None:
    """Play one turn, with the answer to its question if there is one; return when the agent is done.

    Raises Park, StopRequested, Finish or the errors of `play`.
    """
    spec, history, stage = run.spec, run.history, run.stage
    read_only = spec.investigates or phase in READ_ONLY
    answered = history.find_undelivered_answer() if turn in history.turns else None
    prompted, answer = (Phase.ANSWER, answer_text(answered)) if answered else (phase, "")
    spent, skills = run.allowance, run.workspace.layout.skills
    task = Task(
        phase=prompted,
        turn=turn,
        prompt=compose(prompted, spec, history, turn=turn, detail=answer or detail, skills=skills),
        run_id=spec.run_id,
        session_id=history.session(spec.session_id),
        model=(stage.model if stage else "") or spec.model,
        read_only=read_only,
        max_turns=max(1, spent.most_turns - history.turns_used),
        budget_usd=spent.remaining_usd(history.usd),
        scenarios=spec.paths.scenarios,
        answer=answer,
        threads=spec.threads,
        tools=stage.tools if stage else spec.tools,
        granted=_list_allowed_commands(run, answered),
        allowed=spec.allowed,
        refused=history.list_refused(),
        investigates=spec.investigates,
        effort=spec.effort if spec.effort in run.agent.efforts else "",
    )
    state = RunState.PLANNING if phase in READ_ONLY else RunState.WORKING
    result = play_turn(run, task, state)
    if result.session_gone and task.session_id:  # a killed agent may not have written it to its disk yet
        run.log.append(SessionLost(spec.run_id, task.session_id), Progressed(spec.run_id, _LOST))
        take_turn(run, phase, turn, detail=detail)  # once more at most: this one has no session to lose
    else:
        _judge(run, result)


def answer_text(answered: Question) -> str:
    """Return a person's answer for the agent; with the question, where Cardinal asked it."""
    answer = answered.answer or ""
    return f"{answered.event.text}\n\n{answer}" if answered.subject is not Subject.WORK else answer


def _list_allowed_commands(run: RunContext, answered: Question | None) -> tuple[str, ...]:
    """Return the commands that people allowed: for the card, and the one that was just asked about.

    Permission for the whole card is an event, so that later runs of the card know it too.
    """
    history = run.history
    for question in history.questions:
        command = history.awaited.get(question.question_id)
        if command and question.permits(Subject.TOOL, Code.ALLOW_CARD) and command not in history.granted:
            run.log.append(ToolAllowed(run.spec.run_id, command, question.answered_by))
    once = history.awaited.get(answered.question_id, "") if answered is not None else ""
    leave = answered is not None and answered.permits(Subject.TOOL, Code.ALLOW_ONCE) and bool(once)
    return (*run.spec.granted, *history.granted, *((once,) if leave else ()))


def _judge(run: RunContext, result: TurnResult) -> None:
    """Return when the turn is done; else raise the run's exit."""
    if result.stop is not None:
        raise StopRequested(result.stop.how, result.stop.by)
    if result.exceeded is ExceededLimit.PROVIDER:
        raise fail("provider", result.problem, result.cause)
    if result.exceeded is ExceededLimit.DISK:
        raise fail("guardrail", result.problem)
    if result.exceeded is not None:
        _raise_for_limit(run, result, result.exceeded)
    if result.outcome == "asked":
        raise Park("question")
    if result.outcome == "broken" and not (_has_finished(run)):
        if result.killed:
            raise KilledError("the agent's program")
        raise fail("agent_error", result.problem)


def _has_finished(run: RunContext) -> bool:
    """Whether the agent ended its work, or chose the next stage, in this very turn."""
    turn, visit = run.history.turn, run.history.stages.open
    handed = visit is not None and visit.target is not None and not run.history.stages.over
    return turn is not None and (run.history.finish_seq > turn.seq or handed)


def _raise_for_limit(run: RunContext, result: TurnResult, exceeded: ExceededLimit) -> NoReturn:
    if exceeded in ASKS:
        ask_limit(run, exceeded, result.spent, result.needs_usd)
    reached = run.allowance.describe_reached(exceeded, result.spent)
    reason = "stalled" if exceeded is ExceededLimit.SILENCE else "guardrail"
    raise fail(reason, f"the agent reached {reached}; it was stopped in {result.took_s:.1f} s")


def cut_short(run: RunContext, since: int = 0) -> TurnRecord | None:
    """Return the newest turn of the work since event `since`, if it was interrupted."""
    turn = run.history.turn
    if turn is None or turn.seq < since or turn.outcome == "done" or turn.phase in READ_ONLY:
        return None
    return None if turn.outcome == "broken" and _has_finished(run) else turn


def ask_limit(run: RunContext, exceeded: ExceededLimit, usage: RunUsage, needs_usd: float = 0.0) -> NoReturn:
    """Ask whether the run may exceed a limit, and park. More dollars help only where its own ran out."""
    allowance = run.allowance
    text = f"The run reached {allowance.describe_reached(exceeded, usage)}{_plan_progress(run)}."
    text += allowance.going_on(exceeded, usage, needs_usd)
    if exceeded in _SUBJECTS:
        run.ask(_SUBJECTS[exceeded], f"{text} Continue?", (GO_ON, STOP))
    if allowance.shared:
        run.ask(Subject.SHARED, f"{text}{allowance.advice()} Continue then?", (AS_FAR, STOP))
    run.ask(Subject.BUDGET, f"{text} Continue?", (GO_ON, STOP))


def _plan_progress(run: RunContext) -> str:
    plan = run.history.plan
    if plan is None or not plan.steps:
        return ""
    return f"; plan: {min(plan.done, len(plan.steps))} of {len(plan.steps)} steps done"
