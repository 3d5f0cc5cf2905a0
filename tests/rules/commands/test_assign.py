"""`/cardinal assign` and `unassign`: GitHub's assignees, which start and stop nothing."""

import pytest

from rules.intents.by_command import ChangeAssignees
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, given, only


@pytest.mark.parametrize("command", ["assign", "unassign"])
@pytest.mark.parametrize(
    ("argument", "people"),
    [("me", ("bob",)), ("@me", ("bob",)), ("@alice, carol alice", ("alice", "carol")), ("Me bob", ("bob",))],
)
def test_it_names_people_once(command: str, argument: str, people: tuple[str, ...]) -> None:
    (change,) = handled(command, card(), argument)
    assert change == ChangeAssignees(CARD, people, command == "assign", "command:77")


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "Say whom: `/cardinal assign me`"),
        ("a/b", "`a/b` is not a login"),
        (" ".join(f"p{n}" for n in range(11)), "at most 10 assignees"),
    ],
)
def test_what_cannot_be_done_is_said(argument: str, words: str) -> None:
    assert words in told("assign", card(), argument)


def test_an_assignment_by_a_program_is_reported_on_the_card() -> None:
    sent = {"source": "api:assign", "place": "api", "comment_id": -9, "via": "bot"}
    change = only(asks(card(), given("assign", "alice", **sent)), ChangeAssignees)
    assert (change.people, change.about) == (("alice",), "command:-9")
