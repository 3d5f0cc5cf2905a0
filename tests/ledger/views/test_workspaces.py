"""The ledger knows which host and which claim took each workspace last."""

from sqlalchemy import Engine

from ledger.events.run import RunClaimed, RunParked
from ledger.events.workspace import WorkspaceTaken
from ledger.ids import RunId
from ledger.log import event_store
from ledger.views import runs, workspaces
from ledger.views.workspaces import WorkspaceRow
from tests.ledger.samples import CARD, NOW, RUN, card_seen, run_queued


def test_the_newest_claim_of_a_workspace_counts_and_each_place_for_itself(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            WorkspaceTaken(RUN, CARD, "b", 1),
            WorkspaceTaken(RUN, f"look-{CARD}", "b", 1),
            WorkspaceTaken(RUN, CARD, "c", 2, left_on="b"),
            at=NOW,
        )
        assert workspaces.get(db, CARD) == WorkspaceRow(CARD, RUN, 2, "c", NOW)
        assert workspaces.get(db, f"look-{CARD}") == WorkspaceRow(f"look-{CARD}", RUN, 1, "b", NOW)
        assert workspaces.get(db, "PVTI_9") is None
        places = (CARD, f"look-{CARD}", "PVTI_9")
        assert workspaces.hosts_of(db, places) == {CARD: "c", f"look-{CARD}": "b"}


def test_the_runs_at_work_are_counted_by_the_host_of_their_claim(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        for n, host in enumerate(("b", "c", "b", "")):
            event_store.append(db, card_seen(f"c{n}", n), run_queued(f"r{n}", f"c{n}"), at=NOW)
            event_store.append(db, RunClaimed(RunId(f"r{n}"), 1, "w", host), at=NOW)
        event_store.append(db, RunParked(RunId("r2"), "question"), at=NOW)
        assert runs.count_held_by_host(db) == {"b": 1, "c": 1, "": 1}
