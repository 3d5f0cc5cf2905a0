"""Deliveries that GitHub could not hand over are found and asked for again, once for each."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from bot.github import failed_deliveries
from bot.github.client import Hub
from bot.system.config import Config
from ledger.ids import DeliveryId
from tests.bot.github.conftest import STARTED, Clock, Scripted

PATH = failed_deliveries.PATH


def attempt(number: int, guid: str, status: int) -> dict[str, object]:
    at = (STARTED - timedelta(seconds=1_000 - number)).isoformat().replace("+00:00", "Z")
    return {"id": number, "guid": guid, "status_code": status, "event": "issues", "delivered_at": at}


@pytest.mark.parametrize(
    ("attempts", "failed"),
    [
        ([], []),
        ([attempt(1, "a", 202)], []),
        ([attempt(3, "c", 500), attempt(2, "b", 0), attempt(1, "a", 202)], [("b", 2), ("c", 3)]),
        ([attempt(2, "a", 202), attempt(1, "a", 500)], []),
        ([attempt(2, "a", 502), attempt(1, "a", 202)], []),
        ([attempt(2, "a", 502), attempt(1, "a", 0)], [("a", 2)]),
    ],
)
def test_only_what_was_never_accepted_failed(
    hub: Hub, scripted: Scripted, attempts: Iterable[dict[str, object]], failed: list[tuple[str, int]]
) -> None:
    scripted.answer("GET", PATH, list(attempts))
    assert [
        (one.delivery_id, one.attempt_id) for one in failed_deliveries.list_failed(hub, STARTED)
    ] == failed


def answer_pages(scripted: Scripted, *pages: list[dict[str, object]]) -> None:
    """Answer with pages, each but the last with the address of the next one."""
    for number, page in enumerate(pages, start=1):
        more = f'<https://api.github.com{PATH}?per_page=100&cursor=v1_{number}>; rel="next"'
        scripted.answer("GET", PATH, page, headers={"Link": more} if number < len(pages) else {})


def test_failures_are_looked_for_further_back_as_long_as_there_are_any(hub: Hub, scripted: Scripted) -> None:
    lost = [[attempt(900 - n, f"g{n}", 502) for n in range(first, first + 100)] for first in (0, 100)]
    answer_pages(scripted, *lost, [attempt(700, "last", 500), attempt(699, "good", 202)])
    found_failed_deliveries = failed_deliveries.list_failed(hub, STARTED)
    assert len(found_failed_deliveries) == 201
    assert found_failed_deliveries[0].delivery_id == "last"
    assert [call.params.get("cursor") for call in scripted.asked(PATH)] == [None, "v1_1", "v1_2"]


def test_a_page_of_good_ones_ends_the_search_unless_it_is_of_the_last_minutes(
    hub: Hub, scripted: Scripted
) -> None:
    good = [attempt(900, "a", 202)]
    answer_pages(scripted, good, [attempt(800, "b", 202)], [])
    assert failed_deliveries.list_failed(hub, STARTED - timedelta(seconds=150)) == ()
    assert len(scripted.asked(PATH)) == 2
    scripted.mock.reset()


def test_a_failed_delivery_is_asked_for_as_the_app(hub: Hub, scripted: Scripted) -> None:
    scripted.answer("GET", PATH, [attempt(5, "a", 500)])
    scripted.answer("POST", f"{PATH}/5/attempts", {}, status=202)
    (failed_delivery,) = failed_deliveries.recover(hub, STARTED, lambda _: frozenset())
    assert failed_delivery.delivery_id == "a"
    assert len(scripted.asked(f"{PATH}/5/attempts")) == 1
    assert scripted.asked(PATH)[0].params["status"] == "failure"


def test_a_request_is_not_repeated_by_another_host_or_before_its_attempt_was_made(
    hub: Hub, scripted: Scripted, config: Config, clock: Clock
) -> None:
    scripted.answer("GET", PATH, [attempt(5, "a", 500)])
    scripted.answer("POST", f"{PATH}/5/attempts", {}, status=202)
    for wait_s, requested in ((0, 1), (29, 1), (1, 2), (59, 2), (1, 3), (7_200, 4)):
        clock.forward(wait_s)
        for own_hub in (hub, Hub(config, clock)):
            failed_deliveries.recover(own_hub, clock(), lambda _: frozenset())
        assert len(scripted.asked(f"{PATH}/5/attempts")) == requested


def test_a_delivery_that_came_meanwhile_is_not_asked_for_and_ends_the_search(
    hub: Hub, scripted: Scripted
) -> None:
    more = f'<https://api.github.com{PATH}?per_page=100&cursor=v1_4>; rel="next"'
    scripted.answer("GET", PATH, [attempt(5, "a", 500)], headers={"Link": more})
    assert failed_deliveries.list_failed(hub, STARTED, frozenset) == ()
    assert len(scripted.asked(PATH)) == 1


@pytest.mark.parametrize(
    ("attempts", "age", "due"),
    [
        (1, timedelta(), True),
        (2, timedelta(seconds=29), False),
        (2, timedelta(seconds=30), True),
        (5, timedelta(seconds=239), False),
        (5, timedelta(seconds=240), True),
        (9, timedelta(minutes=9), False),
        (9, timedelta(minutes=10), True),
        (40, timedelta(minutes=10), True),  # as after hours without a receiver
        (5_000, timedelta(days=1), False),
        (1, timedelta(days=3), False),
    ],
)
def test_a_delivery_is_asked_for_ever_more_slowly_and_not_for_ever(
    attempts: int, age: timedelta, due: bool
) -> None:
    failed_delivery = failed_deliveries.FailedDelivery(DeliveryId("a"), 1, "issues", STARTED - age, attempts)
    assert failed_delivery.is_due(STARTED) is due


def test_one_that_github_refuses_to_repeat_keeps_no_other_back(hub: Hub, scripted: Scripted) -> None:
    lost = [attempt(9 - n, guid, 500) for n, guid in enumerate("dcba")]
    scripted.answer("GET", PATH, lost)
    for number, status in ((6, 404), (7, 422), (8, 202), (9, 202)):
        scripted.answer("POST", f"{PATH}/{number}/attempts", {"message": "no"}, status=status)
    deliveries = failed_deliveries.recover(hub, STARTED, lambda _: frozenset())
    assert [failed_delivery.delivery_id for failed_delivery in deliveries] == ["c", "d"]


def test_a_cursor_is_sent_as_it_was_given(hub: Hub, scripted: Scripted) -> None:
    more = f'<https://api.github.com{PATH}?per_page=100&cursor=v1_a%2Bb%3D%3D>; rel="next"'
    scripted.answer("GET", PATH, [attempt(900, "a", 500)], headers={"Link": more})
    scripted.answer("GET", PATH, [])
    failed_deliveries.list_failed(hub, STARTED)
    assert scripted.asked(PATH)[1].params["cursor"] == "v1_a+b=="


def test_accepted_deliveries_that_the_ledger_lost_are_requested_and_older_ones_are_not(
    hub: Hub, scripted: Scripted
) -> None:
    first = [attempt(900, "new", 202), attempt(899, "known", 202)]
    answer_pages(scripted, first, [attempt(600, "lost", 202), attempt(400, "old", 202)], [])
    for number in (600, 900):
        scripted.answer("POST", f"{PATH}/{number}/attempts", {}, status=202)
    since, delivery_ids = STARTED - timedelta(seconds=500), frozenset({DeliveryId("known")})
    assert failed_deliveries.recover_accepted(hub, STARTED, lambda ids: delivery_ids & frozenset(ids), since)
    requested = [call.request.path_url for call in scripted.mock.calls if call.request.method == "POST"]
    assert requested == [f"{PATH}/600/attempts", f"{PATH}/900/attempts"]
    assert [call.params["status"] for call in scripted.asked(PATH)] == ["success", "success"]
    scripted.mock.reset()
