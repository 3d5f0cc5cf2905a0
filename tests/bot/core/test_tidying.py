"""What nobody works in any more is removed; what somebody works in stays."""

import os
import time

from bot import orders, tidying
from ledger.ids import CardId
from runner import workspaces
from runner.workspace import Tenancy
from tests.bot.core.cardinal import Cardinal


def opened(cardinal: Cardinal, name: str) -> None:
    workspaces.load("local").open(orders.places(cardinal.shop), Tenancy(CardId(name)))


def there(cardinal: Cardinal) -> set[str]:
    return {mark.read_text() for mark in orders.places(cardinal.shop).workspaces.glob("*/card")}


def test_the_place_of_a_card_that_is_done_goes_and_that_of_one_at_work_stays(cardinal: Cardinal) -> None:
    works, done = cardinal.new(column="In Progress"), cardinal.new(column="In Progress")
    cardinal.settle()
    for item in (works, done):
        cardinal.begin(cardinal.run_of(item).run_id)
        opened(cardinal, item.node_id)
        opened(cardinal, f"gate-{item.node_id}")
        opened(cardinal, f"repro-{item.node_id}")
    cardinal.finish(cardinal.run_of(done).run_id, files={"a.txt": b"1\n"})
    cardinal.settle()
    tidying.tidy(cardinal.shop)
    clean = {f"gate-{works.node_id}", f"repro-{works.node_id}"}
    assert there(cardinal) == {works.node_id, *clean, done.node_id}
    bob = cardinal.person("bob")
    cardinal.forge.store.reviews.submit(cardinal.pull_of(done), "APPROVE", "", [], actor=bob)
    cardinal.settle()
    cardinal.drag(done, "Done")
    cardinal.settle()
    tidying.tidy(cardinal.shop)
    assert there(cardinal) == {works.node_id, *clean}


def test_the_place_of_an_investigation_goes_when_its_run_has_ended(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.settle()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    opened(cardinal, f"look-{item.node_id}")
    cardinal.ask(run_id, "Which till?")
    tidying.tidy(cardinal.shop)
    assert there(cardinal) == {f"look-{item.node_id}"}
    cardinal.say(item, "/cardinal cancel")
    cardinal.settle()
    tidying.tidy(cardinal.shop)
    assert there(cardinal) == set()


def test_a_chat_whose_worker_died_is_forgotten_once_no_answer_can_come_any_more(cardinal: Cardinal) -> None:
    for name in ("chat-old", "chat-new"):
        opened(cardinal, name)
    long_ago = time.time() - tidying.CHAT_S - 60
    os.utime(orders.places(cardinal.shop).workspaces / "chat-old", (long_ago, long_ago))
    tidying.tidy(cardinal.shop)
    assert there(cardinal) == {"chat-new"}


def test_the_sockets_of_dead_claims_go_and_those_of_living_ones_stay(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.settle()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    generation = cardinal.leases[run_id].generation
    gateways = orders.places(cardinal.shop).gateways
    for name in (f"{run_id}-{generation}", f"{run_id}-{generation + 1}", "r99-1"):
        (gateways / name).mkdir(parents=True)
    tidying.tidy(cardinal.shop)
    assert {one.name for one in gateways.iterdir()} == {f"{run_id}-{generation}"}
