"""Which files the policy protects, and what comes of a change to one."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.events.guard import Violation
from ledger.events.run import RunParked
from ledger.states import Ending
from runner.findings import listed
from runner.order import Guards
from runner.patterns import protected
from tests.runner.test_story import EDIT, FINISH, PLAN
from tests.runner.world import BRANCH, World, git

WORKFLOWS = (".github/workflows/**",)
CI = {"edit": {"path": ".github/workflows/ci.yml", "content": "on: push\n"}}


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
    assert bool(protected([path], [pattern])) is fits


def finding(path: str, **changes: Any) -> Violation:
    plain = Violation("protected", "protect: infra/**", path, 0, "", "ask", "is protected", "leave it", "")
    return replace(plain, **changes)


def test_a_path_is_told_with_its_rule_on_one_line_and_many_are_counted() -> None:
    said = listed([finding("infra/a\n\x1b[31mb"), *(finding(f"infra/{n}") for n in range(6))])
    assert "'infra/a [31mb' is protected (rule 'protect: infra/**')" in said
    assert "and 2 more" in said
    assert "\x1b" not in said


def test_a_change_of_a_workflow_leaves_only_with_a_persons_word(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    order = world.order(guards=Guards({"protected": "ask"}, WORKFLOWS))
    parked = world.run(order)
    assert isinstance(parked, RunParked)
    assert parked.why == "limit"
    assert ".github/workflows/ci.yml" in world.only("QuestionAsked").text
    assert WORKFLOWS[0] in world.only("QuestionAsked").text
    assert BRANCH not in git(world.origin, "branch", "--format=%(refname:short)")
    world.answer(order, "Publish these files too")
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.show(".github/workflows/ci.yml") == "on: push"


def test_with_a_maintainers_word_workflows_leave_unasked_and_other_protected_files_do_not(
    world: World,
) -> None:
    secret = {"edit": {"path": "infra/key.txt", "content": "x"}}
    world.scenario(plan=[PLAN], work=[EDIT, CI, secret, {"commit": "Improve CI"}, FINISH])
    world.run(world.order(guards=Guards({"protected": "ask"}, (*WORKFLOWS, "infra/**")), workflows=True))
    asked = world.only("QuestionAsked")
    assert asked.asker == "guard"
    assert "infra/key.txt" in asked.text
    assert "workflows" not in asked.text


def test_workflow_files_are_asked_about_as_such(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    world.run(world.order(guards=Guards({"protected": "ask"}, WORKFLOWS)))
    assert world.only("QuestionAsked").asker == "workflows"


def test_leave_for_a_large_change_is_none_for_protected_files(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    order = world.order(guards=Guards({"protected": "ask"}, WORKFLOWS))
    world.run(order)
    world.answer(order, "Publish it anyway")
    assert world.of("BranchPushed") == []
    world.answer(order, "Stop here")
    assert (world.ended().ending, world.ended().reason) == (Ending.FAILED, "stopped")
    assert world.of("BranchPushed") == []


def test_a_workflow_that_people_pushed_to_the_branch_themselves_is_theirs(world: World) -> None:
    world.commit({".github/workflows/ci.yml": "on: push\n"}, BRANCH)
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Say hello"}, FINISH])
    world.run(world.order(guards=Guards({"protected": "ask"}, WORKFLOWS)))
    assert world.ended().ending is Ending.SUCCEEDED, world.of("QuestionAsked")


def test_where_the_policy_protects_nothing_a_workflow_may_change(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, CI, {"commit": "Improve CI"}, FINISH])
    world.run(world.order())
    assert world.ended().ending is Ending.SUCCEEDED


def test_what_does_not_fit_into_the_list_leaves_no_more_unasked_than_what_does(world: World) -> None:
    turned = "for n in $(seq 101); do echo $n > .github/workflows/x.yml; git add -A; git commit -qm $n; done"
    steps = ({"run": "mkdir -p .github/workflows payments; touch payments/pay.py"}, {"run": turned}, FINISH)
    world.scenario(plan=[PLAN], work=[EDIT, *steps])
    guards = Guards({"protected": "ask"}, (*WORKFLOWS, "payments/**"))
    assert isinstance(world.run(world.order(guards=guards, workflows=True)), RunParked)
    assert "payments/pay.py" in world.only("QuestionAsked").text
    assert BRANCH not in git(world.origin, "branch", "--format=%(refname:short)")
