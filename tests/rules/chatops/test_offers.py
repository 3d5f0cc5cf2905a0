"""What a page offers: the commands that fit how the card stands, for whoever may give them."""

from dataclasses import replace

import pytest

from ledger.ids import CardId
from ledger.model.limit_answers import Subject
from ledger.states import Ending, RunState
from rules.chatops.offers import for_board, for_card
from rules.chatops.parser import Parsed, chosen_question, of_form, pressed_run
from rules.policy.model import Policy, parse
from rules.snapshot import Snapshot, Stop
from tests.rules.scene import BOARD, CARD, LEAVING, POLICY, QUESTION, card, ended, run

S = RunState
PICKY = parse(
    "version: 1\nboard:\n  move: [admin]\n  columns:\n"
    "    In Progress: {archetype: execution}\n    Done: {archetype: terminal}\n"
    "  commands: {approve: admin, answer: maintain, redirect: ['@bob']}\n",
    home="acme/board",
)
DOLLARS = replace(QUESTION, asker="budget", subject=Subject.BUDGET, codes=("go_on", "stop"))
HOLD = ["claim", "block"]
AT_WORK = ["pause:r1", "cancel:r1", "redirect:r1"]
TABLE: list[tuple[Snapshot, str, list[str]]] = [
    (card(), "write", ["move:In Progress", *HOLD]),
    (card(column=None), "write", ["move:", *HOLD]),
    (card(), "triage", []),
    (card(run=run()), "write", AT_WORK),
    (card(run=run()), "maintain", [*AT_WORK, "budget:r1"]),
    (card(run=run()), "triage", []),
    (card(run=run(stop_asked="cancel")), "admin", []),
    (card(run=run(S.QUEUED)), "write", ["pause:r1", "cancel:r1"]),
    (card(run=run(S.AWAITING_APPROVAL)), "write", ["approve:r1:1", "cancel:r1", "redirect:r1"]),
    (card(run=run(S.PARKED, stop_asked="pause")), "write", ["resume:r1", "cancel:r1"]),
    (card(run=run(S.PARKED, question=QUESTION)), "write", ["answer:r1-q1", "answer:r1-q1", "cancel:r1"]),
    (
        card(run=run(S.PARKED, question=replace(QUESTION, choices=()))),
        "write",
        ["answer:r1-q1", "cancel:r1"],
    ),
    (card(run=run(S.PARKED, question=DOLLARS)), "admin", ["answer:r1-q1", "cancel:r1", "budget:r1"]),
    (
        card(run=run(question=QUESTION, behind=LEAVING)),
        "write",
        ["answer:r1-q1", "answer:r1-q1", "answer:r1-q2", "cancel:r1", "redirect:r1"],
    ),
    (card(run=ended(Ending.FAILED)), "write", ["retry:r1", "move:In Progress", *HOLD]),
    (
        card(run=ended(Ending.FAILED), stops=(Stop("card", CARD, "alice", "7"),)),
        "write",
        ["retry:r1", "resume:stop-7", "move:In Progress", *HOLD],
    ),
    (
        card(stops=(Stop("card", CARD, "alice", "7", "later"),)),
        "write",
        ["resume:stop-7", "move:In Progress"],
    ),
    (
        card(run=ended(Ending.FAILED), stops=(Stop("card", CardId("x"), "alice"),)),
        "write",
        ["retry:r1", "move:In Progress", *HOLD],
    ),
    (card(run=run(), archived=True), "admin", []),
    (card(run=run(), number=None), "admin", []),
    (card(run=run(), board_owner="other"), "admin", []),
]


def names(by: Policy, seen: Snapshot, role: str, login: str = "carol") -> list[str]:
    return [it.name for it in for_card(by, seen, role=role, login=login)]


@pytest.mark.parametrize(("seen", "role", "expected"), TABLE)
def test_the_offers_fit_the_card_and_the_role(seen: Snapshot, role: str, expected: list[str]) -> None:
    assert names(POLICY, seen, role) == expected


def test_whom_the_policy_names_is_offered_what_it_says() -> None:
    assert names(PICKY, card(), "maintain") == HOLD  # who may not drag may not move it in words either
    assert names(PICKY, card(), "admin") == ["move:In Progress", *HOLD]
    waits = card(run=run(S.AWAITING_APPROVAL))
    assert names(PICKY, waits, "write") == ["cancel:r1"]
    assert names(PICKY, waits, "read", "bob") == ["redirect:r1"]
    assert "approve:r1:1" in names(PICKY, waits, "admin")
    asked = card(run=run(S.PARKED, question=replace(QUESTION, asker="stage", subject=Subject.STAGE)))
    assert "answer:r1-q1" not in names(PICKY, asked, "maintain")  # a stage is approved
    assert "answer:r1-q1" in names(PICKY, asked, "admin")


def test_the_board_is_stopped_or_let_go_on_by_whoever_may() -> None:
    stopped = (Stop("board", BOARD, "alice"),)
    assert [it.name for it in for_board(POLICY, (), role="admin", login="carol")] == ["stop-all"]
    (go_on,) = for_board(POLICY, stopped, role="admin", login="carol")
    assert of_form(go_on.name, go_on.choices[0][0]) == Parsed("resume", "board")
    for stops in ((), stopped):
        assert for_board(POLICY, stops, role="maintain", login="carol") == ()


def test_a_form_means_the_command_of_its_name_with_its_text() -> None:
    assert of_form("cancel:r1", "") == Parsed("cancel", "")
    assert of_form("answer:r1-q1", " 2 \r\nmore") == Parsed("answer", "2\nmore")
    assert of_form("budget:r1", "+2\r\nmore") == Parsed("budget", "+2")
    assert chosen_question("page:answer:r1-q1") == "r1-q1"
    assert [pressed_run(f"page:{it}") for it in ("cancel:r7", "answer:r7-q1", "stop-all")] == ["r7", "", ""]
