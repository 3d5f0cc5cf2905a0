"""A forge with a repository made for rehearsals, and people who do as a rehearsal asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.admin.rehearsal.counting import CountingHub
from bot.admin.rehearsal.play import rehearse
from bot.admin.rehearsal.report import RehearsalReport
from bot.admin.rehearsal.stage import Nobody, Participant, PersonAct, RehearsalStage
from bot.admin.rehearsal.watch import Watch
from forge.store.board import FieldType
from forge.store.models import Repo, Role
from forge.store.registration import Delivery
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened

PLACE = "acme/throw-away"
PATIENCE_S = 0.05
HOUR_S = 3601
CHECKS = 'version: 1\nrepository: {validation: {full: ["test -f README.md"]}}\n'


@dataclass
class Rehearsals:
    """A Cardinal's forge, where rehearsals are played."""

    cardinal: Cardinal
    repo: Repo
    is_up: bool = False
    between_s: float = HOUR_S  # so that each has an hour's writings of its own

    def stage(self, person: Participant | None = None, run_patience_s: float = PATIENCE_S) -> RehearsalStage:
        """Return a fresh stage there."""
        config = self.cardinal.services.config
        self.cardinal.clock.forward(self.between_s)
        hub = CountingHub(config, self.cardinal.clock, owner="acme")
        hub.begin(pause=self.cardinal.clock.forward)
        watch = Watch(self.cardinal.services.engine, *config.board, self.is_up)
        who = person or Nobody()
        return RehearsalStage(hub, config.board, PLACE, watch, who, PATIENCE_S, run_patience_s)

    def play(self, stage: RehearsalStage) -> RehearsalReport:
        """Rehearse; the faults end with it."""
        try:
            return rehearse(stage, lambda _: None)
        finally:
            self.cardinal.forge.store.faults.clear()


@dataclass
class Alice:
    """A person who does all that a rehearsal asks for, on the forge."""

    cardinal: Cardinal

    def does(self, act: PersonAct, number: int, column: str = "") -> bool:
        store, alice = self.cardinal.forge.store, self.cardinal.person("alice")
        issue = store.issues.get(store.repos.get("acme", "throw-away"), number)
        if act is PersonAct.DRAG:
            (item,) = store.projects.items_of(issue)
            store.projects.drag(item, column, actor=alice)
        elif act is PersonAct.TICK:
            comment = issue.comments[-1]
            store.issues.edit_comment(comment, comment.body.replace("- [ ]", "- [x]", 1), actor=alice)
        else:
            return False
        return True


def mark_as_sent(cardinal: Cardinal) -> None:
    """Let each delivery be listed as one that came."""
    store = cardinal.forge.store

    def sent(delivery: Delivery) -> None:
        delivery.status, delivery.status_code, delivery.delivered_at = "OK", 202, store.clock.now()

    store.deliveries.outlets.append(sent)


def with_place(cardinal: Cardinal) -> Rehearsals:
    """Make the repository; the board gets a field Repo, and a workflow that moves closed issues."""
    store, alice = cardinal.forge.store, cardinal.person("alice")
    repo = store.repos.create(store.users.get("acme"), "throw-away")
    store.repos.set_role(repo, alice, Role.ADMIN)
    files = {"README.md": b"# To be thrown away\n", ".github/cardinal.yml": CHECKS.encode()}
    store.repos.write_files(repo, "main", files, "Start", actor=alice)
    if cardinal.project.field_named("Repo") is None:
        store.projects.create_field(cardinal.project, "Repo", FieldType.TEXT)
    store.settings.closed_moves_to = "Done"
    mark_as_sent(cardinal)
    return Rehearsals(cardinal, repo)


@pytest.fixture(scope="module")
def rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsals]:
    with opened(tmp_path_factory.mktemp("rehearsals") / "here") as cardinal:
        yield with_place(cardinal)


@pytest.fixture
def server_rehearsals(tmp_path: Path) -> Iterator[Rehearsals]:
    with opened(tmp_path / "here", server="3.20.1") as cardinal:
        yield with_place(cardinal)
