"""What stands still on a board, for whom, and since when."""

from datetime import datetime, timedelta

from sqlalchemy import Engine

from ledger.events.board import CardArchived, WorkStalled
from ledger.events.run import RunClaimed, RunParked, RunStepped
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import standstill
from ledger.queries.card_filter import CardScope
from ledger.queries.standstill import NO_STEP_AFTER, UNANSWERED_AFTER, Standstill, StandstillKind
from ledger.states import CardState, RunState
from tests.ledger.queries.test_card_filter import card, run
from tests.ledger.samples import BOARD, NOW, board_seen

ALL = CardScope(BOARD)


def things(ledger: Engine, now: datetime, scope: CardScope = ALL) -> list[Standstill]:
    with event_store.reading(ledger) as db:
        return [it for sort in standstill.board_standstills(db, scope, now, 9) for it in sort.oldest]


def test_runs_that_nobody_moves_are_found_in_what_a_reader_may_see(ledger: Engine) -> None:
    silent, parked = RunId("r2"), RunId("r3")
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            board_seen(),
            card("a", 1, "Waits", CardState.QUEUED),
            card("b", 2, "Works", CardState.WORKING),
            card("c", 3, "Asks", CardState.NEEDS_INPUT, repository="acme/secret"),
            run("r1", "a", "acme/shop", by="ann"),
            run("r2", "b", "acme/shop", by="ann"),
            run("r3", "c", "acme/secret", by="ann"),
            RunClaimed(silent, 1, "w"),
            RunStepped(silent, RunState.CLAIMED, RunState.PREPARING),
            RunClaimed(parked, 1, "w"),
            RunParked(parked, "question"),
            WorkStalled(BOARD, 1),
            at=NOW,
        )
    card_scope = CardScope(BOARD, frozenset({"acme/shop"}), drafts=False)
    late = NOW + max(NO_STEP_AFTER, UNANSWERED_AFTER) + timedelta(seconds=1)
    assert {it.kind: it.run_id for it in things(ledger, late)} == {
        StandstillKind.NO_WORKER: "r1",
        StandstillKind.NO_STEP: "r2",
        StandstillKind.UNANSWERED: "r3",
    }
    assert {it.kind for it in things(ledger, late, card_scope)} == {
        StandstillKind.NO_WORKER,
        StandstillKind.NO_STEP,
    }
    assert things(ledger, NOW) == []


def test_runs_of_archived_cards_stand_still_too_and_what_is_left_out_is_counted(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(db, board_seen(), at=NOW)
        for number in range(1, 6):
            name, run_id = str(number), RunId(f"r{number}")
            event_store.append(
                db,
                card(name, number, "Works", CardState.WORKING),
                run(run_id, name, "acme/shop", by="ann"),
                RunClaimed(run_id, 1, "w"),
                CardArchived(CardId(name), "archived"),
                at=NOW + timedelta(seconds=number),
            )
    late = NOW + NO_STEP_AFTER + timedelta(seconds=9)
    with event_store.reading(ledger) as db:
        (silent,) = standstill.board_standstills(db, ALL, late, 3)
    assert [(it.run_id, it.archived) for it in silent.oldest] == [("r1", True), ("r2", True), ("r3", True)]
    assert silent.total == 5
