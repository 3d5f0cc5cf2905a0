"""Sticky comment of a run: its stage, work and cost, and the boxes to tick."""

from bot.render.markdown.checkboxes import box
from bot.render.markdown.escape import code, fit_comment, fold, line, quote
from bot.render.run import artifacts, evidence, observations, reproduction, stages
from bot.render.run import story as run_story
from bot.render.run.story import Story
from ledger.model.run_modes import FIX, FOLDER, INVESTIGATE, SCRATCH
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, RunKind, RunState
from rules.card.workflow_choice import describe_workflow
from rules.commands.budget import MAX_USD, MIN_USD
from rules.runs.mode import reason
from rules.text import count

VALIDATE = "validate"
STAGES = ("plan", "work", VALIDATE, "pull request")
_STAGE_OF = {
    RunState.PLANNING: 0,
    RunState.AWAITING_APPROVAL: 0,
    RunState.WORKING: 1,
    RunState.VALIDATING: 2,
    RunState.PUBLISHING: 3,
}
_MODES = {
    FIX: "fixes",
    INVESTIGATE: "reads only",
    SCRATCH: "works in an empty place",
    FOLDER: "works in a folder",
}
_FINDINGS = "➡️ The findings are in their own comment."
MAX_STEPS = 30
MAX_ACTIVITY = 30


def write(story: Story) -> str:
    """Return the whole comment without its marker."""
    lives = story.run.ending is None  # the report of a run that ended has its checks and plays
    return fit_comment(
        (
            f"### {run_story.run_headline(story)}{run_story.watch_link(story.site, story.run)}",
            _breadcrumbs(story),
            _facts(story),
            _describe_now(story),
            _plan(story.run),
            observations.todo_list(story.observations) if story.run.state is RunState.WORKING else "",
            observations.server_troubles(story.observations),
            reproduction.list_plays(story.reproductions, story.site) if lives else "",
            _lead_onward(story),
            _controls(story),
        ),
        (evidence.failing(story.checks) if lives else "", _activity(story), _debug(story)),
    )


def _breadcrumbs(story: Story) -> str:
    run = story.run
    if run.mode == INVESTIGATE:
        return _investigation_crumbs(run)
    first = 1 if run.kind in (RunKind.REVISION, RunKind.REPAIR) and run.plan_revision == 0 else 0
    here = _stage(run)
    crumbs = []
    names = STAGES if run.mode == FIX else (*STAGES[:-1], "files")
    for position, name in list(enumerate(names))[first:]:
        reached = position == here and run.claimed_at is not None and run.state is not RunState.QUEUED
        if name == "work" and stages.stage_names(run):
            crumbs += stages.crumbs(story, done=position < here, reached=reached)
        elif position < here:
            crumbs.append("not checked" if name == VALIDATE and not _is_checked(story) else f"{name} ✓")
        elif reached:
            crumbs.append(f"**{name} {'✗' if run.ending is not None else '●'}**")
        else:
            crumbs.append(f"{name} ○")
    if run.again_of:
        crumbs[-1] = crumbs[-1].replace(STAGES[-1], "branch")  # it opens no pull request
    return " → ".join(crumbs)


def _is_checked(story: Story) -> bool:
    """Tell whether commands judge the work: the repository's, or those of the column where there is none."""
    return not story.waived if story.run.mode == FIX else stages.has_column_checks(story.run)


def _investigation_crumbs(run: RunRow) -> str:
    """Return the two stages of a run that only reads."""
    if run.ending is Ending.SUCCEEDED:
        return "investigate ✓ → findings ✓"
    began = run.claimed_at is not None and run.state is not RunState.QUEUED
    mark = "✗" if run.ending is not None else "●"
    return f"{f'**investigate {mark}**' if began else 'investigate ○'} → findings ○"


def _stage(run: RunRow) -> int:
    """Return the stage's place in STAGES; all are behind a run that succeeded."""
    if run.ending is Ending.SUCCEEDED:
        return len(STAGES)
    if run.state in _STAGE_OF:
        return _STAGE_OF[run.state]
    for state, stage in _STAGE_OF.items():
        if run.last_known.partition(":")[0].strip() == state:
            return stage
    return 1 if run.plan_approved or run.kind in (RunKind.REVISION, RunKind.REPAIR) else 0


def _facts(story: Story) -> str:
    run = story.run
    attempt = f"attempt {run.attempt}" if run.attempt > 1 and not run.again_of else ""
    flow = describe_workflow(run.workflow, run.workflow_rule, run.workflow_value)
    flow = f"workflow {flow}" if flow and run.workflow_rule != "column" else ""
    # A fix because the column says so is what everybody expects; whatever else is said with its reason.
    usual = run.mode == FIX and run.mode_rule == "column"
    mode = "" if usual else f"{_MODES.get(run.mode, run.mode)} ({reason(run.mode_rule, run.mode_value)})"
    elsewhere = run.repository.casefold() != (story.card.repository or "").casefold()
    where = f"works in {code(run.repository, 150)}" if elsewhere else ""
    # The account of a run that did not succeed has its cost, too.
    accounted = _is_unsuccessful(run) and (story.reported is None or not run_story.has_begun(run))
    cost = "" if accounted else run_story.describe_spent(story)
    facts = (line(run.played, 60), where, mode, flow, attempt, cost, run_story.work_place(story))
    return " · ".join(part for part in facts if part)


def _is_unsuccessful(run: RunRow) -> bool:
    return run.ending not in (None, Ending.SUCCEEDED)


