"""What is out of reach is known until it is back, and a repository's new name reaches its cards and runs."""

from sqlalchemy import Engine

from ledger.events.access import AccessLost, AccessRegained, RepositoryMoved
from ledger.events.findings import FollowUpMade
from ledger.events.job import JobRequested
from ledger.events.pull import PullChanged, PullOpened
from ledger.events.run import BranchExported
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import cards as card_queries
from ledger.states import PullState
from ledger.views import base_moves, cards, changed_files, findings, jobs, losses, runs
from tests.ledger.samples import BOARD, CARD, RUN, board_seen, card_seen, later, run_queued


def test_a_loss_stands_until_access_is_regained(ledger: Engine) -> None:
    shop = AccessLost(BOARD, "acme/app", "archived", "")
    first = AccessLost(BOARD, "acme", "permissions", "checks: write")
    more = AccessLost(BOARD, "acme", "suspended", "")
    with event_store.writing(ledger) as db:
        for event in (board_seen(), shop, first, more, AccessLost(BOARD, "beta/app", "removed", "")):
            event_store.append(db, event, at=later(event_store.last_seq(db)))
        assert sorted((row.target, row.reason) for row in losses.of_board(db, BOARD)) == [
            ("acme", "suspended"),
            ("acme/app", "archived"),
            ("beta/app", "removed"),
        ]
        event_store.append(db, AccessRegained(BOARD, "acme/app"), at=later(9))
        assert sorted(row.target for row in losses.of_board(db, BOARD)) == ["acme", "beta/app"]


def test_a_new_name_reaches_cards_and_runs(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        work = (
            BranchExported(RUN, "cardinal/1", "b0", "c0", 1, 1, 1, ("till.py",)),
            FollowUpMade(CardId(CARD), RUN, 1, "acme/app", 7),
            JobRequested(BOARD, "k1", "acme/app", "Mend it", "", (), (), "bob", 7, "ci"),
        )
        for event in (board_seen(), card_seen(), run_queued(), card_seen("PVTI_2", 2), *work):
            event_store.append(db, event, at=later(event_store.last_seq(db)))
        event_store.append(db, RepositoryMoved(BOARD, "acme/app", "acme/till"), at=later(9))
        card, run = cards.get(db, CardId(CARD)), runs.get(db, RUN)
        assert card is not None
        assert run is not None
        assert (card.repository, run.repository) == ("acme/till", "acme/till")
        assert card_queries.repositories_of(db, BOARD) == ("acme/till",)
        follow_up = findings.follow_ups_made(db, RUN)[1]
        rows = changed_files.of_card(db, CardId(CARD)), jobs.get(db, "k1"), follow_up
        assert [row.repository if row else "" for row in rows] == ["acme/till"] * 3


def test_a_new_name_keeps_the_newest_merge_of_both_names(ledger: Engine) -> None:
    merges = [("PVTI_1", 1, "acme/app"), ("PVTI_2", 2, "acme/till"), ("PVTI_3", 3, "acme/app")]
    with event_store.writing(ledger) as db:
        event_store.append(db, board_seen(), at=later(0))
        for card_id, number, repository in merges:
            opened = PullOpened(CardId(card_id), repository, number, f"PR_{number}", "b", "c0", draft=False)
            merged = PullChanged(CardId(card_id), number, PullState.MERGED, draft=False, head="c0")
            for event in (card_seen(card_id, number), opened, merged):
                event_store.append(db, event, at=later(number))
        for _ in range(2):  # each board that has the repository says so
            event_store.append(db, RepositoryMoved(BOARD, "acme/app", "acme/till"), at=later(9))
            assert (base_moves.last(db, "acme/app"), base_moves.last(db, "acme/till")) == (None, later(3))
        event_store.append(db, RepositoryMoved(BOARD, "acme/none", "acme/other"), at=later(9))
        assert base_moves.last(db, "acme/other") is None
