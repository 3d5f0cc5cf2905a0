"""What a person's command asks for is done once at GitHub, and what GitHub does not do is said."""

import pytest

from ledger.events.board import CardArchived, CardAssigned, CardRestored
from ledger.events.publication import EntryGivenUp
from ledger.events.run import RunEnded
from ledger.states import Ending
from rules.intents.by_command import ArchiveCard, ChangeAssignees
from tests.bot.outbox.conftest import Stage
from tests.bot.render.past import RUN


def assigned(stage: Stage) -> list[str]:
    return [user.login for user in stage.issue.assignees]


def refused(stage: Stage) -> list[str]:
    return [event.because for event in stage.events(EntryGivenUp) if isinstance(event, EntryGivenUp)]


def test_people_are_assigned_and_unassigned_once_however_often_it_is_tried(stage: Stage) -> None:
    stage.fault(method="POST", path=".*/assignees", status=502, after=True)
    stage.do(ChangeAssignees(stage.card_id, ("Alice", "bob"), True, "c:1"))
    stage.clock.forward(5)
    stage.publish()
    assert assigned(stage) == ["alice", "bob"]
    stage.do(ChangeAssignees(stage.card_id, ("alice", "nobody-here"), False, "c:2"))
    stage.do(ChangeAssignees(stage.card_id, ("alice",), True, "c:1"))  # asked for before
    assert assigned(stage) == ["bob"]
    assert refused(stage) == []
    stage.do(ChangeAssignees(stage.card_id, ("bob",), True, "c:3"))  # who is there
    lists = [event.assignees for event in stage.events(CardAssigned) if isinstance(event, CardAssigned)]
    assert lists == [("alice", "bob"), ("bob",)]  # GitHub's webhooks about own acts are not read


def test_whom_github_passes_by_is_named(stage: Stage) -> None:
    stage.do(ChangeAssignees(stage.card_id, ("bob", "mallory"), True, "c:1"))
    assert assigned(stage) == ["bob"]
    assert "GitHub does not let mallory be assigned there: give them access to acme/shop" in refused(stage)[0]


def test_a_card_is_archived_and_brought_back_once_for_whoever_said_so(stage: Stage) -> None:
    stage.happen(RunEnded(RUN, Ending.FAILED, "stalled", "", "working"))
    stage.fault(method="POST", path="/graphql", status=502, after=True)
    stage.do(ArchiveCard(stage.card_id, True, "bob", "write", "c:1"))
    stage.clock.forward(5)
    stage.publish()
    assert stage.item.archived_at is not None
    assert stage.events(CardArchived) == [CardArchived(stage.card_id, "archived", "bob", "write")]
    stage.do(ArchiveCard(stage.card_id, False, "bob", "write", "c:2"))
    stage.do(ArchiveCard(stage.card_id, False, "carol", "write", "c:3"))
    assert stage.item.archived_at is None
    assert stage.events(CardRestored) == [CardRestored(stage.card_id, "bob", "write")]
    assert refused(stage) == []


@pytest.mark.parametrize("began", ["run", "pull"])
def test_a_card_whose_work_began_since_stays(stage: Stage, began: str) -> None:
    if began == "pull":
        stage.pull()
        stage.happen(RunEnded(RUN, Ending.FAILED, "stalled", "", "working"))
    stage.do(ArchiveCard(stage.card_id, True, "bob", "write", "c:1"))
    assert stage.item.archived_at is None
    (because,) = refused(stage)
    assert because.startswith("r1 lives by now" if began == "run" else "pull request #")
