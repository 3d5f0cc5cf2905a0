"""A storm of deliveries: the same doings told to two Cardinals, to one in order, to the other as nets do."""

import hashlib
import hmac
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, select
from starlette.testclient import TestClient

from bot.github.client import Hub
from bot.ingest import delivery
from bot.state.outbox_context import OutboxContext
from bot.system.secret import Secret
from forge.store.board import DraftIssue, Item
from forge.store.registration import Delivery
from forge.store.settings import DragShape
from ledger.db.column_types import Moment
from ledger.db.tables import VIEWS, outbox
from ledger.event import Event
from ledger.events.board import BoardSeen, ColumnRanked, MoverFound
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from ledger.views.runs import runs
from ledger.views.waits import waits
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY
from tests.bot.web.serving import web_client
from tests.ledgers import new_ledger, set_clock

TWICE, LOST = 0.05, 0.05
SECRET = "s"
COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "QA", "Done", None)
MAX_SWEEPS = 40
# Beyond so many commands a minute none is obeyed: which ones those are goes by when they come, not by what
# they say, and here by how fast the machine is.
UNPACED = POLICY.rstrip().removesuffix("}") + ", commands_per_minute: 1000}\n"
PASSING = {"seq", "entry_id", "remote_id", "serial", "mover", "mover_role"}
RUN = re.compile(r"\br[1-9][0-9]*\b")
Digest = dict[str, Counter[Any]]


@dataclass(frozen=True, slots=True)
class Storm:
    """What came of it: both ends, and how much was sent."""

    quiet: Digest
    stormy: Digest
    deliveries: int
    sent: int
    lost: int
    sweeps: int
    quiet_s: float
    stormy_s: float

    def differing(self) -> list[str]:
        """Return what differs at both ends, each with its first rows that only the one or the other has."""
        told = []
        for name, quiet in self.quiet.items():
            stormy = self.stormy[name]
            if quiet != stormy:
                here, there = (list(quiet - stormy), list(stormy - quiet))
                told.append(f"{name}: only quiet {here[:3]}, only stormy {there[:3]}")
        return told


def play(cardinal: Cardinal, home: Path, *, size: int, seed: int) -> Storm:
    """Let people do `size` deliveries' worth of things, tell them in order and in a storm, return both ends.

    Both begin alike: they have published all about the board as it was. From then on nothing is published:
    what would be waits in both outboxes, and is compared.
    """
    chance = random.Random(seed)
    other = _second(cardinal, home)
    other.sweep()
    cardinal.set_policy(UNPACED)
    cardinal.mail.clear()
    for one in (cardinal, other):
        one.sweep()
        one.catch_up()
    deliveries = _doings(cardinal, chance, size)
    start = time.perf_counter()
    _deliver(cardinal, deliveries)
    quiet_s, start = time.perf_counter() - start, time.perf_counter()
    lost = [one for one in deliveries if chance.random() < LOST]
    gone = {one.guid for one in lost}
    for away in lost:
        away.status_code, away.status, away.delivered_at = 502, "failed to connect", cardinal.clock()
    sent = [one for one in deliveries if one.guid not in gone]
    sent += [one for one in sent if chance.random() < TWICE]
    chance.shuffle(sent)
    _deliver(other, sent)
    sweeps = _recover(other, gone)
    stormy_s = time.perf_counter() - start
    ends = _digest(cardinal), _digest(other)
    other.services.engine.dispose()
    return Storm(*ends, len(deliveries), len(sent), len(lost), sweeps, quiet_s, stormy_s)


def _second(cardinal: Cardinal, home: Path) -> Cardinal:
    """Return a second Cardinal of the same board, with a ledger of its own."""
    config = replace(
        cardinal.services.config, home=home, database_url=f"sqlite:///{home / 'data' / 'ledger.db'}"
    )
    engine = new_ledger(config.database_url)
    set_clock(engine, cardinal.clock)
    hub = Hub(config, cardinal.clock)
    context = OutboxContext(engine, config, cardinal.clock, hub)
    services = replace(cardinal.services, config=config, engine=engine, context=context).on_configured()
    return replace(cardinal, services=services)


