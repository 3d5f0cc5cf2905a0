"""What a filter lists, for whom, in which order; and what it offers to choose."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from ledger.events.access import RepositoryMoved
from ledger.events.board import (
    CardArchived,
    CardAssigned,
    CardConverted,
    CardExplained,
    CardSeen,
    ColumnRanked,
)
from ledger.events.branch import RunChosen
from ledger.events.run import RunEnded, RunQueued
from ledger.events.subscription import CardSubscribed
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import ALL, CardFilter, CardScope, choices
from ledger.queries.lanes import Asked, Lane, LanePart
from ledger.states import CardState, Ending, Reason, RunKind
from ledger.views import cards, runs
from tests.ledger.samples import BOARD, NOW, board_seen

C = CardState
EVERYTHING = CardScope(BOARD)
SHOP = CardScope(BOARD, frozenset({"acme/shop"}), drafts=False)


def card(
    name: str,
    number: int | None,
    title: str,
    state: CardState,
    by: str = "",
    *labels: str,
    repository: str = "",
) -> CardSeen:
    place = None if number is None else repository or "acme/shop"
    return CardSeen(
        CardId(name), BOARD, f"I_{name}", place, number, title, "", "ann", "In Progress", state, labels, by=by
    )


@pytest.fixture
def db(ledger: Engine) -> Iterator[Connection]:
    """One column, ranked from a to f, with a secret card, one that works in secret, and a draft."""
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            board_seen(),
            card("a", 1, "Baskets over 100 % off", C.QUEUED, "ann", "bug", "area/till"),
            card("b", 17, "Größe ÜBER alles", C.FAILED, "Bob", "Bug"),
            card("c", 117, "A basket_of goods", C.WORKING, "ann", 'x"bug', "no bug"),
            card("d", 4, "The secret", C.NEEDS_INPUT, "eve", "hidden", repository="acme/secret"),
            card("e", 5, "Works in secret", C.NEEDS_INPUT, "ann", "till"),
            card("f", None, "An idea", C.DRAFT, "fay", "draft"),
            card("g", 7, "Gone basket", C.FAILED, "gus", "gone"),
            CardAssigned(CardId("a"), ("ann", "dora-2")),
            CardAssigned(CardId("b"), ("ann-2", "dora")),
            CardAssigned(CardId("c"), ("dora",)),
            CardAssigned(CardId("c"), ()),
            CardAssigned(CardId("d"), ("spy",)),
            CardArchived(CardId("g"), "archived", "gus"),
            run("r1", "c", "acme/shop", by="cid"),
            run("r2", "e", "acme/secret", by="eve"),
            CardSubscribed(CardId("c"), "Ann", RunId("")),
            CardSubscribed(CardId("b"), "bob", RunId("")),
            ColumnRanked(BOARD, "In Progress", tuple(map(CardId, "abcdef"))),
            at=NOW,
        )
        yield db


def run(name: str, card_id: str, repository: str, *, by: str) -> RunQueued:
    return RunQueued(
        RunId(name),
        CardId(card_id),
        1,
        RunKind.FIRST,
        "In Progress",
        repository,
        "b",
        "scripted",
        by,
        "",
        "{}",
        True,
    )


def names(listed: tuple[lanes.ListedCard, ...]) -> str:
    return "".join(listed_card.card_id for listed_card in listed)


def total(by_column: dict[str | None, dict[CardState, int]]) -> int:
    return sum(sum(by_state.values()) for by_state in by_column.values())


CASES = (
    (ALL, "debacf"),  # who needs somebody first, then from the top
    (CardFilter(state=C.FAILED), "b"),
    (CardFilter(repositories=("acme/secret",)), "de"),  # the issue's, or that of the work
    (CardFilter(people=("ann",)), "eac"),
    (CardFilter(people=("cid", "eve")), "dec"),  # who asked for the run, too
    (CardFilter(people=("dora",)), "b"),  # and to whom the issue is assigned
    (CardFilter(people=("ann-2", "dora-2")), "ba"),
    (CardFilter(labels=("bug", "Bug")), "ba"),
    (CardFilter(labels=('x"bug',)), "c"),
    (CardFilter(labels=("area/till",)), "a"),
    (CardFilter(labels=("a_ea%till",)), ""),
    (CardFilter(words=("BASKET",)), "ac"),
    (CardFilter(words=("100", "%")), "a"),
    (CardFilter(words=("basket_of",)), "c"),
    (CardFilter(words=("größe", "über")), "b"),
    (CardFilter(words=("17",)), "b"),
    (CardFilter(words=("#17",)), "b"),
    (CardFilter(words=("Shop#117",)), "c"),
    (CardFilter(subscriber="aNN"), "c"),
    (CardFilter(agents=("scripted",)), "ec"),  # that of the newest run
    (CardFilter(words=("1' OR '1'='1",)), ""),
    (CardFilter(C.QUEUED, ("acme/shop",), ("ann",), ("bug",), ("basket",)), "a"),
    (CardFilter(C.QUEUED, people=("Bob",)), ""),
    (CardFilter(C.ARCHIVED), "g"),  # which no other filter lists
    (CardFilter(C.ARCHIVED, people=("ann",)), ""),
)


def test_a_filter_lists_the_cards_that_have_all_of_it(db: Connection) -> None:
    for card_filter, listed in CASES:
        assert (names(lanes.of_column(db, [EVERYTHING], "In Progress", card_filter)), card_filter) == (
            listed,
            card_filter,
        )
        assert total(lanes.lane_counts(db, [EVERYTHING], card_filter)) == len(listed)
        newest = lanes.newest(db, [EVERYTHING], card_filter, limit=9)
        assert sorted(names(newest)) == sorted(listed)


def test_what_may_not_be_read_is_not_listed_counted_or_offered(db: Connection) -> None:
    for card_filter in (ALL, CardFilter(words=("secret",)), CardFilter(repositories=("acme/secret",))):
        seen = "bac" if card_filter is ALL else ""
        assert names(lanes.of_column(db, [SHOP], "In Progress", card_filter)) == seen
        assert total(lanes.lane_counts(db, [SHOP], card_filter)) == len(seen)
    offered = choices(db, [SHOP])
    assert offered.repositories == ("acme/shop",)
    assert offered.people == ("ann", "ann-2", "Bob", "cid", "dora", "dora-2")
    assert offered.labels == ("area/till", "Bug", "bug", "no bug", 'x"bug')
    everything = choices(db, [EVERYTHING])
    assert {"acme/secret", "eve", "fay", "spy", "hidden", "draft"} <= {
        *everything.repositories, *everything.people, *everything.labels,
    }  # fmt: skip
    assert not {"gus", "gone"} & {*everything.people, *everything.labels}
    gone = choices(db, [EVERYTHING], archived=True)
    assert (gone.people, gone.labels) == (("gus",), ("gone",))
    assert not lanes.lane_totals(db, [])


def in_lane(db: Connection, lane: Lane, login: str = "", **part: Any) -> str:
    """Return the names of the lane's cards, the person's own in capitals."""
    (listed,) = lanes.list_parts(db, [EVERYTHING], [LanePart(lane, **{"limit": 9, **part})], login=login)
    return "".join(it.card_id.upper() if it.is_own(login) else it.card_id for it in listed)


def test_a_lane_has_ones_own_first_and_goes_on_where_the_page_before_ended(db: Connection) -> None:
    needs = Lane.NEEDS_INPUT
    assert [in_lane(db, needs, login) for login in ("ANN", "fay", "", "eve")] == ["Ed", "de", "de", "DE"]
    assert [in_lane(db, needs, "ann", limit=1, offset=offset) for offset in range(3)] == ["E", "d", ""]
    assert [in_lane(db, lane) for lane in (Lane.WORKING, Lane.QUEUED)] == ["c", "a"]


def test_the_cards_that_wait_for_a_person_are_counted_once_and_have_the_first_lanes(db: Connection) -> None:
    totals = lanes.lane_totals(db, [EVERYTHING])
    waiting = [lane for lane in lanes.Lane if lane in lanes.WAITING_LANES]
    assert waiting == list(lanes.Lane)[: len(waiting)]
    assert totals == {lane: len(listed) for lane in Lane if (listed := in_lane(db, lane))}
    assert sum(totals.get(lane, 0) for lane in waiting) == lanes.count_waiting_cards(db, [EVERYTHING]) == 3
    assert (
        lanes.count_waiting_cards(db, [SHOP])
        == lanes.count_waiting_cards(db, [EVERYTHING], CardFilter(C.FAILED))
        == 1
    )


def test_a_failure_that_was_moved_to_the_inbox_still_waits_for_a_person(db: Connection) -> None:
    event_store.append(db, CardExplained(CardId("f"), "r9 failed; drag it", Reason.RUN_FAILED), at=NOW)
    totals, waits = lanes.lane_totals(db, [EVERYTHING]), lanes.waiting_by_state(db, [EVERYTHING])
    assert (in_lane(db, Lane.FAILED), totals[Lane.FAILED]) == ("bf", 2)
    assert (waits[C.FAILED], C.DRAFT in waits, lanes.count_waiting_cards(db, [EVERYTHING])) == (2, False, 4)
    assert lanes.lane_of(C.DRAFT, Reason.RUN_FAILED) is Lane.FAILED
    assert lanes.lane_of(C.DRAFT, Reason.OTHER) is None


def test_a_card_is_an_assignees_own_in_its_lane(db: Connection) -> None:
    assert [in_lane(db, Lane.FAILED, login) for login in ("Dora", "bob", "ann")] == ["B", "B", "b"]
    ((listed_card,),) = lanes.list_parts(db, [EVERYTHING], [LanePart(Lane.FAILED, 9)])
    assert listed_card.people == ("Bob", "ann-2", "dora")


def test_what_only_others_may_answer_stands_in_a_lane_of_its_own_unless_it_is_ones_own(
    db: Connection,
) -> None:
    asked = lanes.count_asked(db, [EVERYTHING], ALL, "spy")
    assert asked == {Asked(BOARD, "acme/shop", ""): 1}  # the other one is the spy's own
    closed = frozenset(asked)
    assert in_lane(db, Lane.NEEDS_INPUT, "spy", closed=closed) == "D"
    assert in_lane(db, Lane.NEEDS_OTHERS, "spy", closed=closed) == "e"


def test_a_card_is_judged_by_its_newest_run_whatever_becomes_of_that(db: Connection) -> None:
    card_id, settings = CardId("c"), '{"reviewers": ["rita"]}'
    beside = replace(run("r3", "c", "acme/secret", by="eve"), kind=RunKind.RERUN, settings=settings)
    failed = RunEnded(RunId("r3"), Ending.FAILED, "agent_error", "", "queued", cause="key")
    for happened, shown in (
        (beside, ("acme/shop", "cid", (), "")),
        (failed, ("acme/shop", "cid", (), "")),
        (RunChosen(card_id, RunId("r3"), "b", RunId("r1"), "ann"), ("acme/secret", "eve", ("rita",), "key")),
        (
            CardConverted(card_id, "I_c", "acme/new", 117, "acme/secret"),
            ("acme/new", "eve", ("rita",), "key"),
        ),
        (RepositoryMoved(BOARD, "acme/new", "acme/last"), ("acme/last", "eve", ("rita",), "key")),
        (
            replace(beside, run_id=RunId("r4"), kind=RunKind.RETRY, door="page"),
            ("acme/secret", "eve", (), ""),
        ),
        (replace(failed, run_id=RunId("r4")), ("acme/secret", "eve", (), "key")),
    ):
        event_store.append(db, happened, at=NOW)
        row = cards.get(db, card_id)
        assert row is not None
        assert row.run_id is not None
        newest = runs.get(db, row.run_id)
        assert newest is not None
        assert (row.work_repository, row.asked_by, row.reviewers, row.cause) == shown
        assert (newest.repository, newest.by, newest.cause) == (shown[0], shown[1], shown[3])
