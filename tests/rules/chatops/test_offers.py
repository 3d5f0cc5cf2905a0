"""What a page offers: the commands that fit how the card stands, for whoever may give them."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.ids import CardId
from ledger.rows.limit_answers import Subject
from ledger.rows.stops import StopRow
from ledger.states import Ending, RunState, StopKind
from rules.chatops.offers import CommandOffer, list_permitted, others
from rules.chatops.parser import Parsed, of_form, question_of_choice, run_of_button
from rules.policy.model import Policy, parse
from rules.registry import COMMANDS
from rules.snapshot import Snapshot
from tests.rules.scene import BOARD, CARD, LEAVING, POLICY, QUESTION, a_stop, card, ended, pull, run

S = RunState
PICKY = parse(
    "version: 1\nboard:\n  move: [admin]\n  columns:\n"
    "    In Progress: {archetype: execution}\n    Done: {archetype: terminal}\n"
    "  commands: {approve: admin, answer: maintain, redirect: ['@bob']}\n",
    home="acme/board",
)
DOLLARS = replace(QUESTION, asker="budget", subject=Subject.BUDGET, codes=("go_on", "stop"))
HOLD = ["block", "claim"]
AT_WORK = ["pause:r1", "cancel:r1", "redirect:r1"]
TABLE: list[tuple[Snapshot, str, list[str]]] = [
    (card(), "write", [*HOLD, "move:In Progress"]),
    (card(column=None), "write", [*HOLD, "move:"]),
    (card(), "triage", []),
    (card(run=run()), "write", AT_WORK),
    (card(run=run()), "maintain", [*AT_WORK, "budget:r1"]),
    (card(run=run()), "triage", []),
    (card(run=run(stop_asked=StopKind.CANCEL)), "admin", []),
    (card(run=run(S.QUEUED)), "write", ["pause:r1", "cancel:r1"]),
    (card(run=run(S.AWAITING_APPROVAL)), "write", ["approve:r1:1", "cancel:r1", "redirect:r1"]),
    (card(run=run(S.PARKED, stop_asked=StopKind.PAUSE)), "write", ["resume:r1", "cancel:r1"]),
    (card(run=run(S.PARKED), questions=(QUESTION,)), "write", ["answer:r1-q1", "answer:r1-q1", "cancel:r1"]),
    (
        card(run=run(S.PARKED), questions=(replace(QUESTION, choices=()),)),
        "write",
        ["answer:r1-q1", "cancel:r1"],
    ),
    (card(run=run(S.PARKED), questions=(DOLLARS,)), "admin", ["answer:r1-q1", "cancel:r1", "budget:r1"]),
    (
        card(
            run=run(),
            questions=(
                LEAVING,
                QUESTION,
            ),
        ),
        "write",
        ["answer:r1-q1", "answer:r1-q1", "answer:r1-q2", "cancel:r1", "redirect:r1"],
    ),
    (card(run=ended(Ending.FAILED)), "write", ["retry:r1", *HOLD, "move:In Progress"]),
    (
        card(run=ended(Ending.FAILED), stops=(a_stop("card", CARD, "alice", 7),)),
        "write",
        ["resume:stop-7", "retry:r1", *HOLD, "move:In Progress"],
    ),
    (
        card(stops=(a_stop("card", CARD, "alice", 7, "later"),)),
        "write",
        ["unblock:stop-7", "move:In Progress"],
    ),
    (
        card(run=ended(Ending.FAILED), stops=(a_stop("card", CardId("x"), "alice"),)),
        "write",
        ["retry:r1", *HOLD, "move:In Progress"],
    ),
    (card(run=ended()), "write", [*HOLD, "move:In Progress", "retry:r1"]),  # first its work is looked at
    (card("Done", run=ended(), pull=pull("merged")), "write", [*HOLD, "move:Done"]),  # nothing to try again
    (card("Done", run=ended(), pull=pull()), "write", ["retry:r1", *HOLD, "move:Done"]),  # the merge
    (card(run=run(), archived=True), "write", ["unarchive"]),  # nothing else
    (card(archived=True), "read", []),
    (card(run=run(), number=None), "admin", []),
    (card(run=run(), board_owner="other"), "admin", []),
]


def names(by: Policy, snapshot: Snapshot, role: str, login: str = "carol") -> list[str]:
    return [it.name for it in list_permitted(by, snapshot, role=role, login=login) if not it.of_board]


@pytest.mark.parametrize(("seen", "role", "expected"), TABLE)
def test_the_offers_fit_the_card_and_the_role(seen: Snapshot, role: str, expected: list[str]) -> None:
    assert names(POLICY, seen, role) == expected


def test_whom_the_policy_names_is_offered_what_it_says() -> None:
    assert names(PICKY, card(), "maintain") == HOLD  # who may not drag may not move it in words either
    assert names(PICKY, card(), "admin") == [*HOLD, "move:In Progress"]
    waits = card(run=run(S.AWAITING_APPROVAL))
    assert names(PICKY, waits, "write") == ["cancel:r1"]
    assert names(PICKY, waits, "read", "bob") == ["redirect:r1"]
    assert "approve:r1:1" in names(PICKY, waits, "admin")
    snapshot = card(run=run(S.PARKED), questions=(replace(QUESTION, asker="stage", subject=Subject.STAGE),))
    assert "answer:r1-q1" not in names(PICKY, snapshot, "maintain")  # a stage is approved
    assert "answer:r1-q1" in names(PICKY, snapshot, "admin")


def test_the_board_is_stopped_or_let_go_on_by_whoever_may() -> None:
    def of_board(role: str, *stops: StopRow) -> list[CommandOffer]:
        offers = list_permitted(POLICY, card(stops=stops), role=role, login="carol")
        return [offer for offer in offers if offer.of_board]

    stopped = a_stop("board", BOARD, "alice")
    assert [offer.name for offer in of_board("admin")] == ["stop-all"]
    (go_on,) = of_board("admin", stopped)
    assert of_form(go_on.name, go_on.choices[0][0]) == Parsed("resume", "board")
    assert of_board("maintain") == of_board("maintain", stopped) == []


def choices(snapshot: Snapshot, role: str, by: Policy = POLICY) -> dict[str, str]:
    offered = list_permitted(by, snapshot, role=role, login="carol")
    more = others(by, snapshot, offered, role=role, login="carol")
    return dict(more.choices) if more else {}


def test_every_other_command_is_there_for_whoever_may_give_it() -> None:
    offered = {name.partition(":")[0] for name in names(POLICY, card(run=run()), "admin")}
    more = choices(card(run=run()), "admin")
    assert offered | more.keys() == set(COMMANDS.names())
    assert "cancel" in offered - more.keys()  # one button is enough
    assert "pause" in offered & more.keys()  # `pause board` is another matter
    assert more["status"] == "status: Say what state the card is in, and why."
    assert "status" in choices(card(), "read")
    assert not {"retry", "stop-all"} & choices(card(), "read").keys()
    assert "move" not in choices(card(), "maintain", PICKY)


@pytest.mark.parametrize("changes", [{"archived": True}, {"number": None}, {"board_owner": "other"}])
def test_a_card_that_obeys_no_page_has_no_other_commands_either(changes: dict[str, Any]) -> None:
    assert choices(card(**changes), "admin") == {}


def test_a_form_means_the_command_of_its_name_with_its_text() -> None:
    assert of_form("cancel:r1", "") == Parsed("cancel", "")
    assert of_form("answer:r1-q1", " 2 \r\nmore") == Parsed("answer", "2\nmore")
    assert of_form("budget:r1", "+2\r\nmore") == Parsed("budget", "+2")
    assert question_of_choice("page:answer:r1-q1") == "r1-q1"
    assert [run_of_button(f"page:{it}") for it in ("cancel:r7", "answer:r7-q1", "stop-all")] == ["r7", "", ""]
