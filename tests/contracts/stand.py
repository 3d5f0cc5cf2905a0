"""One card with a real agent in a real container, and the scripted model in its provider's place."""

import dataclasses
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

import docker
from forge.model.server import ScriptedModel
from ledger.events.run import PlanApproved, PlanProposed, RunEvent
from ledger.model.policy_settings import Resources
from runner import agents
from runner.run.log import RunLog
from runner.run.provider import Provider
from runner.run.run_spec import Limits, RunSpec, ToolSpec
from runner.supervisor import execute_run
from runner.workspaces.backends.docker import home_of
from runner.workspaces.docker.engine import engine_address
from tests.runner.world import World

REAL = tuple(name for name in agents.names() if agents.load(name).secrets)
AGENTS = tuple(name for name in REAL if not agents.load(name).image)
IN_OWN_IMAGE = tuple(name for name in REAL if name not in AGENTS)  # the soak builds these, and plays them
IMAGE = "cardinal/agent:latest"
KEY = "sk-real-0123456789abcdefghijklmnopqrstuvwxyz"  # of nobody, but it looks like one
LIMITS = Limits(timeout_s=500, silence_s=120, max_turns=60, budget_usd=5.0, iterations=3, full_runs=3)
RESOURCES = Resources(memory_mb=3000, cpus=2.0, processes=300, disk_mb=2000, open_files=4096)

PLAN: dict[str, dict[str, Any]] = {
    "plan": {"summary": "Say hello", "steps": ["Write hello.txt", "Commit it"]}
}
EDIT = {"edit": {"path": "hello.txt", "content": "hello\n"}}
COMMIT = {"commit": "Say hello"}
FINISH = {"finish": {"done": "There is a greeting.", "changed": ["hello.txt: new"], "check": ["Read it"]}}


def first_of_all(agent: str) -> pytest.MarkDecorator:
    """Return the mark of a test that every change plays with this agent, and the soak with the others."""
    others = [pytest.param(name, marks=pytest.mark.soak) for name in AGENTS if name != agent]
    return pytest.mark.parametrize("agent", [agent, *others], indirect=True)


@dataclass(slots=True)
class Stand:
    """Plays orders of one agent; `model` is there once a scenario was written."""

    world: World
    agent: str
    root: Path
    key: str = KEY
    models: list[ScriptedModel] = field(default_factory=list)

    @property
    def model(self) -> ScriptedModel:
        """The model that answers now."""
        return self.models[-1]

    def scenario(self, **sections: Any) -> None:
        """Let a fresh model play these sections from now on."""
        folder = self.root / f"scenarios-{len(self.models)}"
        folder.mkdir()
        (folder / "default.yml").write_text(yaml.safe_dump(sections))
        self.models.append(ScriptedModel(folder, key=self.key).start())
        self.world.providers = self.providers(self.model.url)

    def providers(self, url: str, key: str | None = None) -> Mapping[str, Provider]:
        """Return every provider at `url`."""
        paid = self.key if key is None else key
        return {name: Provider(name, url, paid) for name in ("anthropic", "openai", "compatible", "gemini")}

    def spec(self, tools: ToolSpec | None = None, *, planned: bool = True, **changes: Any) -> RunSpec:
        """Return a queued order for the agent in a container.

        Its plan is approved already, which spares a turn, unless the test is about the plan.
        """
        run_spec = self.world.spec(
            **{
                "agent": self.agent,
                "model": "default",
                "workspace": "docker",
                "image": IMAGE if self.agent in AGENTS else "",
                "limits": LIMITS,
                "resources": RESOURCES,
                "tools": tools or ToolSpec(),
            }
            | changes
        )
        if planned:
            told = PLAN["plan"]
            plan = PlanProposed(run_spec.run_id, 1, str(told["summary"]), tuple(told["steps"]))
            self.world.write(plan, PlanApproved(run_spec.run_id, 1, "ann"))
        return dataclasses.replace(run_spec)

    def run(self, spec: RunSpec) -> Any:
        """Claim and execute; return the run's newest event."""
        return self.world.run(spec)

    def die_when(self, spec: RunSpec, kind: str) -> None:
        """Execute in a process of its own that is killed once an event of that kind was written."""

        class Dying(RunLog):
            """Kills its own process."""

            def append(self, *events: RunEvent) -> None:
                super().append(*events)
                if any(type(event).__name__ == kind for event in events):
                    os.kill(os.getpid(), signal.SIGKILL)

        claimed, log = self.world.claim(spec, worker="dying")
        log.__class__ = Dying
        pid = os.fork()
        if pid == 0:
            execute_run(claimed, log, self.world.remote, self.world.clock, providers=self.world.providers)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL

    def containers(self) -> list[dict[str, Any]]:
        """Return the containers of this card's Cardinal, running or not."""
        api = docker.APIClient(base_url=engine_address(), timeout=60)
        label = f"cardinal.home={home_of(self.world.places.workspaces)}"
        try:
            return list(api.containers(all=True, filters={"label": [label]}))
        finally:
            api.close()

    def kill_containers(self) -> None:
        """Kill them, as the kernel or an operator might."""
        api = docker.APIClient(base_url=engine_address(), timeout=60)
        for container in self.containers():
            api.kill(container["Id"])
        api.close()

    def effort_of(self, body: Mapping[str, Any]) -> Any:
        """Return the effort that a request of any protocol asks for; None for none."""
        thinking = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
        for name in ("output_config", "reasoning"):
            if isinstance(body.get(name), dict) and "effort" in body[name]:
                return body[name]["effort"]
        return body.get("reasoning_effort", thinking.get("thinkingLevel"))

    def usd(self) -> float:
        """Return the dollars of the run, as its events add up."""
        return float(sum(event.usd for event in self.world.of("UsageMetered")))

    def tokens(self) -> tuple[int, int]:
        """Return the tokens of the run, in and out, as its events add up."""
        metered = self.world.of("UsageMetered")
        return sum(one.input_tokens for one in metered), sum(one.output_tokens for one in metered)

    def stop(self) -> None:
        """Stop the models."""
        for model in self.models:
            model.stop()
