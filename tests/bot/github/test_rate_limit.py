"""What may be spent on GitHub, and who has to wait when it gets short."""

import multiprocessing
import os
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import ClassVar

import pytest

from bot.github.client import Hub
from bot.github.errors import MAX_WAIT_S, RateLimitedError, UnavailableError
from bot.github.rate_limit import (
    AWAY_S,
    CONTENTS_PER_HOUR,
    CONTENTS_PER_MINUTE,
    POINTS_PER_MINUTE,
    SHARES,
    ApiBudget,
    RateUsage,
)
from bot.github.shared_records import FileRecords, Result, Update
from bot.github.transport import READ, ApiCall, CallSlots, Wire
from bot.system.config import Config
from tests.bot.github.conftest import STARTED, Clock, Scripted
from tests.warm import context

QUESTION, REPORT, FACE, TICKER = range(4)


def headers(
    remaining: int, *, limit: int = 5000, reset_in_s: int = 600, resource: str = "core"
) -> dict[str, str]:
    return {
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-reset": str(int(STARTED.timestamp()) + reset_in_s),
        "x-ratelimit-resource": resource,
    }


@pytest.fixture
def budget(clock: Clock, tmp_path: Path) -> ApiBudget:
    return ApiBudget(FileRecords(tmp_path / "shared", clock), "App 7 at acme")


def test_nobody_waits_while_there_is_plenty(budget: ApiBudget) -> None:
    budget.learn(headers(4999))
    assert [budget.spare(priority) for priority in range(4)] == [0, 0, 0, 0]


def test_when_contents_get_short_progress_waits_before_faces_before_reports_before_questions(
    budget: ApiBudget,
) -> None:
    waiting = []
    for _ in range(CONTENTS_PER_MINUTE):
        assert budget.take(points=0, creates=True) == 0
        waiting.append(tuple(budget.spare(priority) > 0 for priority in range(4)))
    first = [waiting.index(next(seen for seen in waiting if seen[priority])) for priority in range(4)]
    assert first == sorted(first, reverse=True)
    assert len(set(first)) == 4
    assert waiting[-1] == (True, True, True, True)
    assert waiting[-2][QUESTION] is False


def test_the_wait_ends_when_the_oldest_contents_are_a_minute_old(budget: ApiBudget, clock: Clock) -> None:
    for _ in range(CONTENTS_PER_MINUTE):
        assert budget.take(points=0, creates=True) == 0
        clock.forward(0.5)
    wait_s = budget.spare(QUESTION)
    assert 0 < wait_s <= 60
    clock.forward(wait_s)
    assert budget.spare(QUESTION) == 0


def test_the_hour_is_kept_too(budget: ApiBudget, clock: Clock) -> None:
    for _ in range(CONTENTS_PER_HOUR):
        assert budget.take(points=0, creates=True) == 0
        clock.forward(2)
    wait_s = budget.spare(QUESTION)
    assert 0 < wait_s <= 3600
    clock.forward(wait_s)
    assert budget.spare(QUESTION) == 0


def test_each_hourly_allowance_makes_them_wait_until_its_reset(budget: ApiBudget, clock: Clock) -> None:
    budget.learn(headers(5000))
    budget.learn(headers(0, reset_in_s=90, resource="graphql"))
    assert budget.spare(QUESTION) == 90
    budget.learn(headers(int(5000 * (1 - SHARES[FACE])) + 1, resource="graphql"))
    assert (budget.spare(FACE), budget.spare(TICKER)) == (0, 600)
    clock.forward(601)
    assert budget.spare(TICKER) == 0


@pytest.mark.parametrize("reset", ["1795000000000", "9" * 19, "9" * 5000, "²"])
def test_no_reset_that_a_proxy_tells_stops_a_board_for_long(
    budget: ApiBudget, clock: Clock, reset: str
) -> None:
    budget.learn({**headers(0), "x-ratelimit-reset": reset})
    assert budget.barred_until_s() <= clock().timestamp() + MAX_WAIT_S


