"""A Cardinal whose scripted agents work in containers, on a board whose limits bind."""

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import Engine

import docker
from forge.demo.people import Json, Team
from ledger.event import Event
from ledger.events.board import CardSeen
from ledger.events.policy import PolicyLoaded
from ledger.log import event_store
from runner.workspaces.backends.docker import home_of
from runner.workspaces.docker.engine import engine_address
from tests.chaos.cardinal import Cardinal, running
from tests.waiting import until

REPOSITORIES = ("acme/shop", "acme/board")
COLUMN_LIMIT, REPOSITORY_LIMIT, WORKERS = 3, 2, 4
FINISH = {"finish": {"done": "It is written.", "changed": ["cards/{{slug}}.txt"]}}
WRITE = ({"edit": {"path": "cards/{{slug}}.txt", "content": "{{title}}\n"}}, {"commit": "{{title}}"})
PLAN = [{"plan": {"summary": "Write it down.", "steps": ["Write", "Commit"]}}]
SLEEP_S = 8
SCENARIOS: dict[str, Json] = {
    "crowd": {
        "cards": [{"title": "^Slow", "scenario": "slow"}, {"title": "^Asking", "scenario": "asking"}],
        "plan": PLAN,
        "work": [{"progress": "writing"}, *WRITE, FINISH],
        "chat": [{"say": "Fine."}],
    },
    "slow": {"plan": PLAN, "work": [{"progress": "resting"}, {"sleep": SLEEP_S}, *WRITE, FINISH]},
    "asking": {"plan": PLAN, "work": [{"ask": {"question": "Which one?"}}, *WRITE, FINISH]},
}
POLICY = f"""\
version: 1
board:
  home: acme/board
  columns:
    Tasks: {{archetype: inbox}}
    Planning: {{archetype: planning, agent: scripted, model: crowd}}
    In Progress:
      archetype: execution
      agent: scripted
      model: crowd
      plan_approval: "off"
      concurrency: {COLUMN_LIMIT}
      resources: {{memory_mb: 512, cpus: 1, processes: 128}}
      on_success: {{move: Done}}
    Review: {{archetype: review}}
    QA: {{archetype: review}}
    Done:
      archetype: terminal
      on_entry: [{{action: merge, method: squash, requires: none}}, {{action: delete_branch}}]
  limits: {{runs: 6, runs_per_repository: {REPOSITORY_LIMIT}}}
  rebase: never
repository: {{validation: none}}
"""


@contextmanager
def crowded(root: Path, **settings: str) -> Iterator[Cardinal]:
    """Run Cardinal on the board with those limits until the block ends."""
    scenarios = root / "scenarios"
    scenarios.mkdir()
    for name, sections in SCENARIOS.items():
        (scenarios / f"{name}.yml").write_text(yaml.safe_dump(sections))
    chosen = {
        "CARDINAL_WORKSPACE": "docker",
        "CARDINAL_RUN_WORKERS": str(WORKERS),
        "CARDINAL_SCENARIOS": str(scenarios),
        "CARDINAL_SWEEP_S": "5",
        "CARDINAL_LEASE_S": "15",
    }
    with running(root, **(chosen | settings)) as cardinal:
        _lay_down(cardinal.team)
        until(lambda: _is_in_force(cardinal.engine), "the policy is in force")
        yield cardinal


def _lay_down(team: Team) -> None:
    path = "/repos/acme/board/contents/.github/cardinal.yml"
    there = team.call("alice", "GET", path)
    body = {"message": "Bind", "content": b64encode(POLICY.encode()).decode(), "sha": there["sha"]}
    team.call("alice", "PUT", path, body)


def _is_in_force(engine: Engine) -> bool:
    return any(isinstance(one, PolicyLoaded) and one.text == POLICY for one in events(engine))


def new_cards(cardinal: Cardinal, titles: list[str]) -> list[tuple[str, int]]:
    """Put cards into Tasks, in turns of each repository, and return their issues once all are known."""
    made = []
    for position, title in enumerate(titles):
        repository = REPOSITORIES[position % len(REPOSITORIES)]
        made.append((repository, cardinal.team.new_card("carol", title, "Do it.", "Tasks", repository)))
    wanted = set(made)
    until(lambda: wanted <= _known(cardinal.engine), "every card is known", every_s=0.2)
    return made


def _known(engine: Engine) -> set[tuple[str, int]]:
    return {(one.repository, one.number) for one in events(engine, CardSeen)}


def cards(cardinal: Cardinal) -> dict[tuple[str, int], str]:
    """Return the column of each card on the board by its issue."""
    state = cardinal.team.state()
    return {
        (card["repository"], card["number"]): column["name"]
        for column in state["boards"][0]["columns"]
        for card in column["cards"]
        if card.get("number")
    }


def events(engine: Engine, kind: type[Event] = Event, after: int = 0) -> list[Any]:
    """Return all events of that kind, oldest first."""
    found: list[Any] = []
    while True:
        with event_store.reading(engine) as db:
            page = event_store.read(db, after=after, limit=5_000)
        if not page:
            return found
        after = page[-1].seq
        found += [recorded.event for recorded in page if isinstance(recorded.event, kind)]


class Sight:
    """What the engine holds, asked past Cardinal's own code."""

    def __init__(self, cardinal: Cardinal) -> None:
        self._api = docker.APIClient(base_url=engine_address(), timeout=60)
        self._label = f"cardinal.home={home_of(cardinal.home / 'workspaces')}"
        self.began = self.networks_and_volumes()

    def containers(self, run_id: str = "") -> list[str]:
        """Return the ids of this Cardinal's containers, running or not."""
        labels = [self._label, *([f"cardinal.run={run_id}"] if run_id else [])]
        return [one["Id"] for one in self._api.containers(all=True, filters={"label": labels})]

    def networks_and_volumes(self) -> set[str]:
        """Return the names of all networks and volumes on the engine, but for Compose's: another test's."""
        volumes = self._api.volumes()["Volumes"] or []
        return {
            each["Name"]
            for each in (*self._api.networks(), *volumes)
            if "com.docker.compose.project" not in (each["Labels"] or {})
        }

    def close(self) -> None:
        """Remove what a failed test left, and give back the connection."""
        for container_id in self.containers():
            self._api.remove_container(container_id, force=True, v=True)
        self._api.close()


def say_figures(name: str, **figures: float) -> None:
    """Print what a test measured, for whoever reads its output."""
    print(json.dumps({"measured": name, "at": time.strftime("%H:%M:%S"), **figures}))
