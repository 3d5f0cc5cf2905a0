"""What a provider, a tool, a budget or a kill can do to a real agent, and what the card says then."""

import shutil

import pytest

from ledger.events.budget import BudgetRaised
from ledger.ids import RunId
from ledger.rows.limit_answers import Code, budget_answer
from ledger.states import Ending
from runner.errors import KilledError
from tests.contracts.stand import COMMIT, EDIT, FINISH, LIMITS, PLAN, Stand, first_of_all
from tests.runner.world import CARD

pytestmark = pytest.mark.timeout(600)
WORK = (EDIT, COMMIT, FINISH)
SPENDS = {"usage": {"in": 60_000, "out": 20_000}}  # within what agents take before they sum up their talk


CHEAP = ("opencode", "qwen")  # by their default models


def scant_usd(stand: Stand) -> float:
    """Return a budget that is over with what SPENDS says."""
    return 0.02 if stand.agent in CHEAP else 0.3


def patience_s(stand: Stand) -> float:
    """Return a silence that no agent needs to start: two of them are slow where the machine is busy."""
    return 45.0 if stand.agent in CHEAP else 12.0


def test_a_failing_tool_one_that_is_not_there_and_a_provider_that_stumbles_do_not_stop_it(
    stand: Stand,
) -> None:
    broken = {"run": "echo broken >&2; exit 3"}
    missing = {"call": {"name": "fly_to_the_moon", "input": {"now": True}}}
    stand.scenario(
        work=[broken, missing, {"status": 500, "times": 1}, EDIT, {"cut": True, "times": 1}, *WORK]
    )
    stand.run(stand.spec())
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    if stand.agent != "gemini":  # to it, a command that ran has completed
        assert [used.ok for used in stand.world.of("ToolUsed")].count(False) >= 1
    failed = [one.status for one in stand.world.of("ProviderFailed")]
    assert failed[0] == 500
    assert len(failed) >= 2


STATUSES = (("claude", 529), ("codex", 500), ("opencode", 429))
ALL_STATUSES = [(agent, status) for agent, _ in STATUSES for _, status in STATUSES]


@pytest.mark.parametrize(
    ("agent", "status"),
    [*STATUSES, *(pytest.param(*row, marks=pytest.mark.soak) for row in ALL_STATUSES if row not in STATUSES)],
    indirect=["agent"],
)
def test_a_provider_that_fails_for_ever_ends_the_run_and_says_so(stand: Stand, status: int) -> None:
    stand.scenario(work=[{"status": status}, *WORK])
    stand.run(stand.spec())
    assert stand.world.ended().reason in ("provider", "agent_error")
    assert str(status) in stand.world.ended().detail
    failed = stand.world.of("ProviderFailed")
    assert {one.status for one in failed} == {status}
    assert len(failed) <= 12


@first_of_all("opencode")
def test_a_wrong_key_ends_the_run_and_names_the_setting(stand: Stand) -> None:
    stand.scenario(work=list(WORK))
    stand.world.providers = stand.providers(stand.model.url, key="sk-wrong")
    stand.run(stand.spec())
    assert stand.world.ended().reason == "provider"
    assert "_KEY" in stand.world.ended().detail
    assert "sk-wrong" not in str(stand.world.events())


@first_of_all("codex")
def test_a_provider_that_is_not_there_ends_the_run(stand: Stand) -> None:
    stand.scenario(work=list(WORK))
    stand.model.stop()
    stand.run(stand.spec())
    assert stand.world.ended().reason in ("provider", "agent_error")
    assert stand.world.of("ProviderFailed")[-1].status == 0
    stand.models.clear()


@first_of_all("claude")
def test_a_model_that_hangs_is_noticed(stand: Stand) -> None:
    stand.scenario(work=[{"silent": True}, *WORK])
    stand.run(stand.spec(limits=LIMITS.model_copy(update={"silence_s": patience_s(stand)})))
    assert stand.world.ended().reason == "stalled"
    assert stand.containers() == []


@first_of_all("codex")
def test_an_answer_that_grows_slowly_is_a_sign_of_life(stand: Stand) -> None:
    silence_s = patience_s(stand)
    stand.scenario(work=[{"slow": 0.02}, {"long": round(silence_s * 500)}, *WORK])
    stand.run(stand.spec(limits=LIMITS.model_copy(update={"silence_s": silence_s})))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()