def test_the_policy_can_allow_less_than_github(budget: ApiBudget) -> None:
    budget.learn(headers(4000))
    assert budget.spare(QUESTION, points_per_hour=2500) == 0
    assert budget.spare(QUESTION, points_per_hour=1000) == 600


def test_a_reached_limit_closes_it_for_everybody(budget: ApiBudget, clock: Clock) -> None:
    budget.close(30)
    budget.close(10)
    assert budget.spare(QUESTION) == 30
    clock.forward(30)
    assert budget.spare(QUESTION) == 0


def test_a_call_beyond_what_a_minute_allows_is_neither_counted_nor_sent(
    budget: ApiBudget, clock: Clock
) -> None:
    for _ in range(POINTS_PER_MINUTE // 5):
        assert budget.take(points=5, creates=False) == 0
    assert budget.take(points=1, creates=False) == 60
    clock.forward(60)
    assert budget.take(points=POINTS_PER_MINUTE - 4, creates=False) == 0
    assert budget.take(points=5, creates=False) == 60, "four points are left"
    assert budget.take(points=4, creates=False) == 0


def test_reads_go_on_where_contents_are_used_up(budget: ApiBudget) -> None:
    for _ in range(CONTENTS_PER_MINUTE):
        assert budget.take(points=0, creates=True) == 0
    assert budget.take(points=5, creates=True) == 60
    assert budget.take(points=1, creates=False) == 0


def test_a_minute_is_whole_wherever_in_a_second_it_begins(budget: ApiBudget, clock: Clock) -> None:
    clock.forward(0.99)
    assert budget.take(points=POINTS_PER_MINUTE, creates=False) == 0
    clock.forward(59.5)
    assert budget.take(points=1, creates=False) > 0


def test_an_answer_that_comes_late_gives_no_calls_back(budget: ApiBudget) -> None:
    budget.learn(headers(10))
    budget.learn(headers(4000))
    budget.learn(headers(4500, reset_in_s=-3000))
    assert budget.read_usage()[0].windows["core"].remaining == 10
    budget.learn(headers(4999, reset_in_s=4200))
    assert budget.read_usage()[0].windows["core"].remaining == 4999


def test_what_was_spent_in_the_future_is_forgotten_when_the_clock_is_put_back(
    budget: ApiBudget, clock: Clock
) -> None:
    clock.forward(5 * 3600)
    budget.take(points=POINTS_PER_MINUTE, creates=False)
    budget.close(600)
    budget.learn(headers(0, reset_in_s=6 * 3600))
    clock.forward(-5 * 3600)
    assert (budget.barred_until_s(), budget.spare(QUESTION), take(budget, "core")) == (0, 0, 0)


def test_a_call_that_gets_no_place_costs_nothing(config: Config, budget: ApiBudget, tmp_path: Path) -> None:
    slots = CallSlots(tmp_path / "calls", most=1, wait_s=0.05)
    wire = Wire(config.github_url, lambda _: "t", Clock(), budget, 1, places=slots)
    with slots.hold("x"), pytest.raises(UnavailableError, match="1 calls are under way"):
        wire.send(ApiCall("GET", "/x", READ))
    assert budget.read_usage()[0].points == {}


def test_the_last_calls_of_an_hour_are_taken_once_by_all(budget: ApiBudget, clock: Clock) -> None:
    budget.learn(headers(2, reset_in_s=90, resource="graphql"))
    assert [take(budget, "graphql") for _ in range(3)] == [0, 0, 90]
    assert take(budget, "core") == 0
    budget.learn(headers(1, reset_in_s=90, resource="graphql"))  # an answer to the first of them
    assert take(budget, "graphql") == 90
    clock.forward(90)
    assert take(budget, "graphql") == 0


def take(budget: ApiBudget, resource: str) -> float:
    return budget.take(points=1, creates=False, resource=resource)


@pytest.mark.parametrize("off_s", [30, -30])
def test_a_limit_lasts_as_long_on_a_host_whose_clock_is_off(
    config: Config, scripted: Scripted, clock: Clock, off_s: float
) -> None:
    hub = Hub(config, Clock(STARTED + timedelta(seconds=off_s)), records=FileRecords(config.home, clock))
    scripted.tokens()
    told = headers(0, reset_in_s=120)
    scripted.answer("GET", "/x", {"message": "API rate limit exceeded"}, status=403, headers=told)
    with pytest.raises(RateLimitedError):
        hub.rest("GET", "/x")
    assert hub.budget.spare(QUESTION) == 120


class Leaving(FileRecords):
    """Records that are away once `/x` was asked."""

    asked: ClassVar[Callable[[], object]]

    def change(self, name: str, update: Update[Result]) -> Result:
        if name.startswith("budget") and type(self).asked():
            raise UnavailableError("GitHub's shared budget", 0, "away")
        return FileRecords.change(self, name, update)


def test_an_answer_counts_though_the_records_went_meanwhile(
    config: Config, scripted: Scripted, clock: Clock
) -> None:
    Leaving.asked = lambda: scripted.asked("/x")
    hub = Hub(config, clock, records=Leaving(config.home, clock))
    scripted.tokens()
    scripted.answer("POST", "/x", {"id": 1}, status=201, headers=headers(4000))
    assert hub.rest("POST", "/x", body={}).body == {"id": 1}
    assert hub.budget.spare(QUESTION) == AWAY_S


def spend(folder: Path, times: int, barrier: Barrier, granted: Connection) -> None:
    """Take that often, together with the others, and send how often it was granted."""
    budget = ApiBudget(FileRecords(folder, Clock()), "App 7 at acme")
    barrier.wait(60)
    granted.send(sum(budget.take(points=0, creates=True) == 0 for _ in range(times)))


def test_processes_of_one_machine_share_it(clock: Clock, tmp_path: Path) -> None:
    """The record alone says nothing: updates that were lost are not in it."""
    barrier, reads = context().Barrier(4), list[Connection]()
    for _ in range(4):
        read, granted = context().Pipe(duplex=False)
        context().Process(target=spend, args=(tmp_path / "run", 60, barrier, granted)).start()
        reads.append(read)
    assert sum(read.recv() for read in reads if read.poll(300)) == CONTENTS_PER_MINUTE, "of 240 wanted"
    rate_usage, _ = ApiBudget(FileRecords(tmp_path / "run", clock), "App 7 at acme").read_usage()
    assert sum(rate_usage.contents.values()) == CONTENTS_PER_MINUTE


def test_each_installation_is_counted_for_itself_by_whichever_process(clock: Clock, tmp_path: Path) -> None:
    def at(owner: str) -> ApiBudget:
        return ApiBudget(FileRecords(tmp_path, clock), f"App 7 at {owner}")

    api_budget, other = at("acme"), at("umbrella")
    api_budget.learn(headers(0, reset_in_s=90))
    api_budget.close(30)
    assert other.read_usage()[0] == RateUsage()
    assert other.spare(TICKER) == 0
    other.learn(headers(4000))
    assert at("acme").spare(QUESTION) == 90
    assert at("umbrella").read_usage()[0].windows["core"].remaining == 4000


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"windows": 1}', "\x00" * 10])
def test_a_torn_record_only_forgets(budget: ApiBudget, tmp_path: Path, text: str) -> None:
    budget.close(1)
    for path in (tmp_path / "shared").iterdir():
        path.write_text(text)
    assert budget.read_usage()[0] == RateUsage()
    budget.learn(headers(1))
    assert budget.read_usage()[0].windows["core"].remaining == 1


