"""The repairs of the product, each of which can be taken out, and the cells that must then fail.

Nothing of the product knows of this: a repair is taken out by replacing its function in this process.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine

from bot.bootstrap import Services
from bot.github.client import Hub, repository_path
from bot.outbox import publisher
from bot.outbox.contract import ActResult
from bot.state.outbox_context import OutboxContext
from ledger.events.publication import EntryPublished
from ledger.events.run import RunEnded
from ledger.ids import CardId, DeliveryId
from ledger.log import event_store
from ledger.queue import inbox, outbox, refresh_requests
from ledger.queue.leases import Lease
from ledger.queue.outbox import Entry
from ledger.states import Ending
from runner.git.mirror import Mirror
from tests.faults import playing
from tests.faults.cells import Cell
from tests.faults.points import Fault

Real = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair: what it is for, where its function is, what stands there without it, and where it is missed.

    `sites` are parts of the points' names. Without a fault there, nothing needs it.
    """

    what: str
    place: str
    without: Callable[[Real], Any]
    story: str
    sites: str
    faults: tuple[Fault, ...]
    most: int = 10  # cells to try

    @contextmanager
    def taken_out(self) -> Iterator[None]:
        """Go on without it until the block ends."""
        module, _, name = self.place.rpartition(":")
        owner: Any = import_module(module)
        *outer, last = name.split(".")
        for part in outer:
            owner = getattr(owner, part)
        real = getattr(owner, last)
        with ExitStack() as after:
            after.callback(setattr, owner, last, real)
            setattr(owner, last, self.without(real))
            yield


def is_red(repair: Repair, cell: Cell) -> bool:
    """Tell whether the cell fails once the repair is taken out."""
    quiet = playing.quiet(cell.story)
    with repair.taken_out():
        played = playing.play(cell.story, {cell.point: cell.fault})
    return bool(played.struck and played.differences(quiet))


def first_red(repair: Repair) -> str:
    """Return the first cell that fails once the repair is taken out; empty where nobody notices.

    The story without any fault does not count: its end is the same.
    """
    quiet = playing.quiet(repair.story)
    with repair.taken_out():
        calm = playing.play(repair.story)
    assert not calm.differences(quiet), f"without {repair.place} even the quiet play fails"
    points = [point for point in calm.trace if repair.sites in point]
    tried = [Cell(repair.story, point, fault) for point in points for fault in repair.faults][: repair.most]
    return next((str(cell) for cell in tried if is_red(repair, cell)), "")


def _nothing(answer: Any = None) -> Callable[[Real], Real]:
    """Return what does nothing in place of a function, and answers so."""
    return lambda _: lambda *_words, **_named: answer


def _changed(**changes: Any) -> Callable[[Real], Real]:
    """Return the function with other arguments by keyword."""
    return lambda real: lambda *words, **named: real(*words, **{**named, **changes})


def _value(other: Any) -> Callable[[Any], Any]:
    return lambda _: other


def _forgets_attempts(real: Real) -> Real:
    return lambda *words, **named: tuple(replace(entry, attempts=1) for entry in real(*words, **named))


def _deletes_blindly(_: Real) -> Real:
    def delete(hub: Hub, repository: str, branch: str) -> None:
        hub.rest("DELETE", f"{repository_path(repository)}/git/refs/heads/{branch}")

    return delete


def _merges_blindly(_: Real) -> Real:
    def merge(
        hub: Hub, repository: str, number: int, *, method: str, head: str, words: dict[str, str]
    ) -> str:
        body = {"merge_method": method, "sha": head, **words}
        answer = hub.rest("PUT", f"{repository_path(repository)}/pulls/{number}/merge", body=body)
        return str(answer.body["sha"])

    return merge


def _settles_in_two(_: Real) -> Real:
    def settle(context: OutboxContext, entry: Entry, outcome: ActResult, counts: publisher.Published) -> None:
        with event_store.writing(context.engine) as db:
            outbox.drop_entry(db, entry)
        with event_store.writing(context.engine) as db:
            ids = (CardId(entry.card_id), entry.key, entry.act)
            published = EntryPublished(*ids, outcome.remote_id, outcome.digest)
            event_store.append(db, published, *outcome.events(db), at=context.clock())
        counts.settled += 1

    return settle


