"""Runs in stages: each with an agent of its own, over real processes, a real repository and a real ledger."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger.states import Ending
from runner.run.instructions import layers_digest
from runner.run.run_spec import StageSpec, ToolSpec
from runner.session.stage_machine import ONCE_MORE
from tests.runner.flows.test_kill import die_at
from tests.runner.flows.test_story import EDIT, MOIN, PLAN
from tests.runner.world import BRANCH, World, checks, copy_world, git

READS = ToolSpec(edit="deny")
IMPLEMENT = StageSpec("implement", "senior-engineer", "Build it well.", "d1", next=("verify",), ends=False)
VERIFY = StageSpec(
    "verify", "tester", "Trust nothing.", "d2", next=("implement", "note"), ends=False, tools=READS
)
NOTE = StageSpec("note", "docs-writer", "Write it down.", "d3")
STAGES = (IMPLEMENT, VERIFY, NOTE)
NOTES = {"edit": {"path": "NOTES.md", "content": "It greets.\n"}}
FINISH = {"finish": {"done": "It greets.", "changed": ["hello.txt"]}}


def go(stage: str, summary: str = "Go on.", **more: object) -> dict[str, Any]:
    """Return the step that hands the work to a stage."""
    return {"go_to_stage": {"stage": stage, "summary": summary, **more}}


def used(usd: float) -> dict[str, Any]:
    return {"usage": {"usd": usd, "in": 100, "out": 10}}


def entries(world: World) -> list[tuple[str, int]]:
    """Return the stages that the run entered, each with which time it was."""
    return [(one.stage, one.number) for one in world.of("StageEntered")]


def played(world: World, turn: str) -> list[str]:
    """Return the sessions in which a turn was started, in order."""
    return [one.session_id for one in world.of("TurnStarted") if one.turn == turn]


def prompt_of(world: World, words: str) -> str:
    """Return what an agent said that begins with those words: in these scenarios its prompt."""
    return str(next(one.text for one in world.of("AgentSaid") if one.text.startswith(words)))


LOOP = {
    "implement": [used(0.25), EDIT, go("verify", "The greeting is there.")],
    "implement-2": [MOIN, {"note": "Moin is the word"}, go("verify", "It says Moin now.")],
    "verify": [used(0.05), {"run": "echo no > hello.txt"}, go("implement", "It must say Moin.")],
    "verify-2": [go("note", "It is right.", open_points=["nobody greets at night"])],
    "note": [NOTES, {"say": "Told: {{prompt}}"}, FINISH],
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Iterator[World]:
    """Return a world in which a run went through three stages, one of them twice."""
    world = copy_world(template, tmp_path_factory.mktemp("told"))
    world.scenario(plan=[PLAN], stages=LOOP)
    world.run(world.spec(stages=STAGES))
    yield world
    world.engine.dispose()


def test_a_run_goes_through_its_stages_and_back_until_one_ends_it(told: World) -> None:
    assert told.ended().ending is Ending.SUCCEEDED, told.ended()
    way = [("implement", 1), ("verify", 1), ("implement", 2), ("verify", 2), ("note", 1)]
    assert entries(told) == way
    assert [one.target for one in told.of("StageLeft")] == ["verify", "implement", "verify", "note", ""]
    assert (told.show("hello.txt"), told.show("NOTES.md")) == ("Moin", "It greets.")
    assert told.only("FinalReported").done == "It greets."


def test_every_entry_has_a_session_of_its_own(told: World) -> None:
    sessions = [one.session_id for one in told.of("SessionStarted")]
    assert len(sessions) == len(set(sessions)) == 6  # with the plan's
    assert [one.session_id for one in told.of("TurnStarted") if one.phase == "stage"] == [""] * 5


def test_the_persona_of_each_entry_is_in_its_event(told: World) -> None:
    assert {(one.stage, one.persona, one.persona_digest) for one in told.of("StageEntered")} == {
        ("implement", "senior-engineer", "d1"),
        ("verify", "tester", "d2"),
        ("note", "docs-writer", "d3"),
    }


def test_what_an_entry_cost_and_changed_is_written_down_when_it_is_left(told: World) -> None:
    first, second, third, *_ = told.of("StageLeft")
    assert (first.usd, first.input_tokens, first.output_tokens, first.turns) == (0.25, 100, 10, 1)
    assert (first.files_changed, first.lines_changed) == (1, 1)
    assert (second.usd, second.files_changed, second.lines_changed) == (0.05, 0, 0)
    assert (third.usd, third.files_changed, third.lines_changed) == (0, 1, 2)
    assert [one.lines_added for one in (first, second, third)] == [1, 0, 1]
    assert first.seconds > 0


def test_the_snapshot_has_what_git_says_the_notes_and_what_is_open(told: World) -> None:
    first, second, third, fourth, _ = told.of("SnapshotTaken")
    assert (first.files, first.summary) == (("hello.txt",), "The greeting is there.")
    assert first.open_steps == ("Write it", "Commit it")
    assert second.files == ()
    assert third.notes == ("Moin is the word",)
    assert fourth.open_points == ("nobody greets at night",)
    published = git(told.origin, "rev-list", f"main..{BRANCH}").split()
    assert {one.head for one in (first, second, third, fourth)} < set(published)
    assert first.head != third.head


def test_the_next_agent_is_told_its_persona_the_plan_and_all_hand_overs(told: World) -> None:
    prompt = prompt_of(told, "Told: Run r1, turn stage-1-note (stage).")
    for words in ("# Say hello", "Write it down.", "> It is right.", "> It says Moin now.", "- hello.txt"):
        assert words in prompt
    assert "- nobody greets at night" in prompt
    assert "The plan is approved" in prompt
    assert "Trust nothing." not in prompt
    assert prompt.index("It is right.") < prompt.index("It must say Moin.")


def test_a_stage_that_may_not_edit_finds_the_repository_read_only(told: World) -> None:
    tried = next(one for one in told.of("ToolUsed") if one.summary.startswith("echo no"))
    assert not tried.ok


def test_a_stage_has_its_own_model(world: World) -> None:
    world.scenario(plan=[PLAN], stages={"implement": [EDIT, go("note")], "note": [{"fail": 3}]})
    other = {"stages": {"note": [FINISH]}}
    (world.places.scenarios / "other.yml").write_text(str(other).replace("'", '"'))
    stages = (replace(IMPLEMENT, next=("note",)), replace(NOTE, model="other"))
    world.run(world.spec(stages=stages))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [one.model for one in world.of("StageEntered")] == ["test", "other"]


def test_a_wrong_target_is_refused_with_the_names_and_the_agent_can_go_on(world: World) -> None:
    wrong = [EDIT, go("note"), {"finish": {"done": "Enough."}}, go("verify", "Now.")]
    world.scenario(plan=[PLAN], stages={"implement": wrong, "verify": [go("note")], "note": [FINISH]})
    world.run(world.spec(stages=STAGES))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [one.tool for one in world.of("BoardToolCalled")] == [
        "plan", "go_to_stage", "go_to_stage", "finish",
    ]  # fmt: skip
    assert world.only("FinalReported").done == "It greets."


def test_what_each_stage_is_told_is_written_down_without_secrets_and_within_bounds(world: World) -> None:
    token = "ghp_" + "a1B2" * 9
    handed = go("verify", f"The key is {token}.")
    stages = {"implement": [EDIT, handed], "verify": [go("note")], "note": [FINISH]}
    world.scenario(plan=[PLAN], stages=stages)
    long = replace(IMPLEMENT, text="Be careful. " * 10_000)
    world.run(world.spec(stages=(long, VERIFY, NOTE)))
    first, second, third = world.of("StageBriefed")
    assert [(one.stage, one.entry) for one in (first, second, third)] == [
        ("implement", 1),
        ("verify", 2),
        ("note", 3),
    ]
    assert first.text.startswith("## Who you are in this stage")
    assert len(first.text.encode()) <= 64_200
    assert "The key is" in second.text
    assert token not in second.text
    assert second.digest == layers_digest(second.text)


def test_an_agent_that_leaves_without_a_word_is_asked_once_and_then_the_run_has_failed(world: World) -> None:
    world.scenario(plan=[PLAN], stages={"implement": [EDIT]}, report=[{"say": "Asked: {{prompt}}"}])
    world.run(world.spec(stages=STAGES))
    assert (world.ended().ending, world.ended().reason) == (Ending.FAILED, "gave_up")
    assert "stage implement" in world.ended().detail
    assert [one.turn for one in world.of("TurnStarted")] == [
        "plan", "stage-1-implement", "report-stage-1-implement",
    ]  # fmt: skip
    assert "call `go_to_stage` with `stage` verify" in prompt_of(world, "Asked: ")


def test_an_agent_that_is_asked_may_still_hand_over(world: World) -> None:
    stages = {"implement": [EDIT], "verify": [go("note")], "note": [FINISH]}
    world.scenario(plan=[PLAN], stages=stages, report=[go("verify")])
    world.run(world.spec(stages=STAGES))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()


CIRCLE = {"implement": [go("verify", "Is it right now?")], "verify": [go("implement", "No.")]}


def test_the_fourth_time_the_same_way_is_a_question_and_going_on_allows_three_more(world: World) -> None:
    world.scenario(plan=[PLAN], stages=CIRCLE)
    spec = world.spec(stages=STAGES)
    assert world.run(spec).why == "question"
    assert entries(world).count(("verify", 3)) == 1
    assert ("verify", 4) not in entries(world)
    asked = world.only("QuestionAsked")
    assert (asked.subject, asked.choices[0]) == ("rounds", ONCE_MORE.label)
    assert "Stage implement has handed the work to verify 3 times" in asked.text
    assert "Is it right now?" in asked.text
    assert world.answer(spec, "1").why == "question"  # the way back is as worn out
    assert entries(world)[-1] == ("verify", 4)
    said = "Stage verify has handed the work to implement 3 times and wants to do it again:"
    assert world.only("QuestionAsked", newest=True).text.startswith(said)
    world.answer(spec, "Stop here")
    assert (world.ended().ending, world.ended().reason) == (Ending.CANCELLED, "stopped")


def test_a_stage_begins_when_a_person_agrees_or_the_work_goes_back_with_their_words(world: World) -> None:
    again = [{"say": "Told: {{prompt}}"}, MOIN, go("verify", "Moin it is.")]
    stages = {"implement": [EDIT, go("verify", "Done.")], "implement-2": again, "verify": [go("note")]}
    world.scenario(plan=[PLAN], stages=stages | {"note": [FINISH]})
    spec = world.spec(stages=(IMPLEMENT, replace(VERIFY, approval=True), NOTE))
    assert world.run(spec).why == "question"
    asked = world.only("QuestionAsked")
    assert asked.choices == ("Begin verify", "Back to implement", "Stop here")
    assert "implement hands over: Done." in asked.text
    assert world.answer(spec, "It must say Moin first").why == "question"
    assert "It must say Moin first" in prompt_of(world, "Told: Run r1, turn stage-2-implement")
    sent = world.of("StageEntered")[-1]
    assert (sent.stage, sent.by, sent.sent_back) == ("implement", "ann", True)
    world.answer(spec, "yes")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [(one.stage, one.by) for one in world.of("StageEntered")][2:] == [
        ("verify", "ann"),
        ("note", "agent"),
    ]


def test_a_refusal_of_a_stage_ends_the_run(world: World) -> None:
    world.scenario(plan=[PLAN], stages={})
    spec = world.spec(stages=(replace(IMPLEMENT, approval=True), VERIFY, NOTE))
    world.run(spec)
    world.answer(spec, "no, thanks")
    assert world.ended().reason == "stopped"
    assert world.of("StageEntered") == []


def test_clean_up_runs_when_a_stage_is_left_and_a_failure_is_told_to_the_next(world: World) -> None:
    litter = {"edit": {"path": "litter.txt", "content": "x\n"}}
    stages = {
        "implement": [EDIT, litter, go("verify")],
        "verify": [go("note")],
        "note": [{"say": "Told: {{prompt}}"}, NOTES, FINISH],
    }
    world.scenario(plan=[PLAN], stages=stages)
    implement = replace(IMPLEMENT, cleanup=("rm litter.txt", "false", "echo ${GITHUB_TOKEN-none}"))
    verify = replace(VERIFY, cleanup=("echo spoilt > hello.txt; echo y > other.txt",))
    world.run(world.spec(stages=(implement, verify, NOTE)))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [(one.stage, one.exit_code) for one in world.of("StageTidied")] == [
        ("implement", 0), ("implement", 1), ("implement", 0), ("verify", 0),
    ]  # fmt: skip
    assert git(world.origin, "ls-tree", "--name-only", "cardinal/12-hello").split() == [
        "NOTES.md", "README.md", "hello.txt",
    ]  # fmt: skip
    assert world.show("hello.txt") == "Hello"
    assert "Failed when it was tidied up:\n- false" in prompt_of(world, "Told: ")


def test_a_failing_check_goes_to_the_last_stage_that_may_edit_in_its_session(world: World) -> None:
    stages = {"implement": [used(0.1), EDIT, go("verify")], "verify": [FINISH]}
    world.scenario(plan=[PLAN], stages=stages, repair=[used(0.2), MOIN])
    ends = replace(VERIFY, next=("implement",), ends=True)
    tidied = replace(IMPLEMENT, cleanup=("cat hello.txt",))
    world.run(world.spec(stages=(tidied, ends), validation=checks(full=["grep Moin hello.txt"])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("hello.txt") == "Moin"
    session = world.of("SessionStarted")[1].session_id
    assert played(world, "repair-1") == [session]
    # The clean-up belongs to leaving, and it was left twice.
    assert [one.tail.strip() for one in world.of("StageTidied")] == ["Hello", "Moin"]
    assert (world.only("StageReopened").stage, world.only("StageReopened").why) == ("implement", "repair")
    left = world.of("StageLeft")[-1]
    assert (left.stage, left.entry, left.files_changed, left.lines_changed) == ("implement", 1, 1, 3)
    assert left.usd == pytest.approx(0.3)
    assert len(entries(world)) == 2


def test_a_question_in_a_stage_is_answered_in_that_stage_and_its_session(world: World) -> None:
    ask = {"ask": {"question": "Which?", "choices": ["Hello", "Moin"]}}
    edit = {"edit": {"path": "hello.txt", "content": "{{answer}}\n"}}
    verify = [ask, go("note", "{{answer}} it is")]
    stages = {"implement": [edit, go("verify")], "verify": verify, "note": [FINISH]}
    world.scenario(plan=[PLAN], stages=stages)
    spec = world.spec(stages=STAGES)
    assert world.run(spec).why == "question"
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    first, second = played(world, "stage-1-verify")
    assert (first, second) == ("", world.of("SessionStarted")[2].session_id)
    assert world.of("SnapshotTaken")[1].summary == "Moin it is"


MOMENTS = (
    "StageEntered", "Progressed", "BoardToolCalled go_to_stage", "SnapshotTaken", "StageLeft",
)  # fmt: skip


@pytest.mark.parametrize(
    ("moment", "after"),
    [
        ("Progressed", True),
        ("SnapshotTaken", False),
        *(pytest.param(moment, True, marks=pytest.mark.soak) for moment in MOMENTS if moment != "Progressed"),
    ],
)
def test_a_run_that_is_killed_anywhere_in_a_stage_goes_on_in_that_stage(
    world: World, moment: str, after: bool
) -> None:
    verify = [{"progress": "Looking"}, {"note": "seen"}, go("note", "Fine.")]
    stages = {"implement": [EDIT, go("verify")], "verify": verify, "note": [NOTES, FINISH]}
    world.scenario(plan=[PLAN], stages=stages)
    spec = world.spec(stages=STAGES)
    assert die_at(world, spec, moment, after=after)
    world.again(spec, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert entries(world) == [("implement", 1), ("verify", 1), ("note", 1)]
    assert [one.stage for one in world.of("StageLeft")] == ["implement", "verify", "note"]
    assert len(world.of("SnapshotTaken")) == 3
    assert [one.text for one in world.of("Noted")] == ["seen"]
    assert len(world.of("SessionStarted")) == 4
    assert (world.show("hello.txt"), world.show("NOTES.md")) == ("Hello", "It greets.")


def test_a_limit_that_is_reached_while_handing_over_costs_no_second_turn_of_that_stage(world: World) -> None:
    handed = [EDIT, go("verify", "Done."), used(1.5), {"sleep": 60}]
    world.scenario(plan=[PLAN], stages={"implement": handed, "verify": [go("note")], "note": [FINISH]})
    spec = world.spec(stages=STAGES)
    assert world.run(spec).why == "limit"
    world.answer(spec, "1")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert played(world, "stage-1-implement") == [""]
    assert entries(world) == [("implement", 1), ("verify", 1), ("note", 1)]


def test_a_retry_plans_again_since_no_stage_knows_an_earlier_plan(world: World) -> None:
    stages = {"implement": [EDIT, go("verify")], "verify": [go("note")], "note": [FINISH]}
    world.scenario(plan=[PLAN], stages=stages)
    world.run(world.spec(kind="retry", stages=STAGES))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert len(world.of("PlanProposed")) == 1


def test_words_about_a_limit_go_to_the_stage_that_may_edit(world: World) -> None:
    stages = {"implement": [EDIT, go("verify")], "verify": [FINISH]}
    world.scenario(plan=[PLAN], stages=stages, repair=[{"say": "hm"}], heed=[MOIN])
    ends = replace(VERIFY, next=("implement",), ends=True)
    spec = world.spec(stages=(IMPLEMENT, ends), validation=checks(full=["grep Moin hello.txt"]))
    assert world.run(spec).why == "limit"
    world.answer(spec, "It must say Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    session = world.of("SessionStarted")[1].session_id
    assert [one.session_id for one in world.of("TurnStarted") if one.phase == "heed"] == [session]
    assert world.of("StageReopened")[-1].why == "heed"


def test_what_an_agent_does_after_handing_over_is_its_own(world: World) -> None:
    stages = {"implement": [EDIT, go("verify"), {"fail": 3}], "verify": [go("note")], "note": [FINISH]}
    world.scenario(plan=[PLAN], stages=stages)
    world.run(world.spec(stages=STAGES))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [one.outcome for one in world.of("TurnEnded")] == ["done", "broken", "done", "done"]
