"""`publish: early` while GitHub is away: the work is kept for other hosts all the same."""

from collections.abc import Mapping

import pytest

from ledger.events.run import RunEvent
from ledger.states import Ending
from runner.errors import RemoteAwayError
from runner.phases import early
from runner.session import turn
from tests.runner.flows.test_early import Watched, busy_until, execute_as, live, subjects
from tests.runner.flows.test_hosts import commit
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import FileRemote, World


def test_work_is_kept_while_github_is_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "MAX_LIVE_S", 0.2)
    monkeypatch.setattr(turn, "_REST", 0)
    away = world.root / "away"

    class Away(FileRemote):
        """Gives no credentials for a while."""

        def git_environment(self) -> Mapping[str, str]:
            if away.exists():
                raise RemoteAwayError("no answer", 0.1)
            return {}

    class Keeping(Watched):
        """Tells the agent which commits were kept; GitHub is away from the first to the second."""

        def append(self, *events: RunEvent) -> None:
            super().append(*events)
            if heads := {it.head for it in world.of("Checkpointed")} - {world.head("main")}:
                self.tell(f"kept-{len(heads)}")
                away.touch() if len(heads) == 1 else away.unlink(missing_ok=True)

    steps = [step for it in (1, 2) for step in (*commit(f"n{it}"), *busy_until(f"[ -e .git/kept-{it} ]"))]
    world.scenario(plan=[PLAN], work=[*steps, FINISH])
    execute_as(world, Keeping, live(world), Away(str(world.origin)))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert any("published yet: its way to GitHub" in it.text for it in world.of("Progressed"))
    assert subjects(world) == ["On n1", "On n2"]
