"""The whole life of a run with a real agent process, a real repository and a real ledger."""

from dataclasses import replace

from ledger.events.run import RunSteered
from ledger.states import Ending
from runner.agents.contract import Phase
from runner.prompts.compose import CI_TURN, compose
from runner.run.history import History
from runner.run.run_spec import Briefing
from tests.runner.session.test_board_calls import ORDER
from tests.runner.world import BRANCH, CARD, World, checks, review_thread

FINISH = {"finish": {"done": "It greets.", "changed": ["hello.txt"]}}
PLAN = {"plan": {"summary": "Greet", "steps": ["Write it", "Commit it"]}}
EDIT = {"edit": {"path": "hello.txt", "content": "Hello\n"}}
MOIN = {"edit": {"path": "hello.txt", "content": "Moin\n"}}


def test_a_run_plans_works_reports_and_its_branch_stands_on_the_remote(world: World) -> None:
    usage = {"usage": {"usd": 0.02, "in": 10, "out": 5}}
    work = [{"progress": "Writing"}, EDIT, {"tick": 1}, {"commit": "Hello"}, usage, FINISH]
    world.scenario(plan=[{"say": "Looking"}, PLAN], work=work)
    world.run(world.spec())
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.SUCCEEDED, ""), ended
    assert world.show("hello.txt") == "Hello"
    assert world.only("BranchPushed").head == world.head()
    assert world.only("PlanApproved").by == "policy"
    assert world.only("FinalReported").done == "It greets."
    assert sum(used.usd for used in world.of("UsageMetered")) == 0.02
    kinds = world.kinds()
    assert kinds.index("BranchPushed") < kinds.index("FinalReported") < kinds.index("RunEnded")


def test_a_plan_that_people_must_approve_waits_without_a_program(world: World) -> None:
    world.scenario(
        plan=[PLAN], redirect=[{"plan": {"summary": "Other", "steps": ["One"]}}], work=[EDIT, FINISH]
    )
    spec = world.spec(plan_required=True)
    assert world.run(spec).after == "awaiting_approval"
    assert world.redirect(spec, "Not like that").after == "awaiting_approval"
    assert [plan.revision for plan in world.of("PlanProposed")] == [1, 2]
    world.approve(spec)
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.show("hello.txt") == "Hello"


def test_a_question_parks_the_run_and_the_answer_resumes_the_same_session(world: World) -> None:
    ask = {"ask": {"question": "Which greeting?", "choices": ["Hello", "Moin"]}}
    edit = {"edit": {"path": "hello.txt", "content": "{{answer}}\n"}}
    world.scenario(plan=[PLAN], work=[ask, edit, FINISH])
    spec = world.spec()
    assert world.run(spec).why == "question"
    assert world.only("QuestionAsked").choices == ("Hello", "Moin")
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.show("hello.txt") == "Moin"
    assert len(world.of("SessionStarted")) == len(world.of("QuestionAsked")) == 1


def test_a_failing_check_goes_back_to_the_agent_and_passes_after_the_repair(world: World) -> None:
    world.scenario(
        plan=[PLAN], work=[EDIT, FINISH], repair=[{"edit": {"path": "hello.txt", "content": "Moin\n"}}]
    )
    world.run(world.spec(validation=checks(fast=["grep Moin hello.txt"], full=["test -f README.md"])))
    assert world.ended().ending is Ending.SUCCEEDED
    assert [(c.tier, c.exit_code) for c in world.of("CommandChecked")] == [
        ("fast", 1),
        ("fast", 0),
        ("full", 0),
    ]
    assert world.only("FinalReported").done == "It greets."


def test_a_revision_works_on_the_same_branch_and_answers_every_thread(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH], revise=[
        {"edit": {"path": "hello.txt", "content": "Moin\n"}}, {"thread": {"index": 0, "say": "Done"}},
        {"thread": {"match": "README", "say": "Seen"}}, FINISH])  # fmt: skip
    world.run(world.spec())
    first = world.head()
    threads = (review_thread("T1", "hello.txt", 1, "Moin!"), review_thread("T2", "README.md", 0, "Fine?"))
    session = world.only("SessionStarted").session_id
    world.lease = None
    world.run(world.spec(run_id="r2", attempt=2, kind="revision", session_id=session, threads=threads))
    assert world.ended("r2").ending is Ending.SUCCEEDED
    assert world.show("hello.txt") == "Moin"
    assert [(one.thread_id, one.text) for one in world.of("ThreadAnswered", "r2")] == [
        ("T1", "Done"),
        ("T2", "Seen"),
    ]
    assert world.head() != first
    assert "PlanProposed" not in world.kinds("r2")
    assert world.only("BranchPushed", "r2").branch == BRANCH


