"""Facts about one run and its card, for texts about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.render.markdown import links
from bot.render.markdown.escape import code
from bot.render.run.reasons import REASONS
from ledger.model.spend_limits import AS_REPORTED
from ledger.queries.run_rows import RunRows
from ledger.queries.timeline import TimelineRow
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.rows.threads import ThreadRow
from ledger.states import RUN_HELD, Ending, RunState
from ledger.views.reports import ReportRow
from rules.runs.cost import cost_words
from rules.text import count, usd

STATES: Mapping[RunState, tuple[str, str]] = {
    RunState.QUEUED: ("⏳", "is waiting to start"),
    RunState.CLAIMED: ("🔧", "is starting"),
    RunState.PREPARING: ("🔧", "is preparing its workspace"),
    RunState.PLANNING: ("📝", "is making a plan"),
    RunState.AWAITING_APPROVAL: ("🙋", "is waiting for you: approve its plan or ask for changes"),
    RunState.WORKING: ("🔨", "is working"),
    RunState.PARKED: ("⏸️", "is paused"),
    RunState.VALIDATING: ("🧪", "is running the checks"),
    RunState.PUBLISHING: ("📦", "is publishing its work"),
}
ENDINGS: Mapping[Ending, tuple[str, str]] = {
    Ending.SUCCEEDED: ("✅", "is done"),
    Ending.FAILED: ("❌", "failed"),
    Ending.CANCELLED: ("🛑", "was cancelled"),
    Ending.LOST: ("💥", "was lost"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(RunRows):
    """One run as the ledger has it; `card_usd` is the cost of all runs of the card.

    `on_pull`: its comments stand on the pull request, because an earlier run pushed to it. `waived`: by the
    policy, nothing checked the commit that stands there. `restarts`: a run may start where the card is, or is
    moved after a failure.
    """

    card: CardRow
    activity: tuple[TimelineRow, ...]
    stop_asked_at: datetime | None
    card_usd: float
    on_pull: bool
    waived: bool
    restarts: bool
    site: str  # where Cardinal's pages are, empty where they are not served
    reports: tuple[ReportRow, ...]  # of the runs that made what is on the branch, the oldest first
    threads: tuple[ThreadRow, ...]  # of the pull request that no run has addressed
    asking: tuple[str, ...]  # who requested changes and has not reviewed again
    reported: str | None  # its report's comment id, empty until it is posted; None without a report


def run_headline(story: Story) -> str:
    """Return the run's state as an emoji and a half sentence, after "Run r1"."""
    run = story.run
    if run.ending is not None:
        emoji, words = ENDINGS[run.ending]
        reason = REASONS.get(run.reason, "")
        has_reason = reason and run.ending is not Ending.CANCELLED
        return f"{emoji} Run {run.run_id} {words}{f': {reason}' if has_reason else ''}"
    if run.question_id and run.state is RunState.PARKED:
        return f"🙋 Run {run.run_id} is waiting for you: answer its question"
    if run.stop_asked and run.state in RUN_HELD:
        return f"✋ Run {run.run_id} was told to {run.stop_asked} and is stopping"
    emoji, words = STATES[run.state]
    return f"{emoji} Run {run.run_id} {words}"


def watch_link(site: str, run: RunRow) -> str:
    """Return the link to the run's page for a comment's first line; empty where there are no pages."""
    label = "Watch it live" if run.ending is None else "See the run"
    return f" · [{label}]({links.run_link(site, run.run_id)})" if site else ""


def issue_link(card: CardRow, repository: str | None) -> str:
    """Return how the card's issue is named in that repository: #12, or owner/name#12 from another one."""
    here = (card.repository or "").casefold() == (repository or "").casefold()
    return f"#{card.number}" if here else f"{card.repository}#{card.number}"


def pull_of(card: CardRow) -> str:
    """Return how the card's pull request is named on its issue."""
    here = (card.repository or "").casefold() == (card.pull_repository or "").casefold()
    return f"#{card.pull_number}" if here else f"{card.pull_repository}#{card.pull_number}"


def limit_of(story: Story, name: str) -> float | None:
    """Return a number of the run's settings, such as `budget_usd`; None where there is none."""
    value = json.loads(story.run.settings or "{}").get(name)
    return float(value) if isinstance(value, int | float) else None


def budget_of(story: Story) -> float | None:
    """Return the run's budget with people's additions; None where there is none."""
    known = story.budget
    return known.budget_usd if known is not None and known.budget_usd > 0 else limit_of(story, "budget_usd")


def minutes(seconds: float) -> str:
    """Return a duration in whole minutes, or seconds below two minutes; never 0 s for a short one."""
    if 0 < seconds < 1:
        return "under 1 s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def describe_spent(story: Story) -> str:
    """Return cost and time, each with its limit while the run lives."""
    run = story.run
    cost, active = cost_words(run.usd, run.payer), minutes(run.active_s)
    if run.ending is not None:
        # The usage of a worker that died is not known in full.
        return f"{'at least ' if run.ending is Ending.LOST else ''}{cost} · {active}"
    if run.claimed_at is None:
        return ""
    budget, limit = budget_of(story), limit_of(story, "timeout_minutes")
    if budget is not None:
        cost = f"{usd(run.usd)} of {usd(budget)}{AS_REPORTED if run.is_reported else ''}"
    if limit is not None:
        active = f"{run.active_s / 60:.0f} of {limit:.0f} min"
    return f"{cost} · {active}"


def work_place(story: Story) -> str:
    """Return the branch that the run pushed to, and its pull request once there is one."""
    if not story.run.pushed_head:
        return ""
    branch = f"branch {code(story.run.branch)}"
    return f"pull request {pull_of(story.card)} · {branch}" if story.card.pull_number is not None else branch


def has_begun(run: RunRow) -> bool:
    """Tell whether the run started an agent, spent or made anything, as the log says."""
    return bool(run.agent_started or run.agent_version or run.turns or run.usd or run.active_s or run.head)


def describe_kept(story: Story) -> str:
    """Return where the run's commits are, as the log says."""
    run = story.run
    if run.pushed_head:
        newest = run.head in ("", run.pushed_head)  # else what it counted was never published
        number = count(run.commits, "commit") if newest else "its first commits"
        more = not newest or (run.kept or 0) > run.commits
        later = "; later work is kept in the run's workspace" if more else ""
        return f"{number} pushed, {work_place(story)}{later}"
    if run.pushing and run.head and (run.ending is not Ending.FAILED or run.reason == "internal"):
        return f"it ended during the push: check whether branch {code(run.branch)} has its commits"
    if run.kept:
        return f"{count(run.kept, 'commit')} made and kept in the run's workspace, nothing was pushed"
    if run.kept is None and run.head:  # those on the branch, which may be of earlier runs
        return "its commits are kept in the run's workspace, nothing was pushed"
    return "nothing was pushed" if run.kept is None else "no commit was made, nothing was pushed"


def stop_account(story: Story) -> str:
    """Return how long a run without success took to stop, where its commits are, and its cost."""
    run, took = story.run, ""
    if not has_begun(run):
        return "No agent was started and nothing was spent."
    if run.ending is Ending.CANCELLED and story.stop_asked_at is not None and run.ended_at is not None:
        took = f"Stopped in {max(0.0, (run.ended_at - story.stop_asked_at).total_seconds()):.1f} s"
    return " · ".join(part for part in (took, describe_kept(story), describe_spent(story)) if part)
