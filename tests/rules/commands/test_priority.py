"""`/cardinal priority urgent|high|normal|low|none`: how urgent a card is, and what else says so."""

from typing import Any

import pytest

from ledger.events.preference import PriorityChosen, PrioritySeen, RunReordered
from ledger.states import Priority, RunState
from rules.card.preferences import choose_priority, queue_priority
from rules.intents.outbound import UpdateFace
from rules.policy.model import Policy, parse
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, R1, asks, card, run

URGENT, HIGH = Priority.URGENT, Priority.HIGH
LABELS = "  labels: {hot: {priority: urgent}, later: {priority: low}, big: {max_turns: 99}}\n"


def by_priority(order: str = "priority") -> Policy:
    text = (
        f"version: 1\nboard:\n  queue_order: {order}\n{LABELS}  columns: {{Work: {{archetype: execution}}}}\n"
    )
    return parse(text, home="acme/board")


@pytest.mark.parametrize(
    ("text", "priority"),
    [("urgent", URGENT), ("`High`", HIGH), ("medium", Priority.NORMAL), ("P0", URGENT), ("none", None)],
)
def test_the_choice_is_recorded(text: str, priority: Priority | None) -> None:
    assert handled("priority", card(), text) == (PriorityChosen(CARD, priority, "bob"),)


@pytest.mark.parametrize("text", ["", "soon", "urgent high", "<b>", "p9"])
def test_any_other_word_is_answered_with_those_that_there_are(text: str) -> None:
    answer = told("priority", card(), text)
    assert answer.endswith("`/cardinal priority low` or `/cardinal priority none`.")


@pytest.mark.parametrize(
    ("known", "priority", "why"),
    [
        ({}, "normal", "by default"),
        ({"labels": ("Hot", "later")}, "urgent", "label `hot`"),
        ({"labels": ("hot",), "barred": ("hot",)}, "normal", "by default"),
        ({"labels": ("big",)}, "normal", "by default"),
        ({"labels": ("hot",), "priority_field": "🌋 P3"}, "low", "the board's field Priority says `🌋 P3`"),
        ({"priority_field": "Someday"}, "normal", "by default; the board's field Priority says `Someday`,"),
        ({"priority_field": "Low", "priority": HIGH, "priority_by": "bob"}, "high", "bob chose it"),
    ],
)
def test_a_command_counts_before_the_field_and_the_field_before_labels(
    known: dict[str, Any], priority: str, why: str
) -> None:
    chosen = choose_priority(by_priority(), card("Work", **known))
    assert (chosen.priority, chosen.why[: len(why)]) == (priority, why)


def test_a_queue_goes_by_priority_only_where_the_policy_says_so() -> None:
    urgent = card("Work", labels=("hot",))
    assert queue_priority(by_priority("position"), urgent) is Priority.NORMAL
    assert queue_priority(by_priority(), urgent) is Priority.URGENT


@pytest.mark.parametrize("event", [PriorityChosen(CARD, HIGH, "bob"), PrioritySeen(CARD, "High")])
def test_a_live_run_gets_its_new_place_at_once(event: PriorityChosen | PrioritySeen) -> None:
    high: dict[str, Any] = {"priority": HIGH, "priority_by": "bob"}
    queued = run(RunState.QUEUED)
    reordered = asks(card("Work", run=queued, **high), event, by=by_priority())
    assert reordered == (RunReordered(R1, Priority.HIGH), UpdateFace(CARD))
    for other, order in ((None, "priority"), (queued, "position")):
        assert asks(card("Work", run=other, **high), event, by=by_priority(order)) == (UpdateFace(CARD),)
