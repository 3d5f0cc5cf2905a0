"""The queue of a column as people read it: who is next, who has no place, and how many there are."""

from dataclasses import replace

from sqlalchemy import Engine

from ledger.event import Event
from ledger.events.board import CardExplained, ColumnRanked
from ledger.events.preference import RunReordered
from ledger.events.related import Blocker, LinksSeen
from ledger.events.run import RunClaimed, RunRequeued
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import cards as card_queries
from ledger.queries import run_queue
from ledger.states import CardState, Priority
from tests.ledger.queries.test_card_filter import card, run
from tests.ledger.samples import BOARD, NOW, board_seen


def test_a_columns_queue_goes_by_place_and_tells_what_has_none(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        names = "abcde"
        event_store.append(
            db,
            board_seen(),
            *(card(name, n, f"Card {name}", CardState.QUEUED) for n, name in enumerate(names, 1)),
            ColumnRanked(BOARD, "In Progress", tuple(map(CardId, "edcba"))),
            *(run(f"r{n}", name, "acme/shop", by="ann") for n, name in enumerate(names, 1)),
            LinksSeen(CardId("d"), (Blocker("acme/shop", 9, "Other", "open"),), 0, ""),
            RunClaimed(RunId("r1"), 1, "w"),
            CardExplained(CardId("d"), "waits for acme/shop#9 (Other)"),
            at=NOW,
        )
    with event_store.reading(ledger) as db:
        assert run_queue.counts(db, BOARD) == {"In Progress": 4}
        head = run_queue.list_queued_in_column(db, BOARD, "In Progress", 3)
        assert run_queue.list_queued_in_column(db, BOARD, "Elsewhere", 3) == ()
        assert [queued.run_id for queued in run_queue.free(db, BOARD, "In Progress", 9)] == ["r5", "r3", "r2"]
        for columns, count in ((), 3), (("Elsewhere",), 3), (("Elsewhere", "In Progress"), 0):
            assert len(run_queue.free_elsewhere(db, BOARD, columns, 9)) == count
        first, second, _ = elsewhere = run_queue.free_elsewhere(db, BOARD, (), 9)
        assert [queued.run_id for queued in elsewhere] == ["r5", "r3", "r2"]
        assert run_queue.free_elsewhere(db, BOARD, (), 9, second.rank) == (first, second)
        assert card_queries.out_of_place(db, BOARD, {}, 9) == ()
        for states, count in ((), 5), ((CardState.QUEUED,), 0), ((CardState.DONE, CardState.DRAFT), 5):
            assert len(card_queries.out_of_place(db, BOARD, {"In Progress": states, "B": ()}, 9)) == count
    assert head[1].because == "waits for acme/shop#9 (Other)"
    assert [(it.run_id, it.in_line) for it in head] == [("r5", True), ("r4", False), ("r3", True)]
    assert (head[0].repository, head[0].number, head[0].title) == ("acme/shop", 5, "Card e")


def test_a_queue_goes_by_priority_then_by_place_whatever_happens_to_either(ledger: Engine) -> None:
    names = "abcd"

    def order() -> list[str]:
        with event_store.reading(ledger) as db:
            free = [row.run_id for row in run_queue.free(db, BOARD, "In Progress", 9)]
            shown = [it.run_id for it in run_queue.list_queued_in_column(db, BOARD, "In Progress", 9)]
            placed = sorted(free, key=lambda run_id: run_queue.queue_place(db, run_id))
        assert free == shown == placed
        return [str(run_id) for run_id in free]

    def happens(*events: Event) -> list[str]:
        with event_store.writing(ledger) as db:
            event_store.append(db, *events, at=NOW)
        return order()

    seen = [card(name, n, f"Card {name}", CardState.QUEUED) for n, name in enumerate(names, 1)]
    queued = [run(f"r{n}", name, "acme/shop", by="ann") for n, name in enumerate(names, 1)]
    queued[1] = replace(queued[1], priority=Priority.LOW)
    queued[3] = replace(queued[3], priority=Priority.HIGH)
    places = ColumnRanked(BOARD, "In Progress", tuple(map(CardId, "bac")))  # d has no place that is known
    assert happens(board_seen(), *seen, places, *queued) == ["r4", "r1", "r3", "r2"]
    assert happens(ColumnRanked(BOARD, "In Progress", tuple(map(CardId, "dcba")))) == ["r4", "r3", "r1", "r2"]
    assert happens(RunReordered(RunId("r1"), Priority.URGENT)) == ["r1", "r4", "r3", "r2"]
    assert happens(RunReordered(RunId("r1"), Priority.URGENT)) == ["r1", "r4", "r3", "r2"]
    assert happens(RunReordered(RunId("r1"), Priority.NORMAL)) == ["r4", "r3", "r1", "r2"]
    held = (RunClaimed(RunId("r4"), 1, "w"), RunReordered(RunId("r4"), Priority.LOW))
    assert happens(*held, RunRequeued(RunId("r4"), "handed_back")) == ["r3", "r1", "r4", "r2"]
