"""Steering, stopping and leave for commands: what people say reaches a real agent in its own session."""

import pytest

from ledger.events.run import RunSteered, RunStopAsked
from ledger.states import Ending, StopKind
from runner.run.run_spec import ToolSpec
from tests.contracts.stand import AGENTS, COMMIT, EDIT, FINISH, Stand, first_of_all
from tests.runner.world import RUN

pytestmark = pytest.mark.timeout(600)
BUSY = {"run": "python3 -c 'import time; time.sleep(4)'"}
PUSH = {"run": "git push origin main"}
TOUCH = {"run": "touch /workspace/home/touched"}


def test_a_message_steers_the_agent_at_its_next_step(stand: Stand) -> None:
    stand.scenario(work=[{"progress": "Busy"}, BUSY, EDIT, COMMIT, FINISH])
    spec = stand.spec()
    stand.world.meanwhile(
        spec, "Busy", lambda: stand.world.write(RunSteered(RUN, "ann", "In blue, please.", 77))
    )
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.world.only("SteeringHeard").comment_ids == (77,)
    assert "In blue, please." in str(stand.model.requests[-1].body)
    assert [turn.turn for turn in stand.world.of("TurnStarted")] == ["work"]


@first_of_all("codex")
def test_a_cancelled_run_stops_in_the_middle_of_a_tool_and_leaves_nothing(stand: Stand) -> None:
    busy = {"run": "python3 -c 'import time; time.sleep(120)'"}
    stand.scenario(work=[EDIT, COMMIT, {"progress": "Busy"}, busy, FINISH])
    stop = RunStopAsked(RUN, StopKind.CANCEL, "ann", "wrong card")
    took_s = stand.world.meanwhile(stand.spec(), "Busy", lambda: stand.world.write(stop))
    assert (stand.world.ended().ending, stand.world.ended().reason) == (Ending.CANCELLED, "cancelled")
    assert stand.world.ended().commits == 1
    assert took_s < 100
    assert stand.containers() == []


ANSWERS = (("claude", "1"), ("codex", "2"), ("opencode", "no, not from here"))
ALL_ANSWERS = [(agent, answer) for agent in AGENTS for _, answer in ANSWERS]


@pytest.mark.parametrize(
    ("agent", "answer"),
    [*ANSWERS, *(pytest.param(*row, marks=pytest.mark.soak) for row in ALL_ANSWERS if row not in ANSWERS)],
    indirect=["agent"],
)
def test_what_is_denied_never_runs_and_what_people_are_asked_about_only_with_their_leave(
    stand: Stand, answer: str
) -> None:
    stand.scenario(work=[PUSH, TOUCH, TOUCH, EDIT, COMMIT, FINISH])
    spec = stand.spec(ToolSpec(deny=("git push*",), ask=("touch:*",)))
    assert stand.run(spec).why == "question", stand.world.events()[-1]
    assert "git push" in stand.world.only("PermissionRefused").why
    assert "touch" in stand.world.only("PermissionAwaited").command
    assert stand.world.only("QuestionAsked").asker == "permission"
    stand.world.answer(spec, answer)
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert len(stand.world.of("QuestionAsked")) == 1
    assert (stand.world.places.workspaces / "PVTI_1" / "home" / "touched").exists() == (answer in "12")
    assert (len(stand.world.of("PermissionRefused")) > 1) == (answer not in "12")
    assert [one.pattern for one in stand.world.of("ToolAllowed")] == (
        [stand.world.only("PermissionAwaited").command] if answer == "2" else []
    )
