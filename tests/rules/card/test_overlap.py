"""Work on the same files is said once on the card; no two cards ever wait for each other."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events.run import BranchExported
from ledger.ids import CardId, RunId
from ledger.rows.same_issue import SiblingRow
from rules.card import overlap
from rules.intents.outbound import Say
from rules.policy.model import parse
from tests.rules.scene import BOARD, POLICY, R1, asks, card, only, run


def a_sibling(run_id: str, at_work: bool, pull: int, files: tuple[str, ...]) -> SiblingRow:
    return SiblingRow(CardId("PVTI_9"), BOARD, RunId(run_id), at_work, pull, files)


PULL = a_sibling("r7", False, 9, ("shop/cart.py",))
LIVE = a_sibling("r8", True, 0, ("a.py", "b.py", "c.py", "`d`.py", "e.py"))
EXPORTED = BranchExported(R1, "cardinal/12-add-login", "b" * 40, "a" * 40, 1, 2, 1, ("shop/cart.py",))


def test_the_card_says_who_changes_which_of_its_files() -> None:
    say = only(asks(card(run=run(), shared=(PULL, LIVE)), EXPORTED), Say)
    assert say.text == (
        "r1 works on files that others change: pull request #9 changes `shop/cart.py`, and r8 changes `a.py`,"
        " `b.py`, `c.py` and 2 more files. The one merged second has to be rebased: review them together,"
        " or pause one with `/cardinal pause`."
    )
    assert say.about == "overlap:r1:#9,r8"  # the same comment, until somebody else changes them too


@pytest.mark.parametrize(
    ("seen", "rule"),
    [
        (card(run=run()), "warn"),
        (card(run=run(), shared=(PULL,)), "ignore"),
        (card(run=run(mode="investigate"), shared=(PULL,)), "warn"),
        (card(run=run(run_id=RunId("r2")), shared=(PULL,)), "warn"),
    ],
    ids=["nobody else", "ignored", "nothing is changed", "an older run"],
)
def test_it_says_nothing_otherwise(seen, rule) -> None:  # type: ignore[no-untyped-def]
    board = POLICY.board.model_copy(update={"overlap": rule})
    assert asks(seen, EXPORTED, by=POLICY.model_copy(update={"board": board})) == ()


def test_a_run_waits_for_live_runs_and_for_older_pull_requests() -> None:
    assert overlap.overlap_obstacle((PULL,), 0) == (
        "pull request #9 changes `shop/cart.py` as well: it waits until that is merged or closed"
        " (`overlap: wait`)"
    )
    assert overlap.overlap_obstacle((PULL,), 12)
    assert not overlap.overlap_obstacle((PULL,), 5)
    assert overlap.overlap_obstacle((LIVE,), 5)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=6))
def test_no_cards_wait_in_a_circle(cards: list[tuple[bool, int]]) -> None:
    """Each card is at work or waits in the queue, with or without a pull request, on the same files."""
    known = [
        a_sibling(f"r{n}", live, 10 * pull and 10 * pull + n, ("a",)) for n, (live, pull) in enumerate(cards)
    ]
    waits = {
        it.run_id: {shared.run_id for shared in overlap.holding((o for o in known if o != it), it.pull)}
        for it in known
        if not it.at_work
    }
    while waits:
        free = [run_id for run_id, held_by in waits.items() if not held_by & waits.keys()]
        assert free, waits
        waits = {run_id: held_by for run_id, held_by in waits.items() if run_id not in free}


def test_the_policy_knows_three_ways() -> None:
    text = "version: 1\nboard: {overlap: wait, columns: {Tasks: {archetype: inbox}}}"
    assert parse(text, home="acme/board").board.overlap == "wait"
    assert replace(PULL, pull=0).name == "r7"
