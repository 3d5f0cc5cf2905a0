"""Investigation phase: a read-only run from a clean checkout of the base to its findings."""

from ledger.events.findings import Finding, FindingsReported, FollowUp, InvestigationBegun, Reference
from ledger.events.run import FinalReported, RunEnded
from ledger.states import Ending
from runner.agents.board_tools import FindingInput, FindingsInput, ReferenceInput
from runner.checks.browser_replay import play_before
from runner.checks.set_up import set_up
from runner.git.mirror import Heads
from runner.phases.checkpoint import checkpoint
from runner.phases.prepare import (
    admit,
    bring_newer,
    forget_session,
    mark_prepared,
    take_workspace,
    tell_what_is_missing,
    unpack_session,
)
from runner.phases.work import do_work
from runner.session.context import RunContext
from runner.text.plain import one_line

MAX_DISCARDED = 50  # paths that are named
_BEFORE = "refs/cardinal/before"  # in its workspace: the state after set-up
_MESSAGE = "Left behind"


def investigate(run: RunContext, *, allow_unsandboxed: bool) -> None:
    """Take an investigation to its ending. Raises StageExit for every other exit, and RunnerError."""
    base = _prepare(run, allow_unsandboxed=allow_unsandboxed)
    do_work(run)
    checkpoint(run)
    _hand_in(run, base)


def _prepare(run: RunContext, *, allow_unsandboxed: bool) -> str:
    """Check the base out in a place of its own; return its commit, the same in every claim."""
    spec = run.spec
    admit(run, allow_unsandboxed=allow_unsandboxed)
    heads = run.mirror.fetch_heads(spec.branch, spec.base_branch)
    base = run.history.reads or heads.base
    run.mirror.remember(f"{spec.run_id}-base", base)
    tell_what_is_missing(run, base)
    brought = bring_newer(run)
    if take_workspace(run, brought):
        run.workspace.clear()  # an investigation keeps nothing of what it wrote
    if run.workspace.fresh:
        run.checkout.clone(spec.branch, spec.base_branch, Heads("", base))
        if brought is None:
            forget_session(run)
        else:
            unpack_session(run, brought)
        mark_prepared(run)
    if not run.checkout.commit(_BEFORE):
        set_up(run, run.workspace, run.checkout, base, run.beat)
        run.checkout.mark(_BEFORE, "What set-up left")
    if not run.history.reads:
        run.log.append(InvestigationBegun(spec.run_id, base))
    play_before(run, base)
    return base


def _hand_in(run: RunContext, base: str) -> None:
    """Write findings, report and ending in one transaction; changed files are only named."""
    run_id = run.spec.run_id
    findings_input = FindingsInput.model_validate(run.history.finish)
    changed = run.checkout.list_changed_since(_BEFORE, _MESSAGE)
    discarded = tuple(one_line(path) for path in changed.names[:MAX_DISCARDED])
    omitted = len(changed.names) - len(discarded) + changed.more
    reader = _Reader(run, base)
    findings = tuple(reader.finding(finding) for finding in findings_input.findings)
    follow_ups = tuple(FollowUp(card.title, card.body, card.reason) for card in findings_input.follow_ups)
    run.log.append(
        FindingsReported(
            run_id=run_id,
            base=base,
            summary=findings_input.summary,
            findings=findings,
            follow_ups=follow_ups,
            discarded=discarded,
            discarded_omitted=omitted,
        ),
        FinalReported(run_id, findings_input.summary, (), (), ()),
        RunEnded(run_id, Ending.SUCCEEDED, "", "", one_line(run.history.last_line)),
    )


class _Reader:
    """Checks in the host's mirror that the places named by the agent exist."""

    def __init__(self, run: RunContext, base: str) -> None:
        self._run, self._base = run, base
        self._lines: dict[str, int | None] = {}

    def finding(self, given: FindingInput) -> Finding:
        references = tuple(self._reference(reference) for reference in given.references)
        return Finding(given.title, given.cause, given.fix, given.confidence, references)

    def _reference(self, given: ReferenceInput) -> Reference:
        path = given.path.removeprefix(f"{self._run.workspace.layout.repo}/").removeprefix("./")
        first, last = given.line, max(given.line, given.end_line)
        if not first:
            last = 0
        lines = self._lines_of(path)
        return Reference(path, first, last, lines is not None and last <= lines)

    def _lines_of(self, path: str) -> int | None:
        if path not in self._lines:
            self._run.beat()
            self._lines[path] = self._run.mirror.lines_of(self._base, path)
        return self._lines[path]
