"""Acts carried out against a real forge on this machine, out of a real ledger."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bot.github.client import Hub
from bot.outbox import handlers
from bot.outbox.publisher import Published, publish_due
from bot.state.outbox_context import OutboxContext
from bot.system.config import Config, read
from forge.clock import Clock as ForgeClock
from forge.store.board import Item
from forge.store.models import Issue, Pull, Repo, User
from forge.web.server import Forge
from ledger.event import Event
from ledger.events.board import BoardSeen, Column, Field
from ledger.events.policy import PolicyLoaded
from ledger.events.pull import PullOpened
from ledger.events.run import BranchPushed, ValidationEnded
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from rules.intents.outbound import Intent
from tests.bot.render.past import RUN, Past
from tests.kept import demo
from tests.ledgers import new_ledger, set_clock
from tests.near import near

Kind = TypeVar("Kind", bound=Event)
BRANCH = "cardinal/7-totals"
TOO_LONG = {"message": "Validation Failed", "errors": [{"message": "Body is too long (maximum is 65536)"}]}
FINAL = {"status": 422, "answer": TOO_LONG}  # a refusal that GitHub would repeat


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Stage:
    """A forge with one card in progress, Cardinal's ledger that knows it, and a publisher."""

    forge: Forge
    clock: Clock
    config: Config
    past: Past
    context: OutboxContext
    issue: Issue
    item: Item

    @property
    def hub(self) -> Hub:
        return self.context.app

    @property
    def card_id(self) -> CardId:
        return CardId(self.item.node_id)

    @property
    def board_id(self) -> BoardId:
        return BoardId(self.item.project.node_id)

    @property
    def shop(self) -> Repo:
        return self.issue.repo

    @property
    def alice(self) -> User:
        return self.forge.store.users.get("alice")

    @property
    def bodies(self) -> list[str]:
        return [comment.body for comment in self.issue.comments]

    def ask(self, *intents: Intent) -> None:
        """Put intents into the outbox, as the rules' decisions do."""
        with event_store.writing(self.context.engine) as db:
            for intent in intents:
                handlers.put_intent(db, intent, self.clock())

    def publish(self, lane: str = "github") -> Published:
        return publish_due(self.context, lane, within_s=60)

    def do(self, *intents: Intent) -> Published:
        self.ask(*intents)
        return self.publish()

    def happen(self, *events: Event) -> None:
        self.past.now = self.clock()
        self.past(*events)

    def events(self, kind: type[Kind]) -> list[Kind]:
        with event_store.reading(self.context.engine) as db:
            return [one.event for one in event_store.read(db, limit=10_000) if isinstance(one.event, kind)]

    def fault(self, **fault: Any) -> None:
        self.forge.store.faults.load({"api": [{"count": 1, **fault}]})

    def calls(self, *methods: str) -> list[str]:
        """Return the calls so far, `METHOD path` or the GraphQL operation; asking for tokens is none."""
        calls = [call for call in self.forge.gateway.calls if not call.path.endswith("/access_tokens")]
        found = [f"{call.method} {call.operation or call.path}" for call in calls]
        return [call for call in found if not methods or call.startswith(methods)]

    def pull(self, *, draft: bool = True, known: bool = True) -> Pull:
        """Push a branch with a change and open a pull request for it."""
        store = self.forge.store
        self.push()
        bot = store.users.get("cardinal[bot]")
        pull = store.pulls.create(
            self.shop, "Totals", f"Closes #{self.issue.number}", BRANCH, "main", actor=bot, draft=draft
        )
        if known:
            number, head = pull.issue.number, pull.head_sha
            self.happen(
                PullOpened(self.card_id, "acme/shop", number, pull.node_id, BRANCH, head, draft),
                ValidationEnded(RUN, 1, "full", True, head, "b" * 40, "local", clean=True),
                BranchPushed(RUN, BRANCH, head),
            )
        return pull

    def push(self, text: str = "1\n2\n3\n") -> None:
        repos = self.forge.store.repos
        if not any(ref.endswith(BRANCH) for ref in repos.git(self.shop).refs()):
            repos.create_ref(
                self.shop, f"refs/heads/{BRANCH}", repos.commit_of(self.shop, "main"), actor=self.alice
            )
        repos.write_files(self.shop, BRANCH, {"new.txt": text.encode()}, "Work", actor=self.alice)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    forge, world = demo(tmp_path)
    forge.start()
    try:
        registration = {
            "CARDINAL_GITHUB_URL": forge.url,
            "CARDINAL_APP_ID": str(world.app.id),
            "CARDINAL_PRIVATE_KEY": world.private_key,
            "CARDINAL_WEBHOOK_SECRET": "s",
            "CARDINAL_BOARD": "acme/1",
            "CARDINAL_WORKSPACE": "local",
        }
        config = read(registration, tmp_path)
        clock = Clock()
        forge.store.clock = ForgeClock(clock)
        engine = new_ledger(config.database_url)
        set_clock(engine, clock)
        alice = forge.store.users.get("alice")
        shop = forge.store.repos.get("acme", "shop")
        issue = forge.store.issues.create(shop, "Totals are wrong", "Add them up.", actor=alice)
        item = forge.store.projects.add(world.project, issue, actor=alice)
        forge.store.projects.drag(item, "In Progress", actor=alice)
        past = Past(engine, clock.now)
        context = OutboxContext(engine, config, clock, Hub(config, clock))
        found_stage = Stage(forge, clock, config, past, context, issue, item)
        status = world.project.field_named("Status")
        assert status is not None
        past(
            BoardSeen(
                found_stage.board_id,
                "acme",
                1,
                "Shop board",
                status.node_id,
                tuple(Column(option.id, option.name, option.description) for option in status.options),
                tuple(Field(one.node_id, one.name, str(one.data_type)) for one in world.project.fields),
            ),
            PolicyLoaded(found_stage.board_id, "d", "", ""),
        )
        past.card(
            found_stage.card_id, board_id=found_stage.board_id, number=issue.number, content_id=issue.node_id
        )
        past.run(card_id=found_stage.card_id)
        forge.gateway.calls.clear()
        with near(forge):
            yield found_stage
        engine.dispose()
    finally:
        forge.stop()
