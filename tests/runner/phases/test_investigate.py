"""An investigation reads only, ends with findings, and leaves nothing behind but these."""

import dataclasses
from typing import Any

import pytest

from ledger.events.findings import FollowUp, Reference
from ledger.ids import RunId
from ledger.states import Ending
from runner import workspaces
from runner.agents.board_tools import INVESTIGATING, offer_tools
from runner.checks.places import tenancy
from runner.run.run_spec import RunSpec, ValidationSpec
from tests.runner.flows.test_kill import die_at
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World, checks, git, make_world

PLACES = [{"path": "README.md", "line": 1}, {"path": "README.md", "line": 9}, {"path": "till.py"}]
FINDING = {
    "title": "The till rounds down",
    "cause": "It cuts cents.",
    "fix": "Round half up.",
    "confidence": "high",
    "references": PLACES,
}
CARD = {"title": "Test the rounding", "body": "Nobody does.", "reason": "it is other work"}
FINDINGS = {"findings": {"summary": "Cents are cut.", "findings": [FINDING], "follow_ups": [CARD]}}


def looking(world: World, *steps: Any, **changes: Any) -> RunSpec:
    world.scenario(investigate=list(steps))
    return world.spec(mode="investigate", **changes)


def test_a_repository_that_names_no_checks_can_be_investigated(world: World) -> None:
    world.run(looking(world, FINDINGS, validation=ValidationSpec(absent="It names no checks.")))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()


def branches(world: World) -> list[str]:
    return git(world.origin, "for-each-ref", "--format=%(refname)").splitlines()


def test_an_investigation_ends_with_findings_and_neither_branch_nor_gate(world: World) -> None:
    world.run(looking(world, FINDINGS, validation=checks(fast=["false"], full=["false"])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    told = world.only("FindingsReported")
    assert (told.base, told.summary, told.discarded) == (world.head("main"), "Cents are cut.", ())
    assert told.follow_ups == (FollowUp("Test the rounding", "Nobody does.", "it is other work"),)
    assert branches(world) == ["refs/heads/main"]
    assert set(world.kinds()).isdisjoint({"PlanProposed", "CommandChecked", "BranchExported", "BranchPushed"})


def test_references_that_are_not_in_the_base_are_marked(world: World) -> None:
    world.run(looking(world, FINDINGS))
    ((finding,),) = [told.findings for told in world.of("FindingsReported")]
    assert finding.references == (
        Reference("README.md", 1, 1, True),
        Reference("README.md", 9, 9, False),
        Reference("till.py", 0, 0, False),
    )


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        ("./README.md", 1, True),
        ("/workspace/repo/README.md", 1, True),
        ("/etc/passwd", 0, False),
        ("../origin.git/config", 0, False),
        ("docs", 0, False),
        ("docs/a b.md", 3, True),
        ("docs/a b.md", 4, False),
        (":(glob)**", 0, False),
        ("--help", 0, False),
    ],
)
def test_only_files_of_the_repository_are_found(world: World, path: str, line: int, found: bool) -> None:
    world.commit({"docs/a b.md": "1\n2\n3"})
    finding = {**FINDING, "references": [{"path": path, "line": line}]}
    world.run(looking(world, {"findings": {"summary": "s", "findings": [finding]}}))
    assert [one.found for one in world.only("FindingsReported").findings[0].references] == [found]


TRIES = (
    "echo evil > hello.txt",
    "echo evil >> README.md",
    "git commit --allow-empty -m evil",
    "git branch evil",
    "rm -rf .git",
    "mv README.md OTHER.md",
)


def test_an_agent_that_tries_to_write_or_commit_gets_nowhere(world: World) -> None:
    world.run(looking(world, *({"run": line} for line in TRIES), FINDINGS))
    assert [(used.summary, used.ok) for used in world.of("ToolUsed")] == [(line, False) for line in TRIES]
    assert world.only("FindingsReported").discarded == ()
    assert branches(world) == ["refs/heads/main"]


def test_every_turn_of_an_investigation_is_read_only_after_an_answer_and_a_reminder_too(world: World) -> None:
    ask = {"ask": {"question": "Which till?", "choices": ["Front", "Back"]}}
    world.scenario(investigate=[ask, {"run": TRIES[0]}], report=[{"run": TRIES[1]}, FINDINGS])
    spec = world.spec(mode="investigate")
    world.run(spec)
    world.answer(spec, "Front")
    assert world.ended().ending is Ending.SUCCEEDED
    assert [turn.phase for turn in world.of("TurnStarted")] == ["investigate", "answer", "report"]
    assert [used.ok for used in world.of("ToolUsed")] == [False, False]


def test_what_set_up_leaves_is_there_and_is_no_change_of_the_agents(world: World) -> None:
    setup = checks(setup=["echo made > made.txt"])
    world.run(looking(world, {"run": "test -f made.txt"}, FINDINGS, validation=setup))
    assert [used.ok for used in world.of("ToolUsed")] == [True]
    assert world.only("FindingsReported").discarded == ()


