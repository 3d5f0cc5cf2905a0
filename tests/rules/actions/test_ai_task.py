"""ai_task: a model is asked once for each entry or exit."""

import re
from dataclasses import replace
from typing import Any

import pytest

from ledger.event import Event
from ledger.events.board import CardMoved
from ledger.events.conversation import AssistantFailed, TaskAnswered
from ledger.states import CardState, Ending
from rules.actions.ai_task import fill, unknown_fields
from rules.card import task_answer
from rules.decide import decide
from rules.intents.internal import ChangeCardState, QueueRun
from rules.intents.outbound import RunTask, Say
from rules.intents.rule_results import AddLabels, ExpandBody, FillField
from rules.snapshot import Mover, Snapshot
from tests.rules import scene
from tests.rules.scene import CARD, NOW, asks, card, ended, kinds, only, run, under

TASKS = scene.policy(
    "Tasks: {archetype: inbox, on_entry: [{action: ai_task, prompt: 'Tag %{title}', model: tiny}],"
    " on_exit: [{action: ai_task, prompt: Distil}]}"
)
IN = CardMoved(CARD, None, "Tasks", by_cardinal=False)
OUT = CardMoved(CARD, "Tasks", "Parking", by_cardinal=False)


def test_entering_and_leaving_ask_what_the_policy_says() -> None:
    entered = only(asks(card("Tasks", CardState.DRAFT), IN, by=TASKS), RunTask)
    assert (entered.rule, entered.prompt, entered.model) == ("Tasks/on_entry/0", "Tag %{title}", "tiny")
    run_task = only(asks(card("Parking", CardState.DRAFT), OUT, by=TASKS), RunTask)
    assert (run_task.rule, run_task.prompt, run_task.model) == ("Tasks/on_exit/0", "Distil", "small")


def test_two_entries_are_two_occasions_and_one_entry_is_one() -> None:
    tasks = [
        only(decide(TASKS, under(TASKS, card("Tasks", CardState.DRAFT)), IN, now).intents, RunTask).occasion
        for now in (NOW, NOW, NOW.replace(microsecond=1))
    ]
    assert tasks[0] == tasks[1] != tasks[2]


def test_a_draft_is_made_an_issue_because_the_answer_needs_a_place() -> None:
    draft = card("Tasks", CardState.DRAFT, repository=None, number=None)
    assert kinds(asks(draft, IN, by=TASKS))[-2:] == ["ConvertDraft", "RunTask"]


def test_the_answer_is_posted() -> None:
    say = only(asks(card("Tasks"), TaskAnswered(CARD, "Tasks/on_entry/0", "api"), by=TASKS), Say)
    assert say.text == "api"
    assert say.about.startswith("task:Tasks/on_entry/0:")


TRIAGE = scene.policy(
    "Tasks: {archetype: inbox, on_entry: [{action: ai_task, prompt: Sort, labels: [bug, api],"
    " field: Area, options: [Front, Back], brief: true, expand: true}]}"
)


def triage() -> RunTask:
    return only(asks(card("Tasks", CardState.DRAFT), IN, by=TRIAGE), RunTask)


def test_a_rule_that_sets_something_wants_a_form_and_another_one_words() -> None:
    wanted = task_answer.form(triage())
    keys = ["comment", "labels", "option", "brief", "body"]
    assert [key for key in keys if f"- `{key}`:" in wanted] == keys
    assert '["bug", "api"]' in wanted
    assert '["Front", "Back"]' in wanted
    plain = only(asks(card("Tasks", CardState.DRAFT), IN, by=TASKS), RunTask)
    assert task_answer.form(plain) == ""
    assert task_answer.read(plain, '{"labels": ["bug"]}').labels == ()


def test_what_the_model_chose_is_set_and_what_it_said_is_posted() -> None:
    filled = '{"comment": "Yes.", "labels": ["api"], "option": "Back", "brief": "See a.py.", "body": "Long."}'
    text = f"```json\n{filled}\n```"
    answered = task_answer.read(triage(), text, replaces="d1")
    assert (answered.labels, answered.option, answered.brief) == (("api",), "Back", "See a.py.")
    intents = asks(card("Tasks"), answered, by=TRIAGE)
    assert kinds(intents) == ["Say", "AddLabels", "FillField", "ExpandBody"]
    assert (only(intents, ExpandBody).body, only(intents, ExpandBody).replaces) == ("Long.", "d1")
    assert only(intents, AddLabels).labels == ("api",)
    assert (only(intents, FillField).field, only(intents, FillField).option) == ("Area", "Back")


def test_an_empty_form_sets_and_posts_nothing() -> None:
    assert asks(card("Tasks"), task_answer.read(triage(), "{}"), by=TRIAGE) == ()


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ('{"labels": ["bug", "admin"]}', "`admin` is none of its labels"),
        ('{"labels": "bug"}', "`labels`: "),
        ('{"option": "Middle"}', "`Middle` is not Front or Back"),
        ('{"brief": "' + "x" * 4001 + '"}', "`brief`: "),
        ("Set the label bug, please.", "it is not JSON"),
        ('["bug"]', "it is not an object"),
        ("[" * 100_000, "it is "),
        ('{"comment": null}', "`comment`: "),
    ],
)
def test_an_answer_that_is_not_in_the_form_sets_nothing(text: str, because: str) -> None:
    with pytest.raises(task_answer.TaskAnswerError, match=re.escape(because)):
        task_answer.read(triage(), text)


BRIEFED = scene.policy(
    "In Progress: {archetype: execution, on_entry: [{action: ai_task, prompt: Distil, brief: true},"
    " {action: start_run}]}"
)
CAME_IN = CardMoved(CARD, "Parking", "In Progress", by_cardinal=False)
ANSWER = TaskAnswered(CARD, "In Progress/on_entry/0", "", brief="See a.py.")
FAILURE = AssistantFailed(CARD, "the rule", "no answer", "In Progress/on_entry/0")


def waiting(**changes: Any) -> Snapshot:
    return card(state=CardState.BLOCKED, moved_at=NOW, **changes)


def test_a_run_starts_once_the_brief_before_it_is_written() -> None:
    entered = asks(card(state=CardState.DRAFT), CAME_IN, by=BRIEFED)
    assert "RunTask" in kinds(entered)
    assert "QueueRun" not in kinds(entered)
    assert "/cardinal retry" in only(entered, ChangeCardState).because
    assert only(asks(waiting(), ANSWER, by=BRIEFED), QueueRun).by == "alice"


def test_a_run_starts_also_where_no_brief_comes_of_it() -> None:
    intents = asks(waiting(), FAILURE, by=BRIEFED)
    assert kinds(intents)[0] == "Say"
    assert "QueueRun" in kinds(intents)


@pytest.mark.parametrize(
    ("snapshot", "event"),
    [
        (waiting(mover=Mover("eve", "read")), ANSWER),
        (waiting(run=ended(Ending.CANCELLED), begun=(NOW,), attempts=1), ANSWER),
        (card(run=run(), moved_at=NOW), ANSWER),
        (waiting(archived=True), ANSWER),
        (card("Parking", CardState.DRAFT), ANSWER),
        (waiting(), replace(ANSWER, rule="In Progress/on_exit/0")),
        (waiting(), replace(FAILURE, rule="")),
    ],
)
def test_an_answer_starts_nothing_else(snapshot: Snapshot, event: Event) -> None:
    assert "QueueRun" not in kinds(asks(snapshot, event, by=BRIEFED))


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