def _events_first(_: Real) -> Real:
    """Return a `_settle` that keeps the entry when it is killed after the event."""

    def settle(context: OutboxContext, entry: Entry, outcome: ActResult, counts: publisher.Published) -> None:
        with event_store.writing(context.engine) as db:
            event_store.append(db, *outcome.events(db), at=context.clock())
        with event_store.writing(context.engine) as db:
            outbox.drop_entry(db, entry)
            ids = (CardId(entry.card_id), entry.key, entry.act)
            published = EntryPublished(*ids, outcome.remote_id, outcome.digest)
            event_store.append(db, published, at=context.clock())
        counts.settled += 1

    return settle


def _done_when_claimed(real: Real) -> Real:
    def claim(engine: Engine, delivery_id: DeliveryId, *, lease_s: float) -> inbox.Delivery | None:
        claimed: inbox.Delivery | None = real(engine, delivery_id, lease_s=lease_s * 100_000)
        return claimed

    return claim


def _gives_up(_: Real) -> Real:
    return lambda context, entry, error, counts: publisher._give_up(context, entry, str(error), counts)


def _renames(real: Real) -> Real:
    def insert(db: Connection, deliveries: Sequence[inbox.Delivery], now: datetime) -> Any:
        renamed = [replace(it, delivery_id=DeliveryId(f"{it.delivery_id}-{uuid4()}")) for it in deliveries]
        return real(db, renamed, now)

    return insert


def _quarantines(real: Real) -> Real:
    return lambda *words, **named: real(*words, **{**named, "max_attempts": 0})


def _serves_before_it_reads(real: Real) -> Real:
    def sync(services: Services, held: Mapping[CardId, Lease]) -> tuple[CardId, ...]:
        with event_store.writing(services.engine) as db:
            for card_id in held:
                refresh_requests.mark_served(db, card_id, refresh_requests.counts(db, card_id)[0])
        done: tuple[CardId, ...] = real(services, held)
        return done

    return sync


def _makes_in_place(_: Real) -> Real:
    def make_whole(mirror: Mirror) -> None:
        if not mirror.path.exists():
            mirror.path.mkdir(parents=True)
            mirror._git("init", "--bare", "--quiet", ".")

    return make_whole


def _ends_the_run(_: Real) -> Real:
    return lambda run, killed="": RunEnded(run.run_id, Ending.LOST, "", "", run.state)


