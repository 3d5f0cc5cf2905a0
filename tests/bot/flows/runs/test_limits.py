"""Limits that hold under concurrent claims, and the kill switches over them."""

from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier

import pytest

from bot.scheduler import dispatch
from forge.store.board import Item
from ledger.events.board import StopLifted
from ledger.events.run import RunClaimed, RunParked, RunStopAsked, UsageMetered
from ledger.ids import RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import leases
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import POLICY, with_column
from tests.warm import context

CLAIMERS = 3


def queue(cardinal: Cardinal, count: int) -> list[Item]:
    """Return so many cards in progress, all queued."""
    items = [cardinal.new(f"Card {n}", column="In Progress") for n in range(count)]
    cardinal.catch_up()
    return items


def grab(url: str, run_ids: list[str], barrier: Barrier, name: str) -> None:
    """Claim whatever can be claimed, as a worker process that does not care what was enqueued."""
    engine = open_ledger(url)
    barrier.wait(60)
    for run_id in run_ids:
        now = datetime.now(UTC)
        dispatch.claim_run(engine, RunId(run_id), worker=name, now=now, ttl_s=600, slots=50)
    engine.dispose()


def grab_together(cardinal: Cardinal, run_ids: list[str]) -> None:
    """Let several processes claim all the runs at once, each in another order."""
    barrier = context().Barrier(CLAIMERS)
    url = cardinal.services.config.database_url
    orders = [run_ids[n:] + run_ids[:n] for n in range(CLAIMERS)]
    claimers = [
        context().Process(target=grab, args=(url, order, barrier, f"worker-{n}"))
        for n, order in enumerate(orders)
    ]
    for claimer in claimers:
        claimer.start()
    for claimer in claimers:
        claimer.join(60)
    assert [claimer.exitcode for claimer in claimers] == [0] * CLAIMERS


ROOMY = with_column(concurrency="9").replace("runs_per_repository: 3", "runs_per_repository: 9")


LIMITS = {
    "column": (with_column(concurrency="2"), 2),
    "repository": (ROOMY.replace("runs_per_repository: 9", "runs_per_repository: 1"), 1),
    "board": (ROOMY.replace("runs: 4", "runs: 3"), 3),
}


def test_a_limit_holds_for_every_claim_whatever_was_enqueued(cardinal: Cardinal) -> None:
    run_ids = [cardinal.run_of(item).run_id for item in queue(cardinal, 5)]
    for name, (policy, most) in LIMITS.items():
        cardinal.set_policy(policy)
        cardinal.catch_up()
        assert len(cardinal.ready()) == most, name
    assert sum(cardinal.claim(run_id) for run_id in run_ids) == most


def test_a_limit_holds_when_many_processes_claim_at_once(cardinal: Cardinal) -> None:
    cardinal.set_policy(ROOMY.replace("concurrency: 9", "concurrency: 2"))
    cardinal.catch_up()
    grab_together(cardinal, [cardinal.run_of(item).run_id for item in queue(cardinal, 5)])
    claimed = cardinal.events(RunClaimed)
    assert [event.generation for event in claimed] == [1, 1]
    assert len({event.run_id for event in claimed}) == 2


def test_more_runs_than_workers_wait_and_say_so(cardinal: Cardinal) -> None:
    cardinal.set_policy(ROOMY)
    cardinal.catch_up()
    items = queue(cardinal, 5)
    assert len(cardinal.ready()) == 4
    cardinal.catch_up()
    assert "the board" in cardinal.card(items[-1]).because
    assert "5th in the queue" in cardinal.face(items[-1])["Run"]


def test_a_spent_day_starts_nothing(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("limits: {", "limits: {usd_per_day: 1, "))
    cardinal.catch_up()
    first, second = queue(cardinal, 2)
    run_id = cardinal.run_of(first).run_id
    cardinal.begin(run_id)
    cardinal.write(run_id, UsageMetered(run_id, 1.5, 10, 10, 1, 1.0))
    assert cardinal.ready() == ()
    assert not cardinal.claim(cardinal.run_of(second).run_id)
    assert "today of $1.00 is used up: $1.50 spent" in cardinal.card(second).because