def _doings(cardinal: Cardinal, chance: random.Random, size: int) -> list[Delivery]:
    """Let the team do things until they made `size` deliveries; return those, oldest first."""
    store = cardinal.forge.store
    store.settings.drag_shape, store.settings.rate_limit = DragShape.ALTERNATE, 1_000_000
    cardinal.mail.clear()
    items = [cardinal.new(f"Card {n}", chance.choice(COLUMNS)) for n in range(max(12, size // 25))]
    items += [cardinal.draft(f"Draft {n}", "Tasks") for n in range(size // 100)]
    deeds: tuple[Callable[[Cardinal, Item, random.Random], None], ...] = (
        _drag, _drag, _drag, _drag, _automate, _say, _say, _ask, _edit, _label, _shut, _rest,
    )  # fmt: skip
    while len(cardinal.mail) < size:
        chance.choice(deeds)(cardinal, chance.choice(items), chance)
    deliveries = list(cardinal.mail)[:size]
    cardinal.mail.clear()
    return deliveries


def _drag(cardinal: Cardinal, item: Item, chance: random.Random) -> None:
    cardinal.drag(item, chance.choice(COLUMNS), who=chance.choice(("alice", "bob", "carol")))


def _automate(cardinal: Cardinal, item: Item, chance: random.Random) -> None:
    store = cardinal.forge.store
    store.projects.drag(item, chance.choice(COLUMNS), actor=store.automation())


def _say(cardinal: Cardinal, item: Item, chance: random.Random) -> None:
    if not isinstance(item.content, DraftIssue):
        cardinal.say(item, f"A remark, {chance.random()}", who=chance.choice(("alice", "bob", "carol")))


def _ask(cardinal: Cardinal, item: Item, _chance: random.Random) -> None:
    if not isinstance(item.content, DraftIssue):
        cardinal.say(item, "/cardinal help")


def _edit(cardinal: Cardinal, item: Item, chance: random.Random) -> None:
    if not isinstance(item.content, DraftIssue):
        title = f"Title {chance.random()}"
        cardinal.forge.store.issues.edit(issue_of(item), title=title, actor=cardinal.person("carol"))


def _label(cardinal: Cardinal, item: Item, chance: random.Random) -> None:
    if not isinstance(item.content, DraftIssue):
        names = [chance.choice(("area", "bug", "small"))]
        cardinal.forge.store.issues.set_labels(issue_of(item), names, actor=cardinal.person("alice"))


def _shut(cardinal: Cardinal, item: Item, _chance: random.Random) -> None:
    if not isinstance(item.content, DraftIssue):
        issue = issue_of(item)
        state = "closed" if issue.state == "open" else "open"
        cardinal.forge.store.issues.set_state(issue, state, actor=cardinal.person("alice"))


def _rest(cardinal: Cardinal, item: Item, _chance: random.Random) -> None:
    resting = item.archived_at is None
    cardinal.forge.store.projects.set_archived(item, resting, actor=cardinal.person("alice"))


def _deliver(cardinal: Cardinal, deliveries: Iterable[Delivery]) -> None:
    """Hand the deliveries to the real receiver, and ingest what it stored in the order in which it came."""
    services = cardinal.services
    door = web_client(services.config, services.engine, lambda *_: False, cardinal.clock)
    for one in deliveries:
        _post(door, one)
        one.status_code, one.status, one.delivered_at = 202, "OK", cardinal.clock()
        delivery.ingest(cardinal.services, DeliveryId(one.guid))
    while cardinal.serve_refreshes():
        pass


def _post(door: TestClient, one: Delivery) -> None:
    signed = hmac.new(Secret(SECRET).reveal().encode(), one.body, hashlib.sha256).hexdigest()
    headers = {**one.headers, "X-Hub-Signature-256": f"sha256={signed}"}
    answer = door.post("/webhooks/github", content=one.body, headers=headers)
    assert answer.status_code == 202, answer.text


def _recover(cardinal: Cardinal, lost: set[str]) -> int:
    """Sweep until every lost delivery came after all; return how many sweeps that took."""
    for sweeps in range(1, MAX_SWEEPS):
        cardinal.mail.clear()
        cardinal.sweep()
        _deliver(cardinal, list(cardinal.mail))
        cardinal.mail.clear()
        with event_store.reading(cardinal.services.engine) as db:
            all_known = all(inbox.is_known(db, DeliveryId(guid)) for guid in lost)
        if all_known:
            cardinal.sweep()
            return sweeps
        cardinal.clock.forward(60)
    raise AssertionError("some deliveries never came")


def _digest(cardinal: Cardinal) -> Digest:
    """Return all that Cardinal knows and means to do: every view, the outbox and how often what happened.

    Left out is what says nothing but when it was heard: times, waits, the numbers of events and entries. Left
    out are the ids that GitHub gave, too: before the storm, each of the two made check runs of its own. So
    too, how often the board was seen is not counted: the second came when it was set up; nor how
    often a column's order was read, which goes by how often its cards were looked at; nor who moved a
    card, and when that was found: a look can come before the delivery that tells it. A run is called by its
    card and attempt: its number says only in which order the requests were answered.
    """
    with event_store.reading(cardinal.services.engine) as db:
        called = {one.run_id: f"{one.card_id}/{one.attempt}" for one in db.execute(select(runs))}
        found: Digest = {outbox.name: _rows(db, outbox, called)}
        for view in VIEWS.sorted_tables:  # a view's name ends in its digest
            if view is waits:
                continue
            found[view.name.rpartition("_")[0]] = _rows(db, view, called)
    happened = Counter(type(event).__name__ for event in cardinal.events(Event))
    del happened[BoardSeen.__name__], happened[ColumnRanked.__name__], happened[MoverFound.__name__]
    return found | {"happened": happened, "inbox": _inbox(cardinal)}


def _rows(db: Connection, table: Table, called: Mapping[str, str]) -> Counter[tuple[Any, ...]]:
    shown = [one for one in table.c if not isinstance(one.type, Moment) and one.name not in PASSING]
    rows = (row for row in db.execute(select(*shown)) if MoverFound.__name__ not in row)
    return Counter(tuple(_renamed(cell, called) for cell in row) for row in rows)


def _renamed(cell: Any, called: Mapping[str, str]) -> Any:
    return RUN.sub(lambda found: called.get(found[0], found[0]), cell) if isinstance(cell, str) else cell


def _inbox(cardinal: Cardinal) -> Counter[str]:
    """Return how many deliveries are in each state but done: of those, the storm had more and fewer."""
    with event_store.reading(cardinal.services.engine) as db:
        return Counter(
            {name: count for name, count in inbox.delivery_counts(db).items() if name != "done" and count}
        )