def _describe_now(story: Story) -> str:
    run = story.run
    if _is_unsuccessful(run) and story.reported is not None:
        comment = f"[the report](#issuecomment-{story.reported})" if story.reported else "the report"
        return f"➡️ How it ended, and the next step: {comment}."
    if _is_unsuccessful(run):
        why = run.detail if run.ending is not Ending.CANCELLED else run.stop_why or run.detail
        return "\n\n".join(part for part in (run_story.stop_account(story), quote(why, 1_000)) if part)
    if run.ending is not None:
        return quote(run.detail, 1_000)
    if run.state is RunState.QUEUED:
        return "" if run.again_of else quote(_why_queued(story.card), 500)
    if run.state is RunState.AWAITING_APPROVAL:
        return "⬇️ The plan is below: approve it there, or ask for changes."
    if run.state is RunState.PARKED and run.question_id:
        return "⬇️ The question is below: answer it there, or with a plain reply."
    return quote(run.last_line, 500)


def _why_queued(card: CardRow) -> str:
    """Return why the run waits. The comment is written anew for another cause only, so it names no place that
    is free or not by turns.
    """
    takes_turns = card.state is CardState.QUEUED and not card.reason
    return "waiting for a free slot" if takes_turns else card.because


def _plan(run: RunRow) -> str:
    # A plan that waits stands in the comment that asks for approval: once is enough.
    if not run.plan_steps or run.state is RunState.AWAITING_APPROVAL:
        return ""
    rows = []
    for position, step in enumerate(run.plan_steps[:MAX_STEPS], start=1):
        doing = run.state is RunState.WORKING and position == run.plan_done + 1
        mark = "✅ " if position <= run.plan_done else "▶️ " if doing else ""
        rows.append(f"{position}. {mark}{line(step)}")
    more = len(run.plan_steps) - MAX_STEPS
    rest = ["", f"… and {more} more steps"] if more > 0 else []
    return "\n".join(["**Plan**", "", *rows, *rest])


def _lead_onward(story: Story) -> str:
    """Return the line that leads from a finished run to its findings or pull request."""
    if story.run.mode == INVESTIGATE:
        return _FINDINGS if story.run.ending is Ending.SUCCEEDED else ""
    run = story.run  # a run that pushed nothing has no part in a pull request that is there by now
    if story.on_pull or run.ending is None or not run.pushed_head or story.card.pull_number is None:
        return ""
    pull = run_story.pull_of(story.card)
    return f"➡️ Continued on pull request {pull}: review it there. Later runs report there."


def _controls(story: Story) -> str:
    run = story.run
    if run.again_of:
        return ""  # a box is about the card's own run
    if run.ending is not None:
        again = run.ending is not Ending.SUCCEEDED and story.restarts
        boxes = [box("retry", "Try again")] if again else []
    elif run.state is RunState.AWAITING_APPROVAL:
        boxes = [box("cancel", "Cancel the run")]
    elif run.state is RunState.PARKED:
        boxes = [] if run.question_id else [box("resume", "Resume")]
        boxes += _more_dollars(story)
        boxes.append(box("cancel", "Cancel the run"))
    elif run.stop_asked:
        return ""
    else:
        boxes = [box("pause", "Pause"), box("cancel", "Cancel the run")]
    return "\n".join(boxes)


def _more_dollars(story: Story) -> list[str]:
    """Return the box that adds the column's budget once more, where the run waits for dollars."""
    question = story.open_question
    if question is None or question.asker != "budget":
        return []
    if story.budget is None or story.budget.base_usd < MIN_USD:
        return []
    more_usd = min(story.budget.base_usd, MAX_USD)
    name = f"budget:{story.run.run_id}:{more_usd:.2f}"
    return [box(name, f"Raise the budget by ${more_usd:,.2f} and continue")]


def _activity(story: Story) -> str:
    # How a run ended, and at whose word, stands above or in the report.
    told_there = ("RunEnded", "RunStopAsked") if story.run.ending is not None else ()
    rows = [
        f"- {row.at:%H:%M:%S} {line(row.text, 200)}"
        for row in story.activity[:MAX_ACTIVITY]
        if row.kind not in told_there
    ]
    return fold("Activity, newest first (UTC)", "\n".join(rows)) if rows else ""


def _debug(story: Story) -> str:
    run = story.run
    facts = {
        "Attempt": f"{run.attempt} ({run.kind})",
        "Asked by": f"{run.by}{f' ({run.door})' if run.door else ''}",
        "Mode": f"{run.mode}: {reason(run.mode_rule, run.mode_value)}".replace("`", ""),
        "Workflow": describe_workflow(run.workflow, run.workflow_rule, run.workflow_value).replace("`", ""),
        "Session": run.session_id,
        "Agent": f"{run.agent} {run.agent_version}".strip(),
        "Host": run.host,
        "Worker": f"{run.worker}, claim {run.generation}" if run.worker else "",
        "Base and head": f"{run.base} {run.head}".strip(),
        "Tokens": (
            f"{run.input_tokens} in, {run.output_tokens} out, {count(run.turns, 'turn')}" if run.turns else ""
        ),
        "Stages": stages.personas(story.stages),
        **observations.observation_lines(story.observations),
    }
    rows = [f"- {name}: {code(value)}" for name, value in facts.items() if value]
    pointed = artifacts.pointer(story)
    rows += [f"- {pointed}"] if pointed else []
    return fold("Debug", "\n".join([*rows, f"- Everything: `cardinal show {run.run_id}`"]))
