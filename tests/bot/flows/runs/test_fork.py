"""A run that begins where another one stood: files and session are there, the card does not notice."""

from bot.runspec.host_paths import make_host_paths
from ledger.events.run import AgentSaid, Progressed
from ledger.events.stage import StageEntered, StageLeft
from ledger.events.turn import TurnStarted
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import Ending, RunState
from ledger.views import checkpoints
from runner.artifacts.store import store_of
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.runs.test_rerun import FINISH, R1, R2, R3, ended_well
from tests.bot.flows.runs.test_stages import go, staged
from tests.bot.flows.settings import with_column
from tests.runner.flows.test_hosts import ASK, commit, uncommitted


def lines_of(cardinal: Cardinal, run_id: RunId) -> list[str]:
    return [it.text for it in cardinal.events(Progressed) if it.run_id == run_id]


def test_it_begins_with_files_and_session_of_then_at_a_question(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(agents="[scripted/other]"))
    cardinal.scenario(work=[*commit("first"), uncommitted("here"), ASK, *commit("second"), FINISH])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    before = cardinal.card(item)
    cardinal.scenario("other", work=[*commit("third"), FINISH])
    asked = cardinal.say(item, "/cardinal fork r1 --at question --model other Say moin.")
    cardinal.catch_up(work=True)
    assert cardinal.reactions(asked) == ["+1"]
    fork = ended_well(cardinal, R2)
    git = cardinal.forge.store.repos.git(cardinal.repo)
    there = {name: git.read(fork.pushed_head, f"{name}.txt") for name in ("first", "left-here", "second")}
    assert {name: content is not None for name, content in there.items()} == {
        "first": True,
        "left-here": True,
        "second": False,
    }
    turns = {it.run_id: it.session_id for it in cardinal.events(TurnStarted)}
    assert turns[R1] == turns[R2] != ""
    assert lines_of(cardinal, R2)[0].startswith("It begins as r1 stood when it had asked this: “")
    assert cardinal.run(R1).state is RunState.PARKED
    after = cardinal.card(item)
    assert (after.run_id, after.branch, after.state) == (R1, before.branch, before.state)
    with event_store.reading(cardinal.services.engine) as db:
        kept = checkpoints.get(db, R1, "question")
    assert kept is not None
    store_of(make_host_paths(cardinal.services.config)).remove(kept.bundle)
    cardinal.say(item, "/cardinal fork r1 --model other Say ahoi.")
    cardinal.catch_up(work=True)
    lost = cardinal.run(R3)
    assert (lost.ending, lost.reason) == (Ending.FAILED, "repository")
    assert "what r1 had made is not in the store" in lost.detail
    cardinal.say(item, "Hello")
    cardinal.catch_up(work=True)
    assert git.read(ended_well(cardinal, R1).pushed_head, "third.txt") is None


def test_it_begins_behind_the_plan_or_a_stage_and_tells_the_next_agent(
    cardinal: Cardinal,
) -> None:
    verify = [{"say": "Told: {{prompt}}"}, FINISH]
    cardinal.scenario(stages={"implement": [*commit("first"), go("verify")], "verify": verify})
    item = staged(cardinal, plan_approval="required")
    assert cardinal.run(R1).state is RunState.AWAITING_APPROVAL
    cardinal.say(item, "/cardinal approve", who="alice")
    cardinal.catch_up(work=True)
    ended_well(cardinal, R1)
    first = cardinal.say(item, "/cardinal fork r1 --at stage Look for typos.", who="alice")
    cardinal.catch_up(work=True)
    behind_plan = cardinal.say(item, "/cardinal fork r1 --at plan", who="alice")
    cardinal.catch_up(work=True)
    assert [cardinal.reactions(it) for it in (first, behind_plan)] == [["+1"], ["+1"]]
    git = cardinal.forge.store.repos.git(cardinal.repo)
    for run_id, stages in ((R2, ["implement", "verify"]), (R3, ["implement", "verify"])):
        assert git.read(ended_well(cardinal, run_id).pushed_head, "first.txt")
        assert [it.stage for it in cardinal.events(StageEntered) if it.run_id == run_id] == stages
    played = [(it.run_id, it.turn) for it in cardinal.events(TurnStarted)][3:]
    assert played == [(R2, "stage-1-verify"), (R3, "stage-1-implement"), (R3, "stage-1-verify")]
    told = [it.text for it in cardinal.events(AgentSaid) if it.run_id == R2 and "Told" in it.text]
    assert "r1 stood at the end of its stage implement" in told[0]
    assert "alice asks for this:\nLook for typos." in told[0]
    assert "On to verify." in told[0]
    spent = [it.turns for it in cardinal.events(StageLeft) if (it.run_id, it.stage) == (R2, "implement")]
    assert spent == [0]
