"""What each real agent costs beside its model: until its first sign, and for a whole run of one turn."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ledger.events.run import RunEvent, RunStepped, UsageMetered
from ledger.events.turn import TurnStarted
from ledger.states import Ending, RunState
from runner import agents
from runner.run.log import RunLog
from runner.supervisor import execute_run
from runner.workspaces.backends.docker import Docker
from runner.workspaces.docker import engine as docker
from tests.bench.figures import Figure, percentile, say
from tests.contracts.stand import AGENTS, COMMIT, EDIT, FINISH, IN_OWN_IMAGE, Stand
from tests.runner.world import make_world

RUNS, FEW_RUNS = 3, 1


def measure(*, quick: bool) -> Iterator[Figure]:
    """Let each agent edit a file and commit it, told by a scripted model that answers at once."""
    problem = Docker().problem()
    if problem:
        raise RuntimeError(f"{problem}; or run scripts/engine scripts/bench")
    count = FEW_RUNS if quick else RUNS
    built = docker.Engine(docker.engine_address())
    own = (
        name for name in IN_OWN_IMAGE if built.images({f"cardinal.agent.{name}": agents.load(name).version})
    )
    for agent in (*AGENTS, *own):
        took = [_one_run(agent) for _ in range(count)]
        note = f"the middle one of {count}; prompt, edit, commit, report; git, export and push are in it"
        yield Figure(
            f"{agent}_to_first_event", percentile([one[0] for one in took], 0.5), "s", raw="raw_container"
        )
        yield Figure(f"{agent}_run_of_one_turn", percentile([one[1] for one in took], 0.5), "s", note=note)
        *_, calls, tokens = took[-1]
        yield Figure(f"{agent}_model_calls_of_one_turn", calls, "calls", note=f"{tokens} tokens, as metered")


def _one_run(agent: str) -> tuple[float, float, int, int]:
    """Return the seconds from the stage's begin to the agent's first event, and from claim to ending; the
    model's calls and tokens.
    """
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        root = Path(name)
        root.chmod(0o755)
        world = make_world(root, files={"README.md": "# Shop\n"})
        stand = Stand(world, agent, root)
        try:
            stand.scenario(revise=[EDIT, COMMIT, FINISH])
            spec, log = world.claim(stand.spec(planned=False, kind="revision"))
            times: list[tuple[float, RunEvent]] = []

            class Timed(RunLog):
                """Knows when each event was written."""

                def append(self, *events: RunEvent) -> None:
                    super().append(*events)
                    times.extend((time.perf_counter(), event) for event in events)

            log.__class__ = Timed
            start = time.perf_counter()
            execute_run(spec, log, world.remote, world.clock, providers=world.providers)
            took_s = time.perf_counter() - start
            if world.ended().ending is not Ending.SUCCEEDED:
                raise RuntimeError(f"the run of {agent} failed: {world.ended().detail}")
            say(f"  {agent}: {took_s:.2f} s")
            return _first_sign_s(times), took_s, len(stand.model.requests), sum(stand.tokens())
        finally:
            stand.stop()
            world.engine.dispose()


def _first_sign_s(times: list[tuple[float, RunEvent]]) -> float:
    """Return the seconds until the agent itself said something; what the gateway counts is not its word."""
    steps = [at for at, event in times if isinstance(event, RunStepped) and event.after is RunState.WORKING]
    silent = RunStepped | TurnStarted | UsageMetered
    return next(at for at, event in times if at > steps[0] and not isinstance(event, silent)) - steps[0]