def stopping(cardinal: Cardinal) -> list[tuple[str, str]]:
    return [(event.run_id, event.how) for event in cardinal.events(RunStopAsked)]


@pytest.mark.parametrize(
    ("stop", "lift"),
    [
        ("/cardinal stop-all", "/cardinal resume board"),
        pytest.param("/cardinal pause board", "/cardinal resume board", marks=pytest.mark.soak),
        ("/cardinal pause column", "/cardinal resume column"),
    ],
)
def test_a_switch_pauses_what_works_holds_what_waits_and_its_lifting_lets_all_go_on(
    cardinal: Cardinal, stop: str, lift: str
) -> None:
    working, waiting = queue(cardinal, 2)
    run_id, queued = cardinal.run_of(working).run_id, cardinal.run_of(waiting).run_id
    cardinal.begin(run_id)
    cardinal.say(waiting, stop, who="alice")
    cardinal.catch_up()
    assert stopping(cardinal) == [(run_id, "pause")]
    cardinal.write(run_id, RunParked(run_id, "pause"))
    cardinal.catch_up()
    assert cardinal.ready() == ()
    assert not cardinal.claim(queued)
    cardinal.catch_up()
    assert "is stopped by alice" in cardinal.card(waiting).because
    assert cardinal.face(working)["Agent"].endswith("blocked")
    cardinal.say(working, lift, who="alice")
    cardinal.catch_up()
    assert set(cardinal.ready()) == {run_id, queued}
    assert len(cardinal.events(StopLifted)) == 1


def test_a_blocked_card_starts_no_run_and_says_why_until_it_is_unblocked(cardinal: Cardinal) -> None:
    item = cardinal.new("Card", column="Tasks")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal block no contract yet", who="alice")
    cardinal.catch_up()
    assert "is blocked by alice (no contract yet): /cardinal unblock" in cardinal.card(item).because
    assert cardinal.face(item)["Agent"].endswith("blocked")
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    assert cardinal.ready() == ()
    assert not cardinal.claim(run_id)
    cardinal.catch_up()
    assert "is blocked by alice (no contract yet)" in cardinal.card(item).because
    cardinal.say(item, "/cardinal unblock", who="bob")
    cardinal.catch_up()
    assert cardinal.card(item).state == "queued"
    assert cardinal.ready() == (run_id,)


def test_a_paused_run_waits_for_its_own_resume(cardinal: Cardinal) -> None:
    (item,) = queue(cardinal, 1)
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.say(item, "/cardinal pause", who="bob")
    cardinal.catch_up()
    cardinal.write(run_id, RunParked(run_id, "pause"))
    cardinal.say(item, "/cardinal stop-all", who="alice")
    cardinal.say(item, "/cardinal resume board", who="alice")
    cardinal.catch_up()
    assert cardinal.run(run_id).state == "parked", "a board's switch lifted a person's own pause"
    for who in ("bob", "alice"):
        cardinal.say(item, "/cardinal resume", who=who)
    cardinal.catch_up()
    assert cardinal.ready() == (run_id,)
    assert cardinal.comment(item, "`bob` resumed it first. Nothing is paused")


def test_a_stopped_card_holds_only_itself(cardinal: Cardinal) -> None:
    item, free = queue(cardinal, 2)
    cardinal.say(item, "/cardinal pause", who="bob")
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(free).run_id,)
    cardinal.say(item, "/cardinal resume", who="bob")
    cardinal.catch_up()
    assert len(cardinal.ready()) == 2


def test_a_cancelled_run_that_waits_ends_at_once_and_a_retry_starts_another(cardinal: Cardinal) -> None:
    (item,) = queue(cardinal, 1)
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    first = cardinal.run_of(item)
    assert (first.state, first.ending, first.reason) == ("ended", "cancelled", "cancelled")
    assert "cancelled" in cardinal.card(item).because
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.run_of(item).attempt == 2
    with event_store.reading(cardinal.services.engine) as db:
        assert leases.holders(db) == ()
