"""Comment with a plan: the boxes to approve it, later the decision."""

from bot.render.markdown.checkboxes import box
from bot.render.markdown.escape import Alert, alert, fit_comment, line, quote
from bot.render.mention import run_mention
from bot.render.run import story as run_story
from bot.render.run.story import Story
from ledger.rows.plans import PlanRow
from rules.text import usd

MAX_STEPS = 50


def write(story: Story, plan: PlanRow) -> str:
    """Return the comment: with boxes while the plan waits, else with the decision."""
    revision = f", revision {plan.revision}" if plan.revision > 1 else ""
    steps = "\n".join(
        f"{position}. {line(step)}" for position, step in enumerate(plan.steps[:MAX_STEPS], start=1)
    )
    waits = _waits(story, plan)
    more = len(plan.steps) - MAX_STEPS
    link = run_story.watch_link(story.site, story.run)
    decision = f"What should be different:\n\n{quote(plan.text, 3_000)}" if plan.text.strip() else ""
    return fit_comment(
        (
            f"### 📝 Plan of run {story.run.run_id}{revision}: {_decision_line(story, plan)}{link}",
            _how_to_decide(story) if waits else "",
            quote(plan.summary, 3_000),
            steps,
            f"… and {more} more steps" if more > 0 else "",
            *((_boxes(plan), run_mention(story.run)) if waits else (decision,)),
        )
    )


def _waits(story: Story, plan: PlanRow) -> bool:
    return plan.state == "proposed" and story.run.ending is None


def _decision_line(story: Story, plan: PlanRow) -> str:
    if _waits(story, plan):
        return "is waiting for your approval"
    if plan.state == "proposed":
        return "the run ended before anyone approved it"
    return f"{plan.state} by {line(plan.by, 60) or 'somebody'}"


def _how_to_decide(story: Story) -> str:
    budget, limit = run_story.budget_of(story), run_story.limit_of(story, "timeout_minutes")
    limits = [usd(budget)] if budget is not None else []
    limits += [f"{limit:.0f} min"] if limit is not None else []
    cap = f" Limit once approved: {', '.join(limits)}." if limits else ""
    return alert(
        Alert.IMPORTANT,
        "Tick *Approve this plan* below, or reply `/cardinal redirect` followed by what to change."
        f" Nothing is edited before you approve.{cap}",
    )


def _boxes(plan: PlanRow) -> str:
    approve = box(f"approve:{plan.run_id}:{plan.revision}", "Approve this plan")
    return "\n".join((approve, box("cancel", "Cancel the run")))
