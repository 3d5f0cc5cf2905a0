"""Lists of cards: how old a card looks."""

from datetime import timedelta

import pytest

from bot.web.site.lists import age_of, card_view, file_size
from ledger.ids import BoardId, CardId, RunId
from ledger.queries.lanes import ListedCard
from ledger.states import CardState, Reason
from tests.ledger.samples import NOW


@pytest.mark.parametrize(
    ("state", "hours", "age"),
    [
        (CardState.NEEDS_INPUT, 23, ""),
        (CardState.NEEDS_INPUT, 24, "late"),
        (CardState.APPROVED, 72, "overdue"),
        (CardState.WORKING, 0.9, ""),
        (CardState.WORKING, 1, "late"),
        (CardState.QUEUED, 6, "overdue"),
        (CardState.DONE, 9_999, ""),
        (CardState.DISCUSSING, 9_999, ""),
        (CardState.DRAFT, 9_999, ""),
    ],
)
def test_what_waits_for_people_gets_days_and_what_agents_have_hours(
    state: CardState, hours: float, age: str
) -> None:
    assert age_of(state, timedelta(hours=hours)) == age


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (CardState.WORKING, "Running the tests"),
        (CardState.REVISING, "Running the tests"),
        (CardState.NEEDS_INPUT, "r1 asks: Which port?"),
        (CardState.WORK_COMPLETE, "r1 asks: Which port?"),
    ],
)
def test_a_card_at_work_shows_the_latest_line_of_its_agent(state: CardState, said: str) -> None:
    listed = ListedCard(
        CardId("PVTI_1"), "acme/shop", 1, "Say hello", "Build", state, "r1 asks: Which port?", NOW, "alice",
        RunId("r1"), "alice", 0.0, None, BoardId("PVT_1"), "",
    )  # fmt: skip
    assert card_view(listed._replace(last_line="Running the tests"), NOW).why == said
    assert card_view(listed, NOW).why == "r1 asks: Which port?"


@pytest.mark.parametrize("reason", Reason)
def test_only_a_card_that_a_failure_brought_tells_at_rest_why_it_is_there(reason: Reason) -> None:
    listed = ListedCard(
        CardId("PVTI_1"), "acme/shop", 1, "Say hello", "Triage", CardState.DRAFT, "r1 failed", NOW, "alice",
        RunId("r1"), "alice", 0.0, None, BoardId("PVT_1"), "", reason=reason,
    )  # fmt: skip
    assert card_view(listed, NOW).failed == (reason is Reason.RUN_FAILED)


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 B"), (40, "40 B"), (1_500, "2 kB"), (1_500_000, "1.5 MB"), (2_000_000_000, "2,000.0 MB")],
)
def test_a_small_file_has_a_size_too(size: int, said: str) -> None:
    assert file_size(size) == said
