"""What an investigation found, in ledger/events/findings.py, and where a card's work is, in placement.py."""

from dataclasses import replace

from sqlalchemy import Engine

from ledger.events.access import RepositoryMoved
from ledger.events.board import CardArchived
from ledger.events.findings import Finding, FindingsReported, FollowUp, FollowUpMade, Reference
from ledger.events.placement import RepositoryResolved
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.queries import timeline
from ledger.views import findings, placements, runs
from tests.ledger.samples import BOARD, CARD, NOW, RUN, board_seen, card_seen, run_queued

CARD_ID, RUN_ID = CardId(CARD), RunId(RUN)
PLACE = Reference("a.py", 1, 2, True)
FOUND = FindingsReported(
    RUN_ID,
    "c0",
    "Cents.",
    (Finding("Cut", "why", "how", "low", (PLACE,)),),
    (FollowUp("t", "b", "r"),),
    ("x",),
)


def told(engine: Engine, *events: object) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), card_seen(), run_queued(), *events, at=NOW)  # type: ignore[arg-type]


def test_findings_are_read_as_they_were_reported(ledger: Engine) -> None:
    told(ledger, FOUND)
    with event_store.reading(ledger) as db:
        assert findings.get(db, RUN_ID) == findings.newest(db, CARD_ID) == FOUND
        assert findings.get(db, RunId("r7")) is findings.newest(db, CardId("PVTI_9")) is None


def test_the_newest_investigation_of_the_card_counts(ledger: Engine) -> None:
    later = FindingsReported(RunId("r2"), "c1", "More.", (), (), ())
    told(ledger, FOUND, run_queued("r2", attempt=2), later)
    with event_store.reading(ledger) as db:
        newest = findings.newest(db, CARD_ID)
    assert newest is not None
    assert newest.summary == "More."


def test_a_follow_up_is_known_once_it_is_a_card(ledger: Engine) -> None:
    told(ledger, FOUND, FollowUpMade(CARD_ID, RUN_ID, 1, "acme/app", 9))
    with event_store.reading(ledger) as db:
        (follow_up,) = findings.follow_ups_made(db, RUN_ID).values()
    assert (follow_up.proposal, follow_up.repository, follow_up.number) == (1, "acme/app", 9)


def test_a_run_was_a_fix_unless_it_says_otherwise(ledger: Engine) -> None:
    told(ledger)
    with event_store.reading(ledger) as db:
        run = runs.get(db, RUN_ID)
    assert run is not None
    assert (run.mode, run.mode_rule, run.asked) == ("fix", "column", "")


def test_the_newest_decision_says_where_the_work_is_also_under_another_name(ledger: Engine) -> None:
    unclear = RepositoryResolved(CARD_ID, "", "none", "", "which repository? nothing says it")
    clear = RepositoryResolved(CARD_ID, "acme/api", "label", "area:api", "")
    told(ledger, unclear, clear)
    with event_store.writing(ledger) as db:
        assert placements.repositories(db, BOARD) == ("acme/api",)
        event_store.append(db, RepositoryMoved(BOARD, "acme/api", "acme/rest"), at=NOW)
        placed = placements.get(db, CARD_ID)
        lines = [row.text for row in timeline.of_card(db, CARD_ID)]
    assert placed is not None
    assert (placed.repository, placed.rule, placed.problem) == ("acme/rest", "label", "")
    assert "which repository? nothing says it" in lines
    assert "works in acme/api (label: area:api)" in lines


def test_cards_of_the_board_that_ask_for_a_repository_are_found_and_only_so_many(ledger: Engine) -> None:
    events: list[object] = []
    for name in ("asks", "asks-too", "archived", "placed", "elsewhere"):
        board = BoardId("PVT_other") if name == "elsewhere" else BOARD
        problem = "" if name == "placed" else "which repository? nothing says it"
        card = replace(card_seen(), card_id=CardId(name), board_id=board)
        events += [card, RepositoryResolved(CardId(name), "", "none", "", problem)]
    told(ledger, *events, CardArchived(CardId("archived"), "archived"))
    with event_store.reading(ledger) as db:
        assert placements.asking(db, BOARD, 9) == ("asks", "asks-too")
        assert placements.asking(db, BOARD, 1) == ("asks",)
