"""The buttons of the check: which fit how the card stands, within GitHub's limits, and what a press means."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.events.conversation import CommandRefused
from ledger.events.pull import PullChanged
from ledger.events.run import PlanApproved, RunStepped, RunStopAsked
from ledger.ids import RunId
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, PullState, RunState, StopKind
from rules.chatops.parser import Parsed, of_button, plan_of_approval, run_of_button
from rules.handlers import check_buttons
from rules.handlers.check_buttons import of_check
from rules.intents.internal import QueueRun
from rules.intents.outbound import Say, WriteCheck
from rules.snapshot import Snapshot
from tests.rules.scene import CARD, POLICY, QUESTION, R1, asks, card, ended, given, kinds, only, pull, run

S = RunState
TABLE: list[tuple[str | None, RunRow | None, list[str]]] = [
    ("In Progress", run(), ["pause:r1", "cancel:r1", "explain"]),
    ("In Progress", run(S.QUEUED), ["pause:r1", "cancel:r1", "explain"]),
    ("In Progress", run(stop_asked=StopKind.PAUSE), ["cancel:r1", "explain"]),
    ("In Progress", run(stop_asked=StopKind.CANCEL), ["explain"]),
    ("In Progress", run(S.AWAITING_APPROVAL), ["approve:r1:1", "cancel:r1", "explain"]),
    ("In Progress", run(S.PARKED, stop_asked=StopKind.PAUSE), ["resume:r1", "cancel:r1", "explain"]),
    ("In Progress", run(S.PARKED), ["cancel:r1", "explain"]),
    ("In Progress", ended(), ["explain"]),  # its work is to be looked at
    ("In Progress", ended(Ending.FAILED), ["retry:r1", "explain"]),
    ("Review", ended(), ["explain"]),
    ("Done", ended(), ["explain"]),
    ("In Progress", None, ["explain"]),
]


@pytest.mark.parametrize(("column", "newest", "names"), TABLE)
def test_the_buttons_fit_how_the_card_stands(
    column: str | None, newest: RunRow | None, names: list[str]
) -> None:
    asked = (QUESTION,) if newest and newest.state is S.PARKED and not newest.stop_asked else ()
    buttons = of_check(POLICY, card(column, run=newest, questions=asked, pull=pull()))
    assert [button.identifier for button in buttons] == names
    assert all(button.identifier == "explain" or of_button(button.identifier) for button in buttons)


def test_work_that_could_not_be_merged_has_a_button_for_another_attempt() -> None:
    seen = card("Done", run=ended(), pull=pull(), state=CardState.BLOCKED)
    assert [button.identifier for button in of_check(POLICY, seen)] == ["retry:r1", "explain"]


@pytest.mark.parametrize(
    ("button", "fits"),
    [
        (check_buttons.Button("L" * 20, "i" * 20, "d" * 40), True),
        (check_buttons.Button("L" * 21, "i" * 20, "d" * 40), False),
        (check_buttons.Button("L" * 20, "i" * 21, "d" * 40), False),
        (check_buttons.Button("L" * 20, "i" * 20, "d" * 41), False),
    ],
)
def test_a_button_fits_within_githubs_lengths(button: check_buttons.Button, fits: bool) -> None:
    assert button.fits is fits


@pytest.mark.parametrize(
    "seen",
    [
        card(run=ended()),
        card(run=ended(), pull=pull("merged")),
        card(run=ended(), pull=pull("closed")),
        card(run=ended(), pull=pull(), archived=True),
    ],
)
def test_there_is_none_without_an_open_pull_request(seen: Snapshot) -> None:
    assert of_check(POLICY, seen) == ()


@pytest.mark.parametrize("name", ["r1", "r999999999999", "r" + "9" * 18])
@pytest.mark.parametrize("row", TABLE)
def test_no_button_is_more_than_github_takes(
    name: str, row: tuple[str | None, RunRow | None, list[str]]
) -> None:
    newest = replace(row[1], run_id=RunId(name), plan_revision=10**9) if row[1] else None
    buttons = of_check(POLICY, card(row[0], run=newest, pull=pull()))
    assert 1 <= len(buttons) <= 3
    for button in buttons:
        assert 0 < len(button.label) <= 20
        assert 0 < len(button.identifier) <= 20
        assert 0 < len(button.description) <= 40


@pytest.mark.parametrize(
    ("identifier", "command"),
    [
        ("explain", "explain"),
        ("retry:r1", "retry"),
        ("approve:r1:2", "approve"),
        *((name, None) for name in ("", "retry", "retry:", "stop-all", "help", "retry:r1 ", "finish:r1")),
    ],
)
def test_only_known_buttons_command_anything(identifier: str, command: str | None) -> None:
    assert of_button(identifier) == (Parsed(command, "") if command else None)


def test_a_button_names_what_it_is_about() -> None:
    assert run_of_button("button:pause:r7") == "r7"
    assert [run_of_button(source) for source in ("box:pause:r7", "77", "button:explain")] == ["", "", ""]
    assert plan_of_approval("button:approve:r1:2") == plan_of_approval("box:approve:r1:2") == ("r1", 2)
    assert plan_of_approval("approve:r1:2") is None


def pressed(command: str, identifier: str, **changes: Any) -> Any:
    return given(command, source=f"button:{identifier}", place="check", comment_id=41, **changes)


def test_a_press_is_obeyed_and_marks_no_comment() -> None:
    asked = asks(card(run=ended(), pull=pull()), pressed("retry", "retry:r1"))
    assert kinds(asked) == ["QueueRun", "WriteCheck"]
    assert only(asked, QueueRun).by == "bob"
    assert only(asked, WriteCheck) == WriteCheck(CARD, "abc123")


def test_a_press_about_an_older_run_does_nothing_and_says_so() -> None:
    asked = asks(card(run=run(run_id=RunId("r2")), pull=pull()), pressed("cancel", "cancel:r1"))
    assert kinds(asked) == ["Say", "WriteCheck"]
    assert "about r1, and r2 has started since" in only(asked, Say).text
    assert only(asks(card(run=run(), pull=pull()), pressed("cancel", "cancel:r1")), RunStopAsked).run_id == R1


def test_an_older_plan_is_not_approved_by_its_button() -> None:
    snapshot = card(run=run(S.AWAITING_APPROVAL, plan_revision=2), pull=pull())
    assert "older plan" in only(asks(snapshot, pressed("approve", "approve:r1:1")), Say).text
    assert only(asks(snapshot, pressed("approve", "approve:r1:2")), PlanApproved).by == "bob"


def test_a_refused_press_is_told_on_the_pull_request_once_an_hour() -> None:
    refused = CommandRefused(CARD, "button:retry:r1", "bob", "write", "No.", "check", 41)
    (told,) = asks(card(run=ended(), pull=pull()), refused)
    assert isinstance(told, Say)
    assert (told.text, told.place) == ("No.", "pull")
    assert told.about == "button:retry:r1:bob:2026112112"
    (outsider,) = asks(card(run=ended(), pull=pull()), replace(refused, role="read"))
    assert isinstance(outsider, Say)
    assert outsider.about.startswith("outsider:bob:")


def test_too_many_presses_are_told_and_mark_no_comment() -> None:
    snapshot = card(run=ended(), pull=pull(), paced=1_000)
    assert kinds(asks(snapshot, pressed("retry", "retry:r1"))) == ["Say"]


def test_the_check_is_written_when_its_verdict_or_its_buttons_may_change() -> None:
    snapshot = card(run=run(), pull=pull(), state=CardState.WORKING)
    progress = RunStepped(R1, S.CLAIMED, S.PREPARING)
    assert "WriteCheck" not in kinds(asks(snapshot, progress))
    assert "WriteCheck" in kinds(asks(snapshot, RunStepped(R1, S.PLANNING, S.AWAITING_APPROVAL)))
    assert "WriteCheck" in kinds(asks(snapshot, PullChanged(CARD, 5, PullState.OPEN, False, "abc123")))
    assert "WriteCheck" not in kinds(
        asks(card(run=run()), PullChanged(CARD, 5, PullState.OPEN, False, "abc123"))
    )
    assert check_buttons.check(card(pull=pull("closed"))).intents == ()
