"""What a person's command asks for is done once at GitHub, and what GitHub does not do is said."""

from ledger.events.publication import EntryGivenUp
from rules.intents.by_command import ChangeAssignees
from tests.bot.outbox.conftest import Stage


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


def test_whom_github_passes_by_is_named(stage: Stage) -> None:
    stage.do(ChangeAssignees(stage.card_id, ("bob", "mallory"), True, "c:1"))
    assert assigned(stage) == ["bob"]
    assert "assign mallory there: give them access to acme/shop" in refused(stage)[0]