def test_old_counts_are_dropped(budget: ApiBudget, clock: Clock) -> None:
    for _ in range(200):
        assert budget.take(points=1, creates=True) == 0
        clock.forward(100)
    rate_usage, _ = budget.read_usage()
    assert (len(rate_usage.points), len(rate_usage.contents)) == (1, 36)


def test_a_limit_of_unknown_length_is_waited_out_ever_longer(budget: ApiBudget, clock: Clock) -> None:
    for wait_s in (60, 120, 240, 480, 900, 900):
        budget.close(60, exact=False)
        assert budget.spare(QUESTION) == wait_s
        clock.forward(wait_s)
    clock.forward(121)
    budget.close(60, exact=False)
    assert budget.spare(QUESTION) == 60
    clock.forward(61)
    budget.close(7)
    assert budget.spare(QUESTION) == 7


def test_calls_beyond_the_cap_wait_for_a_place_and_a_dead_process_leaves_its_own(tmp_path: Path) -> None:
    slots = CallSlots(tmp_path / "calls", most=2, wait_s=0.1)
    refused = pytest.raises(UnavailableError, match="2 calls are under way here")
    with slots.hold("a"), slots.hold("b"), refused, slots.hold("c"):
        pass
    holder = multiprocessing.get_context("fork").Process(target=_hold_and_die, args=(slots,))
    holder.start()
    holder.join()
    with slots.hold("a"), slots.hold("b"):
        pass


