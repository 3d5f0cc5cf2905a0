"""The ledger knows which host and which claim took each workspace last."""

from sqlalchemy import Engine

from ledger.events.workspace import WorkspaceTaken
from ledger.log import event_store
from ledger.views import workspaces
from ledger.views.workspaces import WorkspaceRow
from tests.ledger.samples import CARD, NOW, RUN


def test_the_newest_claim_of_a_workspace_counts_and_each_place_for_itself(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            WorkspaceTaken(RUN, CARD, "b", 1),
            WorkspaceTaken(RUN, f"look-{CARD}", "b", 1),
            WorkspaceTaken(RUN, CARD, "c", 2, left_on="b"),
            at=NOW,
        )
        assert workspaces.get(db, CARD) == WorkspaceRow(CARD, RUN, 2, "c")
        assert workspaces.get(db, f"look-{CARD}") == WorkspaceRow(f"look-{CARD}", RUN, 1, "b")
        assert workspaces.get(db, "PVTI_9") is None
