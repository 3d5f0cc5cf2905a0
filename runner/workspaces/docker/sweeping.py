"""Leftover containers, found by their labels after any crash."""

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ledger.ids import CardId, RunId
from runner.workspaces.contract import Leftover, Tenancy
from runner.workspaces.docker.engine import Engine
from runner.workspaces.docker.seeds import HOME_LABEL, REPOSITORY_LABEL

CARD_LABEL = "cardinal.card"
RUN_LABEL = "cardinal.run"
GENERATION_LABEL = "cardinal.generation"


def home_of(workspaces: Path) -> str:
    """Return the stable id of a state folder, which tells our containers from those of another Cardinal.

    Its path is enough, since an engine mounts folders of one machine only.
    """
    return hashlib.sha256(str(workspaces.absolute()).encode()).hexdigest()[:16]


def labels_of(home: str, tenancy: Tenancy) -> dict[str, str]:
    """Return the labels of a container of this tenancy."""
    return {
        HOME_LABEL: home,
        CARD_LABEL: tenancy.card_id,
        RUN_LABEL: tenancy.run_id,
        GENERATION_LABEL: str(tenancy.generation),
        REPOSITORY_LABEL: tenancy.repository_id,
    }


def remove_older(engine: Engine, home: str, tenancy: Tenancy) -> None:
    """Remove the containers of the same card from other runs and older claims of this one."""
    for container in engine.find({HOME_LABEL: home, CARD_LABEL: tenancy.card_id}):
        if container.run_id != tenancy.run_id or container.generation < tenancy.generation:
            engine.remove(container.container_id)


def remove_claim(engine: Engine, home: str, run_id: RunId, generation: int) -> None:
    """Remove the containers of that claim: one that is only about to start must not, either."""
    labels = {HOME_LABEL: home, RUN_LABEL: run_id, GENERATION_LABEL: str(generation)}
    for container in engine.find(labels):
        engine.remove(container.container_id)


def remove_all(engine: Engine, home: str, card_id: CardId) -> None:
    """Remove the containers of that card's workspace."""
    for container in engine.find({HOME_LABEL: home, CARD_LABEL: card_id}):
        engine.remove(container.container_id)


def dead_containers(engine: Engine, home: str, alive: Callable[[RunId, int], bool]) -> Iterator[Leftover]:
    """Yield the containers of dead claims."""
    for container in engine.find({HOME_LABEL: home}):
        if not alive(container.run_id, container.generation):
            whose = f"run {container.run_id}" if container.run_id else "no run"
            what = f"the container {container.name} of {whose}, claim {container.generation}, which ended"
            yield Leftover(what, partial(engine.remove, container.container_id))
