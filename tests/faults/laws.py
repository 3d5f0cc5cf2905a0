"""What holds after each step, whatever people do and whatever goes wrong, by the log and by GitHub."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

from sqlalchemy import Engine

from bot.outbox.handlers.update_face import read_face
from bot.render.board.card_fields import FaceField
from bot.scheduler import dispatch
from bot.state import policies, snapshots
from forge.store.board import Item
from ledger import views
from ledger.event import Event
from ledger.events.board import DecisionFailed
from ledger.events.budget import BudgetRaised
from ledger.events.publication import EntryGivenUp
from ledger.events.run import QuestionAnswered, RunClaimed, RunEvent, RunQueued, UsageMetered
from ledger.ids import CardId, RunId
from ledger.log import event_store, hash_chain
from ledger.model.spend_limits import value_of
from ledger.queue import leases
from ledger.rows.limit_answers import Code, Subject
from ledger.states import CardState, RunState
from ledger.views import cards, runs, spend
from rules.explain import why
from tests.bot.flows.cardinal import Cardinal
from tests.faults.ending import list_comments
from tests.faults.worker import CALL_USD
from tests.ledger.lifecycle.test_rebuild import contents
from tests.ledgers import new_ledger

COUNTED = (FaceField.ELAPSED, FaceField.COST)


@dataclass(slots=True)
class Money:
    """Dollars of one run, as the log has them."""

    base_usd: float
    spent_usd: float = 0.0
    added_usd: float = 0.0
    times: int = 1

    @property
    def bound_usd(self) -> float:
        return self.base_usd * self.times + self.added_usd


@dataclass(slots=True)
class Replay:
    """A second ledger, into which each event of the first is folded once more, with the sums of its own."""

    engine: Engine
    seq: int = 0
    claims: dict[RunId, int] = field(default_factory=dict)
    money: dict[RunId, Money] = field(default_factory=dict)
    states: dict[RunId, RunState] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @classmethod
    def beside(cls, folder: Path) -> "Replay":
        return cls(new_ledger(f"sqlite:///{folder}/replay.db"))

    def follow(self, engine: Engine) -> None:
        """Fold what is new in the ledger at `engine`."""
        with event_store.reading(engine) as db:
            page = event_store.read(db, after=self.seq, limit=100_000)
        with event_store.writing(self.engine) as db:
            views.fold_all(db, page)
        for recorded in page:
            self.seq = recorded.seq
            self._count(recorded.event)

    def _count(self, event: Event) -> None:
        if isinstance(event, DecisionFailed | EntryGivenUp):
            self.failures.append(str(event))
        if isinstance(event, RunEvent):
            self._count_money(event)
            state = self.states.get(event.run_id, RunState.QUEUED)
            if isinstance(event, RunClaimed):
                if state is not RunState.QUEUED or event.generation <= self.claims.get(event.run_id, 0):
                    self.broken.append(f"{event.run_id} was claimed while {state}, as {event.generation}")
                self.claims[event.run_id] = event.generation
            self.states[event.run_id] = runs.state_after(event) or state

    def _count_money(self, event: RunEvent) -> None:
        match event:
            case RunQueued():
                usd = value_of(event.settings, "budget_usd")
                self.money[event.run_id] = Money(float(usd) if isinstance(usd, int | float) else 0.0)
            case UsageMetered():
                self.money[event.run_id].spent_usd += event.usd
            case BudgetRaised():
                self.money[event.run_id].added_usd += event.usd
            case QuestionAnswered(subject=Subject.BUDGET, code=Code.GO_ON):
                self.money[event.run_id].times += 1


def breaches(cardinal: Cardinal, replay: Replay, items: Iterable[Item], *, is_late: bool) -> Iterator[str]:
    """Yield what does not hold, in words. `is_late`: deliveries were lost or held back, no look was since.

    `items` are the cards of the play: of those before it Cardinal has nothing to say.
    """
    engine = cardinal.services.engine
    replay.follow(engine)
    yield from replay.broken
    with event_store.reading(replay.engine) as db:
        replayed = contents(db)
    with event_store.reading(engine) as db:
        if hash_chain.verify_chain(db).events != event_store.last_seq(db):
            yield "the hash chain is not whole"
        now = contents(db)
        yield from (f"{name} is not its replay" for name in now if now[name] != replayed.get(name))
    yield from _doubles(cardinal)
    yield from _of_runs(cardinal, replay)
    for item in items:
        yield from _of_card(cardinal, replay, item, is_late=is_late)


def _doubles(cardinal: Cardinal) -> Iterator[str]:
    said = Counter(key for key, _ in list_comments(cardinal))
    yield from (f"{key} was said {times} times" for key, times in said.items() if times > 1)


def _of_runs(cardinal: Cardinal, replay: Replay) -> Iterator[str]:
    with event_store.reading(cardinal.services.engine) as db:
        held = {run.run_id for run in runs.list_held(db)}
        for run_id, money in replay.money.items():
            run = runs.get(db, run_id)
            if run is None:
                yield f"{run_id} is in no view"
                continue
            lease = leases.find_held(db, dispatch.LEASE_PREFIX + run_id, run.generation)
            if (lease is not None) != (run_id in held):
                yield f"{run_id} is {run.state}, and its lease is {lease}"
            if not isclose(run.usd, money.spent_usd, abs_tol=1e-6):
                yield f"{run_id} costs {run.usd}, and {money.spent_usd} was metered"
            if money.spent_usd > money.bound_usd + CALL_USD + 1e-6:
                yield f"{run_id} spent {money.spent_usd} of {money.bound_usd}"
        for card_id in {run.card_id for it in replay.money if (run := runs.get(db, it))}:
            own = runs.of_card(db, card_id, limit=10_000)
            total = sum(run.usd for run in own)
            counted = spend.of_card(db, card_id).usd
            if not isclose(counted, total, abs_tol=0.005):
                yield f"card {card_id} costs {counted}, its runs {total}"
            alive = [run.run_id for run in own if run.alive and run.kind not in ("check", "rerun")]
            if len(alive) > 1:
                yield f"card {card_id} has several runs at once: {alive}"


def _of_card(cardinal: Cardinal, replay: Replay, item: Item, *, is_late: bool) -> Iterator[str]:
    card_id, name = CardId(item.node_id), getattr(item.content, "title", item.node_id)
    with event_store.reading(cardinal.services.engine) as db:
        snapshot = snapshots.of_card(db, card_id)
        if snapshot is None:
            if not is_late and item.archived_at is None:  # one that came archived is nobody's work
                yield f"{name} is not known"
            return
        reason = why(policies.in_force(db, snapshot.board_id), snapshots.with_place(db, snapshot))
    if not reason.strip():
        yield f"nobody can say why {name} stays {snapshot.state}"
    column, is_archived = cardinal.column(item), item.archived_at is not None
    if not is_late and snapshot.archived != is_archived:
        yield f"{name} is archived: {is_archived}; Cardinal knows {snapshot.archived}"
    if snapshot.archived or is_archived:
        return
    if not is_late and snapshot.column != column:
        yield f"{name} is in {column}; Cardinal knows {snapshot.column}"
    with event_store.reading(replay.engine) as db:
        card = cards.get(db, card_id)
        assert card is not None
        wanted = read_face(db, card, runs.get(db, card.run_id) if card.run_id else None)
    face = cardinal.face(item)
    if not face.get(FaceField.AGENT) and snapshot.state is CardState.DONE:
        return  # of a card that came done, the face stays as people left it
    for field_name, value in wanted.items():
        shown = face.get(field_name, "")
        if field_name not in COUNTED and shown != str(value):
            yield f"{name} shows {field_name}: {shown!r}; the log has {value!r}"