@first_of_all("codex")
def test_the_limit_of_turns_parks_and_asks(stand: Stand) -> None:
    looks = [{"run": f"echo {number}"} for number in range(12)]
    stand.scenario(work=[*looks, *WORK])
    spec = stand.spec(limits=LIMITS.model_copy(update={"max_turns": 6}))
    assert stand.run(spec).why == "limit"
    assert "6 turns" in stand.world.only("QuestionAsked").text
    assert len(stand.model.served) < 14


@first_of_all("codex")
def test_a_budget_that_is_spent_parks_asks_and_the_same_session_goes_on(stand: Stand) -> None:
    stand.scenario(work=[SPENDS, {"run": "echo one"}, *WORK])
    budget_usd = scant_usd(stand)
    spec = stand.spec(limits=LIMITS.model_copy(update={"budget_usd": budget_usd}))
    parked = stand.run(spec)
    assert type(parked).__name__ == "RunParked", parked
    assert f"its budget of ${budget_usd:.2f}" in stand.world.only("QuestionAsked").text
    served = len(stand.model.served)
    assert served <= 6
    spends_little = {"usage": {"in": 10, "out": 10}}  # what the agent did already keeps its place
    stand.scenario(work=[spends_little, {"run": "echo one"}, *WORK])
    stand.world.write(BudgetRaised(RunId("r1"), 100.0, "ann"))
    stand.world.answer(spec, budget_answer(100.0), Code.RAISED)
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert len(stand.world.of("SessionStarted")) == 1


@first_of_all("codex")
def test_a_budget_that_is_raised_while_the_agent_works_holds_at_once(stand: Stand) -> None:
    busy = {"run": "python3 -c 'import time; time.sleep(4)'"}
    stand.scenario(work=[{"progress": "Busy"}, busy, SPENDS, {"run": "echo one"}, *WORK])
    budget_usd = scant_usd(stand)
    spec = stand.spec(limits=LIMITS.model_copy(update={"budget_usd": budget_usd}))
    more = BudgetRaised(RunId("r1"), 100.0, "ann")
    stand.world.meanwhile(spec, "Busy", lambda: stand.world.write(more))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.usd() > budget_usd
    assert stand.world.of("CallRefused") == []


@first_of_all("codex")
def test_a_budget_that_is_crossed_in_the_middle_of_a_stream_cuts_it(stand: Stand) -> None:
    stand.scenario(work=[{"long": 2_000_000}, *WORK])
    budget_usd = 0.2 if stand.agent in CHEAP else 1.0
    spec = stand.spec(limits=LIMITS.model_copy(update={"budget_usd": budget_usd}))
    parked = stand.run(spec)
    assert type(parked).__name__ == "RunParked", parked
    assert 0.8 * budget_usd < stand.usd() < 1.4 * budget_usd
    assert stand.world.of("CallRefused")[0].kind == "budget"


@first_of_all("codex")
def test_a_container_that_is_killed_is_told_as_killed_and_leaves_nothing(stand: Stand) -> None:
    busy = {"run": "python3 -c 'import time; time.sleep(60)'"}
    stand.scenario(work=[{"progress": "Busy"}, busy, *WORK])
    with pytest.raises(
        KilledError, match="signal 9"
    ):  # so that it is tried again, as the policy's retries say
        stand.world.meanwhile(stand.spec(), "Busy", stand.kill_containers)
    assert stand.world.of("RunEnded") == []
    assert stand.containers() == []


@first_of_all("claude")
def test_a_worker_that_is_killed_loses_nothing_and_the_session_goes_on(stand: Stand) -> None:
    busy = {"run": "python3 -c 'import time; time.sleep(3)'"}
    stand.scenario(work=[{"progress": "Busy"}, busy, *WORK])
    spec = stand.spec()
    stand.die_when(spec, "Progressed")
    stand.world.again(spec, "reclaimed")
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    # An agent writes its session a moment after it named it: killed between the two, it begins another.
    assert len(stand.world.of("SessionStarted")) == 1 + len(stand.world.of("SessionLost"))
    assert stand.containers() == []


@first_of_all("claude")
def test_an_agent_that_has_lost_its_session_begins_another(stand: Stand) -> None:
    stand.scenario(plan=[PLAN], work=list(WORK))
    spec = stand.spec(planned=False, plan_required=True)
    stand.run(spec)
    for kept in (stand.world.places.workspaces / CARD / "home").iterdir():
        shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
    stand.world.approve(spec)
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    first, second = stand.world.of("SessionStarted")
    assert first.session_id == stand.world.only("SessionLost").session_id != second.session_id
