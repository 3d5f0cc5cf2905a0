"""Which files the policy protects, and what comes of a change to one."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.events.guard import GuardsJudged, Violation
from ledger.events.run import BranchExported, RunEvent, RunParked
from ledger.states import Ending, RunState
from rules.policy.repository import Guardrails
from runner.guards.path_patterns import find_protected
from runner.guards.report import list_violations
from runner.phases.guard import _JUDGE_S
from runner.run.log import RunLog
from runner.run.run_spec import Guards
from runner.supervisor import execute_run
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import BRANCH, World, git

WORKFLOWS = (".github/workflows/**",)
CI = {"edit": {"path": ".github/workflows/ci.yml", "content": "on: push\n"}}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".github/workflows/ci.yml", "CI"),
        ("infra/main.tf", "infrastructure"),
        ("deploy/infrastructure/a.yml", "infrastructure"),
        ("modules/net/vpc.tf", "infrastructure"),
        ("charts/helm/values.yaml", "infrastructure"),
        ("src/shop/auth/session.py", "authentication"),
        ("src/Auth.ts", "authentication"),
        ("lib/oauth2/client.rb", "authentication"),
        ("app/payments/charge.py", "payments"),
        ("src/payment_intent.go", "payments"),
        ("billing/invoice.py", "payments"),
        ("src/author.py", ""),
        ("docs/authors.md", ""),
        ("src/cart.py", ""),
        ("src/informal/a.py", ""),
    ],
)
def test_without_a_word_in_the_policy_infrastructure_authentication_and_payments_are_protected(
    path: str, why: str
) -> None:
    assert bool(find_protected((path,), Guardrails().protect)) is bool(why)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        (".github/workflows/**", ".github/workflows/ci.yml", True),
        (".github/workflows/**", ".github/workflows/deep/er/ci.yml", True),
        (".github/workflows/**", ".GitHub/Workflows/ci.yml", True),
        (".github/workflows/**", ".github/workflows/\nodd\n.yml", True),
        (".github/workflows/**", ".github/workflows", True),  # a link in its place
        (".github/workflows/**", ".github", True),
        (".github/workflows/**", ".github/CODEOWNERS", False),
        (".github/workflows/**", "docs/.github/workflows/ci.yml", False),
        (".github/workflows/**", ".github/workflows2/ci.yml", False),
        ("**/auth/**", "auth/a.py", True),
        ("**/auth/**", "src/shop/auth/deep/a.py", True),
        ("**/auth/**", "src/author.py", False),
        ("infra", "infra/main.tf", True),
        ("infra/", "deep/infra/main.tf", True),
        ("/infra/", "deep/infra/main.tf", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/?.py", "src/ab.py", False),
        ("*.pem", "keys/a.pem", True),
        ("a.b", "aXb", False),
        ("**", "anything", True),
        ("/", "anything", False),
    ],
)
def test_a_pattern_fits_what_it_says_and_nothing_else(pattern: str, path: str, fits: bool) -> None:
    assert bool(find_protected([path], [pattern])) is fits


def finding(path: str, **changes: Any) -> Violation:
    plain = Violation("protected", "protect: infra/**", path, 0, "", "ask", "is protected", "leave it", "")
    return replace(plain, **changes)


def test_a_path_is_told_with_its_rule_on_one_line_and_many_are_counted() -> None:
    said = list_violations([finding("infra/a\n\x1b[31mb"), *(finding(f"infra/{n}") for n in range(6))])
    assert "'infra/a [31mb' is protected (rule 'protect: infra/**')" in said
    assert "and 2 more" in said
    assert "\x1b" not in said


def test_a_change_of_a_workflow_leaves_only_with_a_persons_word(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    spec = world.spec(guards=Guards({"protected": "ask"}, WORKFLOWS))
    parked = world.run(spec)
    assert isinstance(parked, RunParked)
    assert parked.why == "limit"
    assert ".github/workflows/ci.yml" in world.only("QuestionAsked").text
    assert WORKFLOWS[0] in world.only("QuestionAsked").text
    assert BRANCH not in git(world.origin, "branch", "--format=%(refname:short)")
    world.answer(spec, "Publish these files too")
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.show(".github/workflows/ci.yml") == "on: push"


def test_with_a_maintainers_word_workflows_leave_unasked_and_other_protected_files_do_not(
    world: World,
) -> None:
    secret = {"edit": {"path": "infra/key.txt", "content": "x"}}
    world.scenario(plan=[PLAN], work=[EDIT, CI, secret, {"commit": "Improve CI"}, FINISH])
    world.run(world.spec(guards=Guards({"protected": "ask"}, (*WORKFLOWS, "infra/**")), workflows=True))
    asked = world.only("QuestionAsked")
    assert asked.asker == "guard"
    assert "infra/key.txt" in asked.text
    assert "workflows" not in asked.text


def test_workflow_files_are_asked_about_as_such(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    world.run(world.spec(guards=Guards({"protected": "ask"}, WORKFLOWS)))
    assert world.only("QuestionAsked").asker == "workflows"


def test_leave_for_a_large_change_is_none_for_protected_files(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    spec = world.spec(guards=Guards({"protected": "ask"}, WORKFLOWS))
    world.run(spec)
    world.answer(spec, "Publish it anyway")
    assert world.of("BranchPushed") == []
    world.answer(spec, "Stop here")
    assert (world.ended().ending, world.ended().reason) == (Ending.CANCELLED, "stopped")
    assert world.of("BranchPushed") == []


def test_a_workflow_that_people_pushed_to_the_branch_themselves_is_theirs(world: World) -> None:
    world.commit({".github/workflows/ci.yml": "on: push\n"}, BRANCH)
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Say hello"}, FINISH])
    world.run(world.spec(guards=Guards({"protected": "ask"}, WORKFLOWS)))
    assert world.ended().ending is Ending.SUCCEEDED, world.of("QuestionAsked")


def test_where_the_policy_protects_nothing_a_workflow_may_change(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED


def test_what_does_not_fit_into_the_list_leaves_no_more_unasked_than_what_does(world: World) -> None:
    turned = "for n in $(seq 101); do echo $n > .github/workflows/x.yml; git add -A; git commit -qm $n; done"
    steps = ({"run": "mkdir -p .github/workflows payments; touch payments/pay.py"}, {"run": turned}, FINISH)
    world.scenario(plan=[PLAN], work=[EDIT, *steps])
    guards = Guards({"protected": "ask"}, (*WORKFLOWS, "payments/**"))
    assert isinstance(world.run(world.spec(guards=guards, workflows=True)), RunParked)
    assert "payments/pay.py" in world.only("QuestionAsked").text
    assert BRANCH not in git(world.origin, "branch", "--format=%(refname:short)")


class Renewals(RunLog):
    """Counts how often the claim could be renewed, and so shortened, while it was held for the guards."""

    is_held, shortened = False, 0

    def hold(self, for_s: float) -> None:
        super().hold(for_s)
        self.is_held = for_s == _JUDGE_S  # other steps hold it, too, and beat meanwhile

    def beat(self) -> None:
        self.shortened += self.is_held
        super().beat()

    def append(self, *events: RunEvent) -> None:
        self.is_held = self.is_held and not any(isinstance(event, GuardsJudged) for event in events)
        super().append(*events)


def test_nothing_shortens_the_claim_while_the_guards_look(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Hello"}, FINISH])
    claimed, log = world.claim(world.spec(guards=Guards({"secrets": "deny"})))
    log.__class__ = Renewals
    execute_run(claimed, log, world.remote, world.clock)
    assert world.ended().ending is Ending.SUCCEEDED
    assert len(world.of("GuardsJudged")) > 0
    assert isinstance(log, Renewals)
    assert log.shortened == 0


def test_what_guards_refuse_only_after_people_pushed_is_given_back_to_the_agent(world: World) -> None:
    lines = "".join(f"line {number}\n" for number in range(30))
    world.commit({"src/a.txt": lines, "src/b.txt": lines + "b\n"})
    work = {"run": "echo more >> src/a.txt"}
    world.scenario(plan=[PLAN], work=[EDIT, work, {"commit": "More"}, FINISH], repair=[{"say": "Why?"}])
    claimed, log = world.claim(world.spec(guards=Guards({"protected": "deny"}, ("payments/**",))))

    class Pushed(RunLog):
        """Lets somebody push to the branch just before the run does."""

        def append(self, *events: RunEvent) -> None:
            super().append(*events)
            exported = any(isinstance(event, BranchExported) for event in events)
            if exported and BRANCH not in git(world.origin, "branch"):
                clone = world.places.mirrors.parent / "by-hand"
                git(clone.parent, "clone", "-q", str(world.origin), str(clone))
                git(clone, "mv", "src", "payments")
                git(clone, "commit", "-qm", "Payments live here")
                git(clone, "push", "-q", "origin", f"HEAD:{BRANCH}")

    log.__class__ = Pushed
    execute_run(claimed, log, world.remote, world.clock)
    steps = [(one.before, one.after) for one in world.of("RunStepped")]
    assert (RunState.PUBLISHING, RunState.WORKING) in steps
    assert (world.ended().reason, world.of("BranchPushed")) == ("guardrail", []), world.ended()
    assert "payments/a.txt" in world.ended().detail