def _hold_and_die(places: CallSlots) -> None:
    with places.hold("x"):
        os._exit(1)


def test_a_limit_that_is_met_for_weeks_is_waited_for_as_long_as_before(
    budget: ApiBudget, clock: Clock
) -> None:
    for _ in range(1_100):
        budget.close(60.0, exact=False)
        clock.forward(budget.remaining_closure_s())
    budget.close(60.0, exact=False)
    assert budget.remaining_closure_s() == 900


def test_while_a_limit_lasts_nobody_asks(hub: Hub, scripted: Scripted, config: Config, clock: Clock) -> None:
    scripted.tokens()
    scripted.answer("GET", "/x", {"message": "Slow"}, status=429, headers={"retry-after": "30"})
    with pytest.raises(RateLimitedError):
        hub.rest("GET", "/x")
    clock.forward(20)
    for own_hub in (hub, Hub(config, clock)):  # another process of this home
        with pytest.raises(RateLimitedError, match="not asked") as caught:
            own_hub.rest("GET", "/y")
        assert caught.value.retry_after_s == 10
        with pytest.raises(RateLimitedError, match="not asked"):
            own_hub.graphql("query Q { x }", {})
    clock.forward(10)
    scripted.answer("GET", "/y", {"ok": True})
    assert hub.rest("GET", "/y").body == {"ok": True}


def test_while_a_limit_lasts_nobody_asks_for_a_token_either(
    hub: Hub, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens(lasting_s=600)
    scripted.answer("GET", "/x", {"message": "Slow"}, status=429, headers={"retry-after": "3000"})
    with pytest.raises(RateLimitedError):
        hub.rest("GET", "/x")
    clock.forward(1200)  # the token is over
    asked = len(scripted.mock.calls)
    with pytest.raises(RateLimitedError) as caught:
        hub.rest("GET", "/y")
    assert caught.value.retry_after_s == 1800
    assert len(scripted.mock.calls) == asked


def test_while_a_limit_of_the_app_itself_lasts_nothing_is_asked_as_the_app(
    hub: Hub, scripted: Scripted, config: Config, clock: Clock
) -> None:
    spent = headers(0, reset_in_s=30)
    scripted.answer("GET", "/app/hook/deliveries", {"message": "Slow"}, status=403, headers=spent)
    with pytest.raises(RateLimitedError):
        hub.as_app("GET", "/app/hook/deliveries")
    clock.forward(20)
    for own_hub in (hub, Hub(config, clock), hub.at("globex")):
        with pytest.raises(RateLimitedError, match="not asked"):
            own_hub.as_app("GET", "/app/hook/deliveries")
        with pytest.raises(RateLimitedError, match="not asked"):
            own_hub.installation()
    clock.forward(11)
    scripted.answer("GET", "/orgs/acme/installation", {"id": 7})
    assert hub.installation() == {"id": 7}


def test_a_call_takes_of_the_hour_that_it_is_counted_in(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("GET", "/y", {"ok": True})
    hub.budget.learn(headers(0, resource="graphql"))
    assert hub.rest("GET", "/y").body == {"ok": True}
    with pytest.raises(RateLimitedError, match="not asked"):
        hub.graphql("query Q { x }", {})