LOST = (Fault.LOST_AFTER_EFFECT, Fault.KILL_AFTER)
KEPT = (Fault.KILL_BEFORE, Fault.KILL_AFTER)
POSTED = "issues/N/comments@bot/outbox/posting.publish_comment"
REPAIRS = (
    Repair(
        "a comment that an earlier attempt left is found by its marker",
        *("bot.outbox.posting:_adopt", _nothing(), "quiet", f"POST /repos/acme/shop/{POSTED}", LOST),
    ),
    Repair(
        "its search begins before the entry was made, by as much as clocks differ",
        "bot.outbox.posting:CLOCK_SLACK",
        *(_value(timedelta(days=-1)), "quiet", f"POST /repos/acme/shop/{POSTED}", LOST),
    ),
    Repair(
        "an attempt is counted before it begins",
        *("ledger.queue.outbox:claim", _forgets_attempts, "quiet", f"POST /repos/acme/shop/{POSTED}", LOST),
    ),
    Repair(
        "the open pull request of a branch is found",
        *("bot.github.api.pulls:find_open", _nothing(), "quiet", "POST /repos/acme/shop/pulls@", LOST),
    ),
    Repair(
        "a pull request that is merged already counts as merged by this",
        *("bot.github.api.pulls:merge", _merges_blindly, "again", "PUT /repos/acme/shop/pulls/N/merge", LOST),
    ),
    Repair(
        "a branch that is gone counts as deleted",
        *("bot.github.api.pulls:delete_branch", _deletes_blindly, "quiet", "send:DELETE ", LOST),
    ),
    Repair(
        "a check that an earlier attempt made is found",
        *("bot.outbox.gate_check:find_check", _nothing(), "quiet", "POST /repos/acme/shop/check-runs", LOST),
    ),
    Repair(
        "a status update that an earlier attempt posted is found",
        "bot.github.api.projects:own_status_update",
        *(_nothing(""), "quiet", "send:PostStatusUpdate", LOST),
    ),
    Repair(
        "a reply in a thread that an earlier attempt left is found",
        "bot.outbox.handlers.answer_thread:_find_reply",
        *(_nothing(""), "revision", "send:POST /repos/acme/shop/pulls/N/comments", LOST),
    ),
    Repair(
        "an issue that an earlier attempt made is found by its marker",
        *("bot.outbox.new_cards:_find_left", _nothing(), "schedule", "POST /repos/acme/shop/issues@", LOST),
    ),
    Repair(
        "the claim of an entry runs out",
        "bot.outbox.publisher:CLAIM_S",
        *(_value(dict.fromkeys(publisher.CLAIM_S, 10**7)), "quiet", f"{POSTED}", KEPT),
    ),
    Repair(
        "the claim of a delivery runs out",
        "ledger.queue.inbox:claim",
        *(_done_when_claimed, "quiet", "commit:PersonSaid", (Fault.KILL_BEFORE,)),
    ),
    Repair(
        "the lease of a card runs out",
        *("bot.sync.card:LEASE_TTL_S", _value(10**7), "quiet", "commit:CardMoved", (Fault.KILL_BEFORE,)),
    ),
    Repair(
        "the lease of a run runs out, and the run is taken back",
        *("bot.scheduler.dispatch:reap_runs", _nothing(()), "work", "commit:RunStepped", KEPT),
    ),
    Repair(
        "a run whose worker died goes on",
        *("bot.scheduler.dispatch:_after_loss", _ends_the_run, "work", "commit:RunStepped", KEPT),
    ),
    Repair(
        "the sweep asks for deliveries again that failed",
        *("bot.sync.sweep:recover_deliveries", _nothing(), "quiet", "inbox.store_deliveries", KEPT[:1], 80),
    ),
    Repair(
        "a delivery that comes again is known by its id",
        *("ledger.queue.inbox:_insert", _renames, "policy", "inbox.store_deliveries", KEPT[1:], 60),
    ),
    Repair(
        "an act that fails for now is tried again",
        "bot.outbox.publisher:_try_again",
        *(_gives_up, "quiet", POSTED, (Fault.LOST_WITHOUT_EFFECT,)),
    ),
    Repair(
        "a delivery that fails for now is tried again",
        "ledger.queue.inbox:record_failure",
        *(_quarantines, "quiet", "collaborators/alice/permission", (Fault.LOST_WITHOUT_EFFECT,)),
    ),
    Repair(
        "a refresh request stays until the card is recorded",
        *("bot.sync.card:_sync_once", _serves_before_it_reads, "again", "send:Card@", (Fault.KILL_BEFORE,)),
    ),
    Repair(
        "the entry and its event are settled in one transaction, the entry not first",
        *("bot.outbox.publisher:_settle", _settles_in_two, "quiet", "commit:EntryPublished", KEPT[:1]),
    ),
    Repair(
        "the entry and its event are settled in one transaction, the event not first",
        *("bot.outbox.publisher:_settle", _events_first, "tasks", "commit:AssistantMetered", KEPT[1:]),
    ),
    Repair(
        "a look that is older than what is known changes nothing",
        *("bot.sync.card:without_stale", lambda _: lambda _services, look: look, "policy", "send:Card@"),
        (Fault.STALE,),
    ),
    Repair(
        "what a run wrote without an answer is not written again",
        "runner.run.log:RunLog._has",
        *(_nothing(False), "work", "@runner/run/log.RunLog._writing", (Fault.LOST_AFTER_EFFECT,)),
    ),
    Repair(
        "the first copy of a repository is made whole or not at all",
        "runner.git.mirror:Mirror.make_whole",
        *(_makes_in_place, "work", "program:git init@", (Fault.KILL_AFTER,)),
    ),
    Repair(
        "a call that a program repeats is known by its key",
        "ledger.queue.acted_requests:keep",
        *(_nothing(), "job", "commit:JobRequested@", (Fault.KILL_AFTER,)),
    ),
)
