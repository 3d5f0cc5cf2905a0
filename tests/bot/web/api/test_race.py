"""Many at once with one idempotency key: one of them acts, and all get the same answer."""

from concurrent.futures import ThreadPoolExecutor

from ledger.events.job import JobRequested
from ledger.events.run import RunClaimed
from tests.bot.web.api.program import Program, lying, path_of
from tests.bot.web.api.test_create_job import WISH
from tests.bot.web.pages.forms import at_work, commands
from tests.bot.web.pages.world import Pages

AT_ONCE = 8


def test_threads_that_race_with_one_key_act_once(pages: Pages) -> None:
    item = at_work(pages)
    bob, path = Program(pages, "bob"), path_of(pages, item)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [
            pool.submit(bob.send, "POST", "/jobs", WISH, Idempotency_Key="race") for _ in range(2 * AT_ONCE)
        ]
        paused = [pool.submit(bob.command, path, "pause", Idempotency_Key="k") for _ in range(2 * AT_ONCE)]
    made = {it.result().get_json()["request"] for it in jobs if it.result().status_code == 200}
    (request,) = pages.cardinal.events(JobRequested)
    assert made == {request.key}
    receipts = [it.result().get_json() for it in paused if it.result().status_code == 200]
    assert len({it["seq"] for it in receipts}) == len(commands(pages)) == 1
    assert [it["again"] for it in receipts].count(False) <= 1
    assert {it.result().status_code for it in (*jobs, *paused)} <= {200, 503}


def test_of_workers_that_race_for_a_card_one_gets_it(pages: Pages) -> None:
    path = path_of(pages, lying(pages))
    workers = [Program(pages, login) for login in ("alice", "bob")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        claims = [pool.submit(workers[it % 2].send, "POST", f"{path}/claim", {}) for it in range(2 * AT_ONCE)]
    statuses = [it.result().status_code for it in claims]
    assert (statuses.count(200), set(statuses) <= {200, 409, 503}) == (1, True)
    assert len(pages.cardinal.events(RunClaimed)) == 1
