"""What each real agent costs beside its model: until its first sign, and for a whole run of one turn."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.events.run import RunEvent, RunStepped, UsageMetered
from ledger.events.turn import TurnStarted
from ledger.states import Ending, RunKind, RunState
from runner import agents
from runner.run.log import RunLog
from runner.supervisor import execute_run
from runner.workspaces.backends.docker import Docker
from runner.workspaces.docker import engine as docker
from tests.bench.figures import Figure, percentile, say
from tests.contracts.stand import AGENTS, COMMIT, EDIT, FINISH, IN_OWN_IMAGE, PLAN, Stand
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
        yield _play_story(agent)


def _one_run(agent: str) -> tuple[float, float, int, int]:
    """Return the seconds from the stage's begin to the agent's first event, and from claim to ending; the
    model's calls and tokens.
    """
    with _stand(agent) as stand:
        stand.scenario(revise=[EDIT, COMMIT, FINISH])
        spec, log = stand.world.claim(stand.spec(planned=False, kind=RunKind.REVISION))
        times: list[tuple[float, RunEvent]] = []

        class Timed(RunLog):
            """Knows when each event was written."""

            def append(self, *events: RunEvent) -> None:
                super().append(*events)
                times.extend((time.perf_counter(), event) for event in events)

        log.__class__ = Timed
        start = time.perf_counter()
        execute_run(spec, log, stand.world.remote, stand.world.clock, providers=stand.world.providers)
        took_s = time.perf_counter() - start
        if stand.world.ended().ending is not Ending.SUCCEEDED:
            raise RuntimeError(f"the run of {agent} failed: {stand.world.ended().detail}")
        say(f"  {agent}: {took_s:.2f} s")
        return _first_sign_s(times), took_s, len(stand.model.requests), sum(stand.tokens())


@contextmanager
def _stand(agent: str) -> Iterator[Stand]:
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        root = Path(name)
        root.chmod(0o755)
        stand = Stand(make_world(root, files={"README.md": "# Shop\n"}), agent, root)
        try:
            yield stand
        finally:
            stand.stop()
            stand.world.engine.dispose()


def _play_story(agent: str) -> Figure:
    """Return the seconds of a run that plans, asks, is answered at once and finishes, with what it used.

    `sessions` is 1 where the agent went on in the session that had asked.
    """
    with _stand(agent) as stand:
        ask = {"ask": {"question": "Which greeting?", "choices": ["Hello", "Moin"]}}
        write = {"edit": {"path": "hello.txt", "content": "{{answer}}\n"}}
        stand.scenario(plan=[PLAN], work=[{"tick": 1}, ask, write, COMMIT, FINISH])
        spec = stand.spec(planned=False)
        start = time.perf_counter()
        stand.run(spec)
        stand.world.answer(spec, "Moin")
        took_s = time.perf_counter() - start
        if stand.world.ended().ending is not Ending.SUCCEEDED or stand.world.show("hello.txt") != "Moin":
            raise RuntimeError(f"the story of {agent} failed: {stand.world.ended()}")
        say(f"  {agent}, the story: {took_s:.2f} s")
        used = {
            "calls": len(stand.model.requests),
            "tokens": sum(stand.tokens()),
            "dollars": round(stand.usd(), 6),
            "sessions": len(stand.world.of("SessionStarted")),
        }
        note = "a plan, a question, its answer, an edit, a commit and a report, in containers"
        return Figure(f"{agent}_story", took_s, "s", note=note, parts=used)


def _first_sign_s(times: list[tuple[float, RunEvent]]) -> float:
    """Return the seconds until the agent itself said something; what the gateway counts is not its word."""
    steps = [at for at, event in times if isinstance(event, RunStepped) and event.after is RunState.WORKING]
    silent = RunStepped | TurnStarted | UsageMetered
    return next(at for at, event in times if at > steps[0] and not isinstance(event, silent)) - steps[0]
