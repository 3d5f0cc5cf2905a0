"""When the services of a run begin and end."""

from collections.abc import Callable

import pytest

from ledger.states import Ending
from runner.run.run_spec import ServiceSpec
from runner.workspaces.backends.local import LocalWorkspace
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World, checks

DB = ServiceSpec("db", "postgres:16")


def test_where_nothing_could_lock_one_in_the_run_ends_and_says_what_to_do(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    world.run(world.spec(services=(DB,)))
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "spawn_failed")
    assert "`db` did not start: it needs containers: set CARDINAL_WORKSPACE=docker" in ended.detail


def test_they_begin_before_the_agent_end_when_it_waits_and_the_gate_has_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, str]] = []

    def begin(self: LocalWorkspace, _: tuple[ServiceSpec, ...], _beat: Callable[[], None]) -> None:
        if ("begin", self.root.name) not in calls:
            calls.append(("begin", self.root.name))

    def end(self: LocalWorkspace) -> None:
        calls.append(("end", self.root.name))

    monkeypatch.setattr(LocalWorkspace, "begin_services", begin)
    monkeypatch.setattr(LocalWorkspace, "end_services", end)
    ask = {"ask": {"question": "Which greeting?", "choices": ["Hello", "Moin"]}}
    world.scenario(plan=[PLAN], work=[ask, EDIT, FINISH])
    spec = world.spec(services=(DB,), validation=checks(full=["test -f hello.txt"]))
    world.run(spec)
    assert calls == [("begin", "PVTI_1"), ("end", "PVTI_1")]
    calls.clear()
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED
    assert calls == [("begin", "PVTI_1"), ("begin", "gate-PVTI_1"), ("end", "PVTI_1")]
