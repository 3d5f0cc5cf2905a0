"""ai_task: a model is asked once for each entry or exit."""

import pytest

from ledger.events.board import CardMoved
from ledger.events.conversation import TaskAnswered
from ledger.states import CardState
from rules.card.prompt_template import fill, unknown_fields
from rules.decide import decide
from rules.intents.outbound import RunTask, Say
from tests.rules import scene
from tests.rules.scene import CARD, NOW, asks, card, kinds, only

TASKS = scene.policy(
    "Tasks: {archetype: inbox, on_entry: [{action: ai_task, prompt: 'Tag %{title}', model: tiny}],"
    " on_exit: [{action: ai_task, prompt: Distil}]}"
)
IN = CardMoved(CARD, None, "Tasks", by_cardinal=False)
OUT = CardMoved(CARD, "Tasks", "Parking", by_cardinal=False)


def test_entering_and_leaving_ask_what_the_policy_says() -> None:
    entered = only(asks(card("Tasks", CardState.DRAFT), IN, by=TASKS), RunTask)
    assert (entered.rule, entered.prompt, entered.model) == ("Tasks/on_entry/0", "Tag %{title}", "tiny")
    left = only(asks(card("Parking", CardState.DRAFT), OUT, by=TASKS), RunTask)
    assert (left.rule, left.prompt, left.model) == ("Tasks/on_exit/0", "Distil", "small")


def test_two_entries_are_two_occasions_and_one_entry_is_one() -> None:
    tasks = [
        only(decide(TASKS, card("Tasks", CardState.DRAFT), IN, now).intents, RunTask).occasion
        for now in (NOW, NOW, NOW.replace(microsecond=1))
    ]
    assert tasks[0] == tasks[1] != tasks[2]


def test_a_draft_is_made_an_issue_because_the_answer_needs_a_place() -> None:
    draft = card("Tasks", CardState.DRAFT, repository=None, number=None)
    assert kinds(asks(draft, IN, by=TASKS))[-2:] == ["ConvertDraft", "RunTask"]


def test_the_answer_is_posted() -> None:
    said = only(asks(card("Tasks"), TaskAnswered(CARD, "Tasks/on_entry/0", "api"), by=TASKS), Say)
    assert said.text == "api"
    assert said.about.startswith("task:Tasks/on_entry/0:")


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("Tag %{title}", "Tag %{description}"),
        ("100% {title} %{nobody} %{", "100% {title} %{nobody} %{"),
        ("%{description}", "\\1 $(id)"),
    ],
)
def test_what_a_card_says_is_filled_in_once_and_never_read_as_a_template(template: str, filled: str) -> None:
    assert fill(template, {"title": "%{description}", "description": "\\1 $(id)"}) == filled


def test_fields_that_nobody_knows_are_found() -> None:
    assert unknown_fields("%{title} %{titel}") == ("%{titel}",)
