"""Early publication: commits that pass the guards are on GitHub while the work goes on."""

from dataclasses import replace

from ledger.events.guard import GuardsJudged
from ledger.events.run import BranchPushed, Progressed
from runner.branch.export import export_commit
from runner.errors import CommandTimeoutError, MovedBranchError, RepositoryError, WorkspaceError
from runner.git.mirror import DiffStat
from runner.guards.report import list_violations
from runner.phases.guard import judgement, unanswered
from runner.phases.publish import measure, open_concerns, push
from runner.session.context import RunContext
from runner.text.plain import one_line

_WHY_CHARS = 300


def publish_early(run: RunContext) -> str:
    """Push HEAD where the policy wants to see the work early and the guards let it pass; no agent is at work.

    Return HEAD as it was exported, or empty. The end of the work does the rest: there, pushes of people are
    taken in, and findings given back or asked about. A pull request that is up for review gets finished work
    only. Raises StopRequested.
    """
    order, head = run.order, ""
    if not order.early or run.log.pull_is_ready(order.card_id):
        return ""
    try:
        start, stands = run.mirror.recall(f"{order.run_id}-start"), run.checkout.commit()
        if stands in ("", start):
            return ""
        head = export_commit(run, stands)
        if head not in (start, run.history.early.pushed) and _passes(run, head, start):
            head = push(run, head)
            run.log.append(BranchPushed(order.run_id, order.branch, head, start))
    except MovedBranchError:
        pass
    except (RepositoryError, WorkspaceError, CommandTimeoutError) as error:
        said = f"The work so far could not be published yet: {one_line(str(error), _WHY_CHARS)}"
        if said != run.history.last_line:
            run.log.append(Progressed(order.run_id, said))
    return head


def _passes(run: RunContext, head: str, start: str) -> bool:
    """Record the judgement of a changed commit before it is pushed; return whether it may be."""
    change = measure(run, head)
    if not change.files_changed:
        return False
    judged = judgement(run, head, run.history.guards.judged)
    judged = replace(judged, start=start, withheld=_withheld(run, judged, change, head))
    if judged != run.history.early.judged:
        run.log.append(judged)
    return not judged.withheld


def _withheld(run: RunContext, judged: GuardsJudged, change: DiffStat, head: str) -> str:
    """Return why the commit is not published now; empty when it is."""
    denied = tuple(finding for finding in judged.findings if finding.action == "deny")
    if denied or judged.left_out:
        return f"the guardrails refuse it: {list_violations(denied or judged.findings, judged.left_out)}"
    doubtful = tuple(finding for _, some, _ in unanswered(run, judged) for finding in some)
    if doubtful:
        return f"the guardrails want a person's word: {list_violations(doubtful)}"
    return open_concerns(run, change, head).text
