"""Where no sandbox works, only what cannot be talked into anything may run, unless the operator allows it."""

import pytest

from ledger.states import Ending
from runner.agents.adapters.scripted import Scripted
from runner.errors import UnsandboxedError
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.run.run_spec import ValidationSpec
from runner.session.context import RunContext
from runner.supervisor import carry_out
from runner.workspaces.backends.local import Local
from runner.workspaces.contract import Tenancy
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World, checks

NO_CHECKS = checks()


class Gullible(Scripted):
    """An agent that people could talk into something; it plays as the scripted one does."""

    name = "gullible"
    trusted = False


def unlocked(world: World, agent: Scripted, validation: ValidationSpec = NO_CHECKS) -> RunContext:
    """Return a claimed run on a machine without bubblewrap."""
    world.scenario(plan=[PLAN], work=[{"run": "env > env.txt"}, EDIT, FINISH])
    spec, log = world.claim(world.spec(validation=validation))
    workspace = Local(lambda: "bubblewrap is not installed").open(world.places, Tenancy(spec.card_id))
    mirror = Mirror(world.places.mirrors, spec.repository, world.remote, log.beat)
    checkout = Checkout(workspace, mirror, spec.authorship.author, log.beat)
    return RunContext(spec, log, world.clock, agent, workspace, mirror, checkout)


def test_an_agent_that_is_not_trusted_is_refused(world: World) -> None:
    with pytest.raises(UnsandboxedError, match="CARDINAL_ALLOW_UNSANDBOXED=1"):
        carry_out(unlocked(world, Gullible()), allow_unsandboxed=False)
    assert world.of("TurnStarted") == []


@pytest.mark.parametrize("tier", ["setup", "fast", "full"])
def test_commands_of_the_repository_run_on_the_host_only_where_the_operator_allows_it(
    world: World, tier: str
) -> None:
    policy = checks(**{tier: [f"touch {world.root}/escaped"]})
    with pytest.raises(UnsandboxedError, match="policy runs may not run without a sandbox"):
        carry_out(unlocked(world, Scripted(), policy), allow_unsandboxed=False)
    assert not (world.root / "escaped").exists()


@pytest.mark.parametrize(("agent", "allowed"), [(Scripted(), False), (Gullible(), True)])
def test_the_story_is_the_same_without_a_sandbox_and_no_environment_is_passed_on(
    world: World, agent: Scripted, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARDINAL_SECRET", "do-not-leak")
    carry_out(unlocked(world, agent), allow_unsandboxed=allowed)
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.show("hello.txt") == "Hello"
    assert "do-not-leak" not in world.show("env.txt")
