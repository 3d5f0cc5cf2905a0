"""Cardinal beside one side: real ledger, door, intake, rules, outbox, client; the board alone is told to it.

The peer has no GraphQL and so no board: a card and its run are put into the ledger, as the events that a look
at the board would have brought, and a look at the card finds it as it is told. From there on everything is
Cardinal's own.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine

from bot.bootstrap import Services
from bot.github.api import project_queries
from bot.github.app_manifest import WEBHOOK_PATH
from bot.github.client import Hub
from bot.ingest import delivery
from bot.outbox import handlers, publisher
from bot.outbox.publisher import Published
from bot.reactor import reactor
from bot.state.outbox_context import OutboxContext
from bot.system import redis as embedded_redis
from bot.web.app import make_web
from bot.web.live.streams import Streams
from ledger.event import Event
from ledger.events.policy import PolicyLoaded
from ledger.events.run import RunQueued
from ledger.ids import BoardId, CardId, DeliveryId, RunId
from ledger.log import event_store
from ledger.queue import inbox
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import RunKind
from ledger.views import boards, cards, runs
from rules.intents.outbound import Intent
from tests.bot.render.past import SETTINGS, Past
from tests.bot.web.serving import served
from tests.ledgers import new_ledger, set_clock
from tests.peer.side import ADMIN, ORG, Side, utc_now

BOARD, CARD, RUN = BoardId("PVT_told"), CardId("PVTI_told"), RunId("r1")
BRANCH = "cardinal/7-totals"
WAIT_S = 60
E = TypeVar("E", bound=Event)


class Clock:
    """The wall's time, and as much later as a test says."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead

    def forward(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


class ToldHub(Hub):
    """The client of a board that is told: who looks at a card hears of it what the ledger knows."""

    engine: Engine

    def graphql(self, document: str, variables: Mapping[str, Any], **narrow: Any) -> dict[str, Any]:
        """Return the card, or all cards of its column, as they are told; all else is asked of the side."""
        if document not in (project_queries.CARD, project_queries.CARDS):
            return super().graphql(document, variables, **narrow)
        with event_store.reading(self.engine) as db:
            card, board = cards.get(db, variables.get("cards", [CARD])[0]), boards.get(db, BOARD)
        told = _told(card, board) if card is not None and board is not None else None
        if document == project_queries.CARD:
            return {"nodes": [told]}
        return {"node": {"items": {"pageInfo": {"hasNextPage": False}, "nodes": [told]}}}


def _told(card: CardRow, board: boards.BoardRow) -> dict[str, Any]:
    """Return what `query Card` says of a card of an open issue, on the board as it is known."""
    options = [{"id": column.option_id, "name": column.name} for column in board.columns]
    option = next((one["id"] for one in options if one["name"] == card.column), "")
    content = {
        "id": card.content_id,
        "number": card.number,
        "title": card.title,
        "body": card.body,
        "state": "OPEN",
        "author": {"login": card.author},
        "repository": {"nameWithOwner": card.repository, "defaultBranchRef": {"name": "main"}},
    }
    return {
        "id": card.card_id,
        "type": "ISSUE",
        "isArchived": False,
        "updatedAt": card.moved_at.isoformat(),
        "project": {
            "id": card.board_id,
            "number": 1,
            "owner": {"login": ORG},
            "field": {"id": board.status_field_id, "options": options},
        },
        "fieldValueByName": {"name": card.column, "optionId": option},
        "content": content,
    }


@dataclass
class Cardinal:
    """`woken`: the deliveries that the door took and nobody has ingested yet."""

    side: Side
    repository: str
    services: Services
    clock: "Clock"
    number: int = 0
    woken: list[DeliveryId] = field(default_factory=list)
    took: threading.Condition = field(default_factory=threading.Condition)

    def wake(self, deliveries: Sequence[tuple[DeliveryId, bool, str]]) -> bool:
        with self.took:
            self.woken += [delivery_id for delivery_id, *_ in deliveries]
            self.took.notify_all()
        return True

    # --- what the ledger knows -------------------------------------------------------------------------

    @property
    def past(self) -> Past:
        return Past(self.services.engine, utc_now() - timedelta(minutes=1))

    def know_card(self, *, column: str = "In Progress") -> None:
        """Let ADMIN open an issue and drag its card, on a board whose home has no policy file."""
        self.number = self.side.issue(self.repository)
        past = self.past
        past.board(BOARD)
        past(PolicyLoaded(BOARD, "d", "", ""))
        where = {"repository": self.repository, "number": self.number, "column": column}
        past.card(CARD, board_id=BOARD, **where, by=ADMIN, role="admin")

    def know_run(self) -> None:
        """Let the card's first run be queued."""
        settings = (SETTINGS, True)
        self.past(
            RunQueued(
                RUN,
                CARD,
                1,
                RunKind.FIRST,
                "In Progress",
                self.repository,
                BRANCH,
                "scripted",
                ADMIN,
                "",
                *settings,
            )
        )

    def events(self, kind: type[E]) -> list[E]:
        with event_store.reading(self.services.engine) as db:
            return [one.event for one in event_store.read(db, limit=10_000) if isinstance(one.event, kind)]

    def run(self) -> RunRow:
        with event_store.reading(self.services.engine) as db:
            run = runs.get(db, RUN)
        assert run is not None
        return run

    def card(self) -> CardRow:
        with event_store.reading(self.services.engine) as db:
            card = cards.get(db, CARD)
        assert card is not None
        return card

    # --- what the processes do -------------------------------------------------------------------------

    def ingest(self, count: int = 1) -> None:
        """Wait until the door took `count` deliveries, and carry them through intake and rules."""
        with self.took:
            assert self.took.wait_for(lambda: len(self.woken) >= count, WAIT_S), f"only {self.woken} came"
            due, self.woken[:] = self.woken[:count], self.woken[count:]
        for delivery_id in due:
            delivery.ingest(self.services, delivery_id)

    def do(self, *intents: Intent) -> Published:
        """Put intents into the outbox, as decisions do, and carry out what is due."""
        with event_store.writing(self.services.engine) as db:
            for intent in intents:
                handlers.put_intent(db, intent, self.clock())
        return self.publish()

    def ingest_until(self, kind: type[Event]) -> None:
        """Ingest what comes until there is an event of this kind."""
        while not self.events(kind):
            self.ingest()

    def publish(self) -> Published:
        """Carry out what is due in the outbox."""
        return publisher.publish_due(self.services.context, "github", within_s=60)

    def answer(self) -> Published:
        """Let the rules see what happened, and carry out what they ask for."""
        with event_store.writing(self.services.engine) as db:
            reactor.advance(db, now=self.clock())
        return self.publish()

    def waiting(self) -> int:
        """Return how many deliveries are stored and not ingested."""
        return len(inbox.due_deliveries(self.services.engine, late_s=-86400, limit=100))

    # --- what people see -------------------------------------------------------------------------------

    def comments(self, number: int = 0) -> list[str]:
        """Return what Cardinal said on the issue, oldest first."""
        path = f"/repos/{self.repository}/issues/{number or self.number}/comments"
        found = self.side.person(ADMIN, "GET", path)
        return [one["body"] for one in found if one["user"]["login"] == self.services.hub.bot_login]


@contextmanager
def open_beside(side: Side, home: Path) -> Iterator[Cardinal]:
    """Open a Cardinal whose real web application gets what the side's webhook sends."""
    repository = side.repository()
    config = side.config(home, policy_repository=repository)
    engine = new_ledger(config.database_url)
    clock = Clock()
    set_clock(engine, clock)
    hub = ToldHub(config, clock)
    hub.engine = engine
    # Nobody answers there: wake-ups are lost, and the test does what they would have brought about.
    redis = embedded_redis.connect_redis(config)
    services = Services(
        config, engine, OutboxContext(engine, config, clock, hub), redis, "test-1", clock
    ).on_configured()
    cardinal = Cardinal(side, repository, services, clock)
    app = make_web(config, engine, cardinal.wake, clock, Streams(engine)).app
    cardinal.know_card()
    side.relay.wait(cardinal.repository, "issues", "opened")  # of before Cardinal was there
    try:
        with served(app) as (host, port):
            side.relay.target = f"http://{host}:{port}{WEBHOOK_PATH}"
            yield cardinal
    finally:
        side.relay.target = ""
        engine.dispose()
