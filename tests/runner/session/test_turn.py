"""A turn opens the gateway for what the run has left."""

from collections.abc import Mapping

from ledger.events.run import UsageMetered
from ledger.states import RunState
from runner.agents.adapters.scripted import Scripted
from runner.agents.contract import Phase
from runner.gateway.control.link import Gateway
from runner.gateway.control.terms import Terms
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.phases.work import take_turn
from runner.session.context import RunContext
from runner.workspaces.backends.local import Local
from runner.workspaces.contract import Tenancy
from tests.runner.world import World, limited


class Recorded(Gateway):
    """A gateway that keeps the orders that it gets."""

    def _order(self, message: Mapping[str, object], descriptors: tuple[int, ...] = ()) -> None:
        self.orders = [*getattr(self, "orders", []), message]
        super()._order(message, descriptors)


def test_a_turn_has_the_tokens_that_earlier_ones_left(world: World) -> None:
    world.scenario(work=[{"say": "hi"}])
    spec, log = world.claim(world.spec(limits=limited(max_tokens=1_000)))
    log.append(UsageMetered(spec.run_id, 0.1, 300, 50, 1, 1.0))
    workspace = Local(lambda: "").open(world.places, Tenancy(spec.card_id))
    mirror = Mirror(world.places.mirrors, spec.repository, world.remote, log.beat)
    checkout = Checkout(workspace, mirror, spec.authorship.author, log.beat)
    gateway = Recorded.spawn(world.root / "gateway", Terms((), "none", ()), {})
    assert isinstance(gateway, Recorded)
    try:
        run = RunContext(spec, log, world.clock, Scripted(), workspace, mirror, checkout, gateway)
        run.step(RunState.PREPARING)
        take_turn(run, Phase.WORK, "work")
    finally:
        gateway.close()
    assert [it["tokens_left"] for it in gateway.orders if it["type"] == "open"] == [650]
