"""`/cardinal clean`: the host removes the card's workspace, unless that would lose something."""

from dataclasses import replace

import pytest

from ledger.events.workspace import WorkspaceCleanAsked, WorkspaceKept
from ledger.ids import CardId
from ledger.rows.workspaces import CardWorkspace
from ledger.states import RunState
from rules.intents.outbound import Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, NOW, R1, asks, card, ended, given, only

PLACE = CardWorkspace(
    place=CARD,
    card_id=CARD,
    host="b",
    run_id=R1,
    run_state=RunState.ENDED,
    branch="cardinal/12-add-login",
    taken_at=NOW,
    disk_bytes=5_000_000,
    uncommitted=("notes.txt",),
    uncommitted_files=1,
    unsaved=(),
    clean_by="",
)
ASKED = WorkspaceCleanAsked(CARD, CARD, "b", "bob")
LOOK = replace(PLACE, place=f"look-{CARD}", host="c")
ODD = replace(PLACE, unsaved=("the session: it is larger than 100 MB",))


def with_place(*places: CardWorkspace) -> Snapshot:
    return card(run=ended(), workspaces=places)


def test_each_workspace_of_the_card_is_removed_by_its_host() -> None:
    other = WorkspaceCleanAsked(CARD, f"look-{CARD}", "c", "bob")
    assert handled("clean", with_place(PLACE, LOOK)) == (ASKED, other)


@pytest.mark.parametrize("state", [RunState.CLAIMED, RunState.WORKING, RunState.PUBLISHING])
@pytest.mark.parametrize("word", ["", "discard"])
def test_one_where_a_run_works_stays_whatever_is_said(state: RunState, word: str) -> None:
    said = told("clean", with_place(LOOK, replace(PLACE, run_state=state)), word)
    assert "r1 is working there" in said


def test_what_is_saved_nowhere_else_is_named_and_goes_only_with_the_word() -> None:
    said = told("clean", with_place(PLACE, replace(ODD, run_state=RunState.PARKED)))
    assert "saved nowhere else: the session: it is larger than 100 MB." in said
    assert "`/cardinal clean discard`" in said
    assert handled("clean", with_place(ODD), "Discard") == (replace(ASKED, discards=True),)


@pytest.mark.parametrize(
    ("places", "word", "said"),
    [
        ((), "", "No host has a workspace"),
        ((PLACE,), "all of it", "Write `/cardinal clean` or `/cardinal clean discard`"),
        ((replace(PLACE, clean_by="alice"),), "", "already about to remove"),
    ],
)
def test_it_says_why_nothing_is_removed(places: tuple[CardWorkspace, ...], word: str, said: str) -> None:
    assert said in only(asks(with_place(*places), given("clean", word)), Say).text


def test_the_card_says_what_the_store_lacks_where_its_host_kept_the_workspace() -> None:
    kept = WorkspaceKept(CardId(CARD), CARD, "b", "bob", ("the session of r1",))
    text = only(asks(card(run=ended()), kept), Say).text
    assert "`b` was not removed: the store does not have the session of r1." in text
    assert "`/cardinal clean discard`" in text
