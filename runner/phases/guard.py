"""Judges what would leave: what a guard denies goes back to the agent, what it asks about to a person."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from hashlib import sha256

from ledger.events.guard import GuardsJudged, Violation
from ledger.model.limit_answers import PUBLISH_PROTECTED, STOP, Subject
from runner.branch.export import export_commit
from runner.branch.rebase import seen
from runner.branch.rewrite_authors import peoples, published
from runner.checks.repair_limits import bound_refusals
from runner.guards import builtin
from runner.guards.contract import Breach, Change
from runner.guards.diff import Known, change_of
from runner.guards.path_patterns import is_workflow
from runner.guards.report import question, reason
from runner.phases.work import repair_change
from runner.run.context import RunContext
from runner.run.exits import Finish, failed
from runner.run.run_spec import Guards
from runner.text.truncate import one_line

_MAX = 100  # findings in one event
_JUDGE_S = 180.0  # searching 20 MB of text: nothing can renew the claim meanwhile
_PATH_BYTES = 1_000
_RULE_BYTES = 2_500


def enforce_guards(run: RunContext, start: str) -> bool:
    """Let the agent undo what the guards deny, and return whether it had to. Publishing judges once more what
    really leaves.

    Each finding is given back once, and each time counts as an iteration. Raises Finish (guardrail) for one
    that is still there, Park where the iterations are used up, and whatever a turn raises.
    """
    worked = False
    while True:
        head = run.checkout.commit_leftovers(f"Work of run {run.order.run_id} on {run.order.reference}")
        if not head or head == start:
            return worked
        judged = judge(run, export_commit(run))
        if not run.history.guards.denied:
            return worked
        if run.history.guards.stands:
            raise _refused(judged)
        bound_refusals(run, judged)
        repair_change(run)
        worked = True


def judge(run: RunContext, head: str) -> GuardsJudged:
    """Return what all guards say of a commit of the mirror; an event, unless it was said of the very same."""
    lines = run.order.validation
    rules = replace(run.order.guards, checks=(*lines.setup, *lines.fast, *lines.full))
    base = run.mirror.head(run.order.base_branch)
    rules_digest = _digest(asdict(rules))
    last = run.history.guards.judged
    if last is not None and (last.head, last.base, last.rules) == (head, base, rules_digest):
        return last
    change = change_of(run.mirror, base, head, Known(published(run), seen(run), peoples(run)))
    run.log.hold(_JUDGE_S)  # after the last git command: each of them renews the claim for a short while
    found = violations(change, rules)
    judged = GuardsJudged(
        run.order.run_id,
        head,
        base,
        rules_digest,
        found[:_MAX],
        max(0, len(found) - _MAX),
        _digest([asdict(one) | {"commit": ""} for one in found]),
    )
    run.log.append(judged)
    return judged


def ask_people(run: RunContext, head: str) -> None:
    """Return once a person agreed to every finding that is to be asked about, and nothing is denied.

    Files of CI are a question of their own, since not everybody may answer it. Raises Park and Finish.
    """
    judged = judge(run, head)
    if run.history.guards.denied:
        raise _refused(judged)
    asked = tuple(one for one in judged.findings if one.action == "ask")
    workflows = tuple(one for one in asked if one.guard == "protected" and is_workflow(one.path))
    others = tuple(one for one in asked if one not in workflows)
    if judged.left_out:  # what is not listed may be of either kind, and each needs its own word
        workflows, others = workflows or asked[:1], others or asked[:1]
    of_ci = () if run.order.workflows else workflows
    for subject, some in ((Subject.WORKFLOWS, of_ci), (Subject.GUARD, others)):
        digest = _digest([judged.digest, judged.left_out, [asdict(one) for one in some]])
        if some and not run.may_publish(subject, digest):
            text = question(some, judged.left_out)
            run.ask(subject, text, (PUBLISH_PROTECTED, STOP), digest=digest)


def violations(change: Change, rules: Guards) -> tuple[Violation, ...]:
    """Return what all guards find that the rules do not allow, what is denied first."""
    found = [one for name in builtin.names() for one in _of_guard(name, change, rules)]
    return tuple(sorted(dict.fromkeys(found), key=_rank))


def _rank(one: Violation) -> tuple[bool, bool, str, str]:
    """What is denied comes first, then what stands at the head before what only was on the way."""
    return one.action != "deny", bool(one.commit), one.guard, one.path


def _of_guard(name: str, change: Change, rules: Guards) -> Iterator[Violation]:
    action = rules.action(name)
    if action != "allow":
        yield from (_violation(name, action, one) for one in builtin.load(name).look(change, rules))


def _violation(name: str, action: str, found: Breach) -> Violation:
    return Violation(
        guard=name,
        rule=one_line(found.rule, _RULE_BYTES),
        path=one_line(found.path, _PATH_BYTES),
        line=found.line,
        commit=found.commit,
        action="ask" if found.doubtful else action,
        what=found.what,
        advice=found.advice,
        mark=found.mark,
    )


def _refused(judged: GuardsJudged) -> Finish:
    denied = tuple(one for one in judged.findings if one.action == "deny")
    return failed("guardrail", reason(denied, judged.left_out))


def _digest(what: object) -> str:
    return sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()
