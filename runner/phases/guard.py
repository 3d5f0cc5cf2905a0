"""Guard phase: denied violations go back to the agent, doubtful ones to a person."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from hashlib import sha256

from ledger.events.guard import GuardsJudged, Violation
from ledger.events.witness import CheckWitnessed, Witnessed, is_fewer
from ledger.rows.limit_answers import PUBLISH_PROTECTED, STOP, Subject
from runner.branch.export import commit_work, export_commit, list_published, peoples, read_base_head
from runner.checks.by_path import all_lines
from runner.checks.repair_limits import check_refusals
from runner.guards import builtin
from runner.guards.contract import Breach, Change
from runner.guards.diff import Known, change_of
from runner.guards.path_patterns import is_workflow
from runner.guards.report import failure_reason, guard_question
from runner.phases.work import repair_change
from runner.run.exits import Finish, fail
from runner.run.run_spec import Guards
from runner.session.context import RunContext
from runner.text.plain import one_line

_MAX = 100  # violations in one event
_JUDGE_S = 180.0  # searching 20 MB of text: nothing can renew the claim meanwhile
_PATH_BYTES = 1_000
_RULE_BYTES = 2_500


def enforce_guards(run: RunContext, start: str) -> bool:
    """Let the agent undo denied violations; return whether it had to. Publishing judges once more.

    Each violation is given back once, which counts as an iteration. Raises Finish (guardrail) for one that is
    still there, Park where the iterations are used up, and the exits of a turn.
    """
    worked = False
    while True:
        head = commit_work(run, f"Work of run {run.spec.run_id} on {run.spec.reference}", start)
        if not head or head == start:
            return worked
        head = export_commit(run, head)
        if head == start:  # it had only what set-up left
            return worked
        judged = judge_change(run, head)
        if not run.history.guards.denied:
            return worked
        if run.history.guards.stands:
            raise _refuse(run, judged)
        check_refusals(run, judged)
        repair_change(run)
        worked = True


def judge_change(run: RunContext, head: str) -> GuardsJudged:
    """Return the guards' judgement of a commit in the mirror; a new one becomes an event."""
    last = run.history.guards.judged
    judged = judgement(run, head, last)
    if judged is not last:
        run.log.append(judged)
    return judged


def judgement(run: RunContext, head: str, last: GuardsJudged | None) -> GuardsJudged:
    """Return the guards' judgement of a commit in the mirror: the last one where nothing is different."""
    guards = replace(run.spec.guards, checks=all_lines(run.spec.validation))
    base = run.mirror.head(run.spec.base_branch)
    fewer = fewer_tests(_list_witnesses(run), guards)
    rules_digest = _digest(
        [asdict(guards), [violation.mark for violation in fewer]] if fewer else asdict(guards)
    )
    if last is not None and (last.head, last.base, last.rules) == (head, base, rules_digest):
        return last
    change = change_of(run.mirror, base, head, Known(list_published(run), read_base_head(run), peoples(run)))
    # After the last git command: each of them renews the claim for a short while.
    with run.log.holding(_JUDGE_S):
        broken = (*violations(change, guards), *fewer)
    left_out, digest = broken[_MAX:], _digest([asdict(violation) | {"commit": ""} for violation in broken])
    return GuardsJudged(
        run_id=run.spec.run_id,
        head=head,
        base=base,
        rules=rules_digest,
        findings=broken[:_MAX],
        left_out=len(left_out),
        digest=digest,
    )


def ask_people(run: RunContext, head: str) -> None:
    """Return once people agreed to each doubtful violation and none is denied. Raises Park and Finish."""
    judged = judge_change(run, head)
    if run.history.guards.denied:
        raise _refuse(run, judged)
    for subject, some, digest in list_unanswered(run, judged):
        text = guard_question(some, judged.left_out)
        run.ask(subject, text, (PUBLISH_PROTECTED, STOP), digest=digest)


def list_unanswered(
    run: RunContext, judged: GuardsJudged
) -> Iterator[tuple[Subject, tuple[Violation, ...], str]]:
    """Yield the doubtful violations that nobody agreed to, with the subject and the digest of their question.

    Files of CI are a question of their own, since not everybody may answer it.
    """
    doubtful = tuple(violation for violation in judged.findings if violation.action == "ask")
    workflows = tuple(
        violation for violation in doubtful if violation.guard == "protected" and is_workflow(violation.path)
    )
    others = tuple(violation for violation in doubtful if violation not in workflows)
    if judged.left_out:  # unlisted violations may be of either kind, and each kind needs its own answer
        workflows, others = workflows or doubtful[:1], others or doubtful[:1]
    of_ci = () if run.spec.workflows else workflows
    for subject, some in ((Subject.WORKFLOWS, of_ci), (Subject.GUARD, others)):
        digest = _digest([judged.digest, judged.left_out, [asdict(violation) for violation in some]])
        if some and not run.may_publish(subject, digest):
            yield subject, some, digest


def violations(change: Change, rules: Guards) -> tuple[Violation, ...]:
    """Return the violations of all guards whose action is not allow, denied ones first."""
    actions = {name: rules.action(name) for name in builtin.names()}
    broken = [
        _violation(name, action, breach)
        for name, action in actions.items()
        if action != "allow"
        for breach in builtin.load(name).find_breaches(change, rules)
    ]
    return tuple(sorted(dict.fromkeys(broken), key=_rank))


def fewer_tests(witnessed: Iterable[Witnessed], rules: Guards) -> tuple[Violation, ...]:
    """Return a doubtful violation for each command that ran fewer tests than on the default branch."""
    action = rules.action("tests")
    return tuple(
        Violation(
            guard="tests",
            rule=f"tests: {action}",
            path=one_line(event.command, _PATH_BYTES),
            line=0,
            commit="",
            action="ask",
            what=(
                f"ran {event.passed} {event.unit}s by {event.runner},"
                f" and {event.base_tests} on the default branch"
            ),
            advice="bring back the tests that no longer run",
            mark=f"{event.command}: {event.passed} of {event.base_tests}",
        )
        for event in witnessed
        if action != "allow" and is_fewer(event)
    )


def _list_witnesses(run: RunContext) -> list[CheckWitnessed]:
    """Return the witnesses' words on the clean checks that ended last."""
    ended = run.history.validation
    if ended is None or not ended.clean:
        return []
    return [event for event in run.history.witnessed.values() if event.iteration == ended.iteration]


def _rank(violation: Violation) -> tuple[bool, bool, str, str]:
    """Sort key: denied before doubtful, the end state before commits on the way."""
    return violation.action != "deny", bool(violation.commit), violation.guard, violation.path


def _violation(name: str, action: str, breach: Breach) -> Violation:
    return Violation(
        guard=name,
        rule=one_line(breach.rule, _RULE_BYTES),
        path=one_line(breach.path, _PATH_BYTES),
        line=breach.line,
        commit=breach.commit,
        action="ask" if breach.doubtful else action,
        what=breach.what,
        advice=breach.advice,
        mark=breach.mark,
    )


def _refuse(run: RunContext, judged: GuardsJudged) -> Finish:
    return fail("guardrail", failure_reason(run.history.guards.denied, judged.left_out))


def _digest(what: object) -> str:
    return sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()
