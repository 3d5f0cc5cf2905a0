"""What an `ai_task` rule's model chose is set once, never over a person's choice, and failures say why."""

import pytest

from bot.render.markdown.marker import mark
from forge.store.board import FieldType, Option
from ledger.events.conversation import AssistantFailed, AssistantMetered, TaskAnswered
from ledger.events.policy import PolicyLoaded
from ledger.events.publication import EntryGivenUp
from ledger.ids import EntryKey
from ledger.views import expansions
from rules.intents.outbound import RunTask
from rules.intents.rule_results import AddLabels, ExpandBody, FillField, RestoreBody
from tests.bot.outbox.conftest import Stage
from tests.bot.outbox.test_assistant import POLICY
from tests.bot.outbox.test_assistant import planning as planning
from tests.bot.outbox.test_board_acts import value_of


def area(stage: Stage) -> str:
    """Make the field Area of the project; return its id."""
    options = [Option("", name, "GRAY", "") for name in ("Front", "Back")]
    project = stage.item.project
    return stage.forge.store.projects.create_field(project, "Area", FieldType.SINGLE_SELECT, options).node_id


def labels(stage: Stage) -> list[str]:
    return [label.name for label in stage.issue.labels]


def test_labels_are_added_once_and_stay_away_when_a_person_takes_them_off(stage: Stage) -> None:
    stage.do(AddLabels(stage.card_id, ("bug", "api"), "t@1"))
    assert labels(stage) == ["bug", "api"]
    stage.forge.store.issues.set_labels(stage.issue, ["bug"], actor=stage.alice)
    stage.do(AddLabels(stage.card_id, ("bug", "api"), "t@1"))
    assert labels(stage) == ["bug"]


def test_a_field_that_somebody_filled_stays_as_it_is(stage: Stage) -> None:
    area(stage)
    stage.do(FillField(stage.card_id, "Area", "Back", "t@1"))
    chosen = value_of(stage, "Area")
    assert chosen
    stage.do(FillField(stage.card_id, "Area", "Front", "t@2"))
    assert value_of(stage, "Area") == chosen


@pytest.mark.parametrize(
    ("field", "option", "because"),
    [("Team", "Back", "no single-select field `Team`"), ("Area", "Middle", "has no option `Middle`")],
)
def test_a_field_or_option_that_is_not_there_is_given_up(
    stage: Stage, field: str, option: str, because: str
) -> None:
    area(stage)
    stage.do(FillField(stage.card_id, field, option, "t@1"))
    (gone,) = stage.events(EntryGivenUp)
    assert isinstance(gone, EntryGivenUp)
    assert because in gone.because


def expand(stage: Stage, body: str, about: str, before: str) -> None:
    stage.do(ExpandBody(stage.card_id, "Tasks/on_entry/0", body, expansions.digest(before), about))


def test_a_description_is_written_over_the_old_one_which_stays_below(stage: Stage) -> None:
    own = stage.past.row(stage.card_id).body
    stage.issue.body = own
    expand(stage, "Goal, @bob: totals.", "t@1", own)
    assert stage.issue.body.startswith("Goal, ")
    assert "@bob" not in stage.issue.body
    assert f"<details><summary>As it was before</summary>\n\n{own}\n\n</details>" in stage.issue.body
    card = stage.past.row(stage.card_id)
    assert (card.body, card.expanded) == (own, True)
    expand(stage, "Shorter.", "t@2", own)
    assert stage.issue.body.count("<details>") == 1
    assert "totals" not in stage.issue.body


def test_a_description_that_people_edited_meanwhile_stays(stage: Stage) -> None:
    own = stage.past.row(stage.card_id).body
    stage.issue.body = f"{own} And VAT."
    expand(stage, "Goal.", "t@1", own)
    assert stage.issue.body == f"{own} And VAT."
    (gone,) = stage.events(EntryGivenUp)
    assert isinstance(gone, EntryGivenUp)
    assert "someone edited it in the meantime" in gone.because


def test_a_description_that_was_written_before_a_crash_is_known_again(stage: Stage) -> None:
    own = stage.past.row(stage.card_id).body
    stage.issue.body = mark("Goal.", EntryKey(f"expand:{stage.card_id}:t@1"))
    expand(stage, "Goal.", "t@1", own)
    assert stage.calls("PATCH") == []
    assert stage.past.row(stage.card_id).expanded


def test_the_old_description_is_brought_back_unless_somebody_edited_the_new_one(stage: Stage) -> None:
    own = stage.past.row(stage.card_id).body
    stage.issue.body = own
    expand(stage, "Goal.", "t@1", own)
    written = stage.issue.body
    stage.issue.body = f"{written} And VAT."
    stage.do(RestoreBody(stage.card_id, "command:1"))
    assert stage.issue.body == f"{written} And VAT."
    assert len(stage.events(EntryGivenUp)) == 1
    stage.issue.body = written
    stage.do(RestoreBody(stage.card_id, "command:2"))
    assert (stage.issue.body, stage.past.row(stage.card_id).expanded) == (own, False)


@pytest.mark.parametrize(("prompt", "fits"), [("Check the criteria", False), ("Sort", True)])
def test_an_answer_in_another_form_is_paid_for_and_fails_at_once(
    planning: Stage, prompt: str, fits: bool
) -> None:
    talk = planning.config.scenarios / "talk.yml"
    form = """
chat:
  - {when: Check, say: It is a bug.}
  - {when: "`labels`: .*bug", say: '{"labels": ["bug"]}'}
"""
    talk.write_text(form, encoding="utf-8")
    planning.ask(RunTask(planning.card_id, "Planning/on_entry/0", prompt, "", "m-1", labels=("bug",)))
    planning.publish("assist")
    assert len(planning.events(AssistantMetered)) == 1
    answered, failed = planning.events(TaskAnswered), planning.events(AssistantFailed)
    if fits:
        assert answered == [TaskAnswered(planning.card_id, "Planning/on_entry/0", "", ("bug",))]
    else:
        assert answered == []
        (failure,) = failed
        assert isinstance(failure, AssistantFailed)
        assert "not in the form that the rule wants" in failure.because


def test_a_rule_of_a_column_with_a_slash_in_its_name_is_carried_out(planning: Stage) -> None:
    policy = f'{POLICY}    "R/D": {{archetype: inbox, agent: scripted, model: talk}}\n'
    planning.happen(PolicyLoaded(planning.board_id, "slash", policy, "c"))
    planning.ask(RunTask(planning.card_id, "R/D/on_entry/0", "Check the criteria", "", "m-1"))
    planning.publish("assist")
    assert planning.events(TaskAnswered) == [
        TaskAnswered(planning.card_id, "R/D/on_entry/0", "Two are missing.")
    ]