def test_changes_that_got_into_its_place_nevertheless_are_discarded_and_said(world: World) -> None:
    spec = looking(world, {"ask": {"question": "Which till?"}}, FINDINGS)
    world.run(spec)
    workspace = workspaces.load(spec.workspace).open(spec.paths, tenancy(spec))
    repo = spec.paths.workspaces / tenancy(spec).card_id / "repo"
    assert not workspace.fresh
    (repo / "README.md").write_text("Changed.\n")
    (repo / "new file").write_text("New.\n")
    world.answer(spec, "Front")
    assert world.only("FindingsReported").discarded == ("README.md", "new file")
    assert branches(world) == ["refs/heads/main"]


def test_what_a_fix_left_in_the_cards_place_is_neither_seen_nor_touched(world: World) -> None:
    world.scenario(
        plan=[PLAN],
        work=[EDIT, {"ask": {"question": "Go on?"}}, FINISH],
        investigate=[{"run": "test ! -e hello.txt"}, FINDINGS],
    )
    fix = world.spec()
    world.run(fix)
    lease, world.lease = world.lease, None
    run_spec = world.spec(run_id="r2", mode="investigate")
    world.run(run_spec)
    assert [used.ok for used in world.of("ToolUsed", run_spec.run_id)] == [True]
    world.lease = lease
    world.answer(fix, "Yes")
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.of("SessionLost") == []
    assert world.show("hello.txt") == "Hello"


def test_another_investigation_of_the_card_reads_the_base_as_it_is_then(world: World) -> None:
    first = looking(world, {"run": "test -f till.py"}, FINDINGS)
    world.run(first)
    world.lease = None
    head = world.commit({"till.py": "x = 1\n"})
    second = dataclasses.replace(first, run_id=RunId("r2"))
    world.queue(second)
    world.run(second)
    told = world.only("FindingsReported", second.run_id)
    assert told.base == head
    assert [one.found for one in told.findings[0].references] == [True, False, True]
    assert [used.ok for run in ("r1", "r2") for used in world.of("ToolUsed", run)] == [False, True]


def test_an_investigation_that_was_answered_goes_on_at_the_commit_that_it_began_at(world: World) -> None:
    spec = looking(world, {"ask": {"question": "Which till?"}}, FINDINGS)
    world.run(spec)
    began = world.head("main")
    world.commit({"till.py": "x = 1\n"})
    world.answer(spec, "Front")
    told = world.only("FindingsReported")
    assert (told.base, told.findings[0].references[2].found) == (began, False)


def test_an_investigation_whose_place_is_gone_goes_on_at_the_same_commit(world: World) -> None:
    spec = looking(world, {"ask": {"question": "Which till?"}}, FINDINGS)
    world.run(spec)
    began = world.head("main")
    world.commit({"till.py": "x = 1\n"})
    workspaces.load(spec.workspace).open(spec.paths, tenancy(spec)).destroy()
    world.answer(spec, "Front")  # in the same session, which is in the store
    assert world.only("FindingsReported").base == began


@pytest.mark.parametrize(
    ("mode", "step", "tool"),
    [("investigate", FINISH, "finish"), ("investigate", PLAN, "plan"), ("fix", FINDINGS, "findings")],
)
def test_each_mode_has_its_own_end(world: World, mode: str, step: dict[str, Any], tool: str) -> None:
    world.scenario(plan=[PLAN], investigate=[step], work=[EDIT, step])
    world.run(world.spec(mode=mode))
    assert world.ended().reason == "gave_up"
    assert tool not in {called.tool for called in world.of("BoardToolCalled")}
    assert world.of("FindingsReported") == world.of("FinalReported") == []


def test_the_tools_of_an_investigation_are_the_same_in_every_turn() -> None:
    for read_only in (True, False):
        assert offer_tools(read_only=read_only, threads=True, investigates=True) == INVESTIGATING
        assert "findings" not in offer_tools(read_only=read_only, threads=True)
    assert {"finish", "create_card", "thread", "tick", "go_to_stage"}.isdisjoint(INVESTIGATING)


MOMENTS = (
    "BriefingMade", "InvestigationBegun", "TurnStarted", "BoardToolCalled findings", "TurnEnded", "RunEnded",
)  # fmt: skip
OFTEN = [("BoardToolCalled findings", True), ("RunEnded", False)]
ALL = [(moment, after) for moment in MOMENTS for after in (True, False)]


@pytest.mark.parametrize(
    ("moment", "after"),
    [*OFTEN, *(pytest.param(*row, marks=pytest.mark.soak) for row in ALL if row not in OFTEN)],
)
def test_killed_at_any_moment_it_reports_once_and_on_the_same_commit(
    world: World, moment: str, after: bool
) -> None:
    spec = looking(world, FINDINGS, validation=checks(setup=["echo made > made.txt"]))
    began = world.head("main")
    assert die_at(world, spec, moment, after=after)
    if not world.of("RunEnded"):
        world.again(spec, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    told = world.only("FindingsReported")
    assert (told.base, told.discarded) == (began, ())
    assert len(world.of("FinalReported")) == len(world.of("InvestigationBegun")) == 1


def test_an_empty_repository_cannot_be_investigated(tmp_path_factory: pytest.TempPathFactory) -> None:
    world = make_world(tmp_path_factory.mktemp("empty"))
    world.run(looking(world, FINDINGS))
    assert world.ended().reason == "repository"
    world.engine.dispose()
