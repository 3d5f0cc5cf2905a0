"""Everything that a merge takes, as ticks: all are met exactly where the merge is not refused."""

from itertools import product
from typing import Any

from ledger.states import CardState, Gate
from rules.runs.gate import list_merge_conditions, unmergeable
from tests.rules import scene
from tests.rules.scene import card, ended, pull

POLICY = scene.policy("Done: {archetype: terminal, on_entry: [{action: merge, requires: approved}]}")


def test_all_conditions_are_met_exactly_where_nothing_stands_in_the_way_of_a_merge() -> None:
    heads, verdicts = ("abc123", "fedcba"), ("none", "approved", "changes_requested")
    seen = set()
    for gate, head, verdict, draft, run, given_up in product(
        Gate, heads, verdicts, (True, False), (None, ended()), (True, False)
    ):
        known: dict[str, Any] = {
            "verdict": verdict,
            "approved_head": head,
            "given_up": given_up,
            "closed": "not_planned",
        }
        unfinished: dict[str, Any] = {"draft": draft, "unfinished": draft}
        snapshot = card("Done", CardState.APPROVED, run=run, pull=pull(gate=gate, **unfinished), **known)
        assert snapshot.open_pull is not None
        conditions = list_merge_conditions(POLICY, snapshot, snapshot.open_pull)
        met = all(merge_condition.is_met for merge_condition in conditions)
        assert met == (not unmergeable(snapshot, snapshot.open_pull, "approved")), conditions
        assert all(merge_condition.text[0].isupper() for merge_condition in conditions)
        seen.add(met)
    assert seen == {True, False}


def test_a_card_elsewhere_is_told_where_to_go_and_a_waived_check_did_not_pass() -> None:
    snapshot = card("QA", CardState.APPROVED, run=ended(), pull=pull(gate=Gate.NOTHING), pending_threads=2)
    assert snapshot.open_pull is not None
    texts = {it.text: it.is_met for it in list_merge_conditions(POLICY, snapshot, snapshot.open_pull)}
    assert texts["The policy asks for no checks of abc123"]
    assert not texts["Move the card to Done to merge it"]
    assert not texts["2 review comments still open"]