def test_a_remark_that_the_script_did_not_foresee_is_answered_and_left_open(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH], revise=[
        {"when": "(?i)moin", "edit": {"path": "hello.txt", "content": "Moin\n"}},
        {"when": "README", "edit": {"path": "README.md", "content": "Never\n"}},
        {"thread": {"match": "(?i)moin", "say": "Done"}},
        {"thread": {"others": True, "addressed": False, "say": "I cannot."}},
        {"finish": {"done": "{{addressed}}"}}])  # fmt: skip
    world.run(world.spec())
    threads = (review_thread("T1", "hello.txt", 1, "moin!"), review_thread("T2", "hello.txt", 2, "Shorter?"))
    session = world.only("SessionStarted").session_id
    world.lease = None
    world.run(world.spec(run_id="r2", attempt=2, kind="revision", session_id=session, threads=threads))
    assert world.ended("r2").ending is Ending.SUCCEEDED
    assert (world.show("hello.txt"), "Never" in world.show("README.md")) == ("Moin", False)
    replies = world.of("ThreadAnswered", "r2")
    assert [(it.thread_id, it.text, it.addressed) for it in replies] == [
        ("T1", "Done", True),
        ("T2", "I cannot.", False),
    ]
    assert world.only("FinalReported", "r2").done == "1 of 2 review comments addressed"


def test_a_session_whose_workspace_is_gone_is_begun_anew_with_the_whole_briefing(world: World) -> None:
    world.scenario(revise=[EDIT, FINISH])
    world.run(world.spec(kind="revision", session_id="long-gone", briefing=Briefing("# Say hello again\n")))
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.only("SessionLost").session_id == "long-gone"
    assert world.only("SessionStarted").session_id != "long-gone"
    assert world.of("TurnStarted")[0].session_id == ""


def test_a_session_that_the_agent_lost_is_begun_anew_with_what_people_said(world: World) -> None:
    ask = {"ask": {"question": "Which?"}}
    world.scenario(plan=[PLAN], work=[EDIT, ask])
    spec = world.spec()
    world.write(RunSteered(spec.run_id, "ann", "Be brief", 7))
    assert world.run(spec).why == "question"
    assert world.of("SteeringHeard")[0].comment_ids == (7,)
    (kept,) = (world.places.workspaces / CARD / "home").glob("scripted-*.json")
    kept.unlink()  # as when it was killed before it had written it
    world.scenario(plan=[PLAN], work=[FINISH])
    world.answer(spec, "Hello")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("hello.txt") == "Hello"
    first, second = world.of("SessionStarted")
    assert world.only("SessionLost").session_id == first.session_id != second.session_id
    assert any("could not continue its session" in event.text for event in world.of("Progressed"))
    assert [turn.session_id for turn in world.of("TurnStarted")][-2:] == [first.session_id, ""]
    assert [heard.comment_ids for heard in world.of("SteeringHeard")] == [(7,), (7,)]


def test_a_repair_goes_on_in_the_session_with_what_the_checks_said_and_pushes(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH], repair=[MOIN, FINISH])
    first = world.spec(plan_required=False)
    world.run(first)
    session = world.only("SessionStarted").session_id
    world.lease = None
    spec = world.spec(run_id="r2", attempt=2, kind="repair", session_id=session, failing="tests: 3 != 4")
    world.run(spec)
    assert world.ended("r2").ending is Ending.SUCCEEDED
    assert [(one.phase, one.turn) for one in world.of("TurnStarted", "r2")] == [("repair", "repair-ci")]
    assert world.of("PlanProposed", "r2") == []
    assert world.show("hello.txt") == "Moin"


def test_the_output_of_red_checks_is_told_at_the_start_of_the_work_alone() -> None:
    spec = replace(ORDER, kind="repair", failing="tests: 3 != 4")
    first = compose(Phase.REPAIR, spec, History(session_id="s"), turn=CI_TURN)
    assert "tests: 3 != 4" in first
    assert "Do not weaken a check" in first
    later = compose(Phase.REPAIR, spec, History(session_id="s"), turn="repair-1", detail="$ pytest")
    assert "3 != 4" not in later
    assert "$ pytest" in later
