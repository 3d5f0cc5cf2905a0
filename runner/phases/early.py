"""Early publication: commits that pass the guards are on GitHub while the work goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ledger.events.guard import GuardsJudged
from ledger.events.run import BranchPushed, Progressed
from runner.artifacts.backend import Beat
from runner.branch.export import export_apart, export_commit
from runner.errors import CommandTimeoutError, MovedBranchError, RunnerError
from runner.git.checkout import Checkout
from runner.git.mirror import DiffStat
from runner.guards.report import list_violations
from runner.phases.checkpoint import checkpoint_live
from runner.phases.guard import judgement, list_unanswered
from runner.phases.publish import measure, open_concerns, push
from runner.session.context import RunContext
from runner.session.stage_machine import may_edit
from runner.text.plain import one_line

MAX_LIVE_S = 60.0  # of a publication while an agent is at work: no checkpoint is made meanwhile
_WHY_CHARS = 300


def publish_early(run: RunContext) -> str:
    """Push HEAD where the policy wants to see the work early and the guards let it pass; no agent is at work.

    Return HEAD as it was exported, or empty. The end of the work does the rest: there, pushes of people are
    taken in, and findings given back or asked about. A pull request that is up for review gets finished work
    only. Raises StopRequested.
    """
    head = ""
    with _publishing(run) as wanted:
        start, stands = _start(run), run.checkout.commit() if wanted else ""
        if stands not in ("", start):
            head = export_commit(run, stands)
            head = _publish(run, head, start)
    return head


def keep_live(run: RunContext, meanwhile: Beat) -> None:
    """Keep the work while the agent is at it, and publish its commits as `publish_early` does.

    A copy of HEAD in the mirror is judged, and pushed by its id, whatever the agent does then. `meanwhile` is
    called all the time, and may raise to end it. Who waits for GitHub longer than MAX_LIVE_S publishes later.
    """
    checkpoint_live(run, meanwhile)
    stage = run.stage
    if run.spec.investigates or (stage is not None and not may_edit(stage)):
        return  # commits of these are thrown away
    until = run.clock.monotonic() + MAX_LIVE_S

    def beat() -> None:
        meanwhile()
        if run.clock.monotonic() > until:
            raise CommandTimeoutError("its way to GitHub", MAX_LIVE_S)

    mirror = run.mirror.beating(beat)
    checkout = Checkout(run.workspace, mirror, run.spec.authorship.author, beat)
    live = replace(run, mirror=mirror, checkout=checkout)
    stands = ""
    with _publishing(live) as wanted:
        start = _start(run)
        if wanted:
            stands, head = export_apart(live, (start, run.pace.looked))
        if stands:
            _publish(live, head, start, apart=True)
            run.pace.looked = stands


@contextmanager
def _publishing(run: RunContext) -> Iterator[bool]:
    """Yield whether the work is to be seen early; a failure costs no more than a message."""
    spec = run.spec
    try:
        yield spec.early and not run.log.pull_is_ready(spec.card_id)
    except MovedBranchError:
        pass
    except RunnerError as error:
        said = f"The work so far could not be published yet: {one_line(str(error), _WHY_CHARS)}"
        if said not in (run.history.last_line, run.pace.unpublished):
            run.log.append(Progressed(spec.run_id, said))
        run.pace.unpublished = said


def _start(run: RunContext) -> str:
    return run.mirror.read_ref(f"{run.spec.run_id}-start")


def _publish(run: RunContext, head: str, start: str, *, apart: bool = False) -> str:
    """Push an exported commit unless it is there or the guards refuse it; return it as GitHub has it."""
    if head not in (start, run.history.early.pushed) and _passes(run, head, start):
        head = push(run, head, apart=apart)
        run.log.append(BranchPushed(run.spec.run_id, run.spec.branch, head, start))
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
    doubtful = tuple(finding for _, some, _ in list_unanswered(run, judged) for finding in some)
    if doubtful:
        return f"the guardrails ask for a person's decision: {list_violations(doubtful)}"
    return open_concerns(run, change, head).text
