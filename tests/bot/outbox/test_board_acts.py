"""The board shows what Cardinal knows: faces, columns, the ticker; cards move and drafts become issues."""

from dataclasses import replace

import pytest

from bot.render.board.card_fields import OPTIONS, FaceField
from bot.render.board.face_choices import MARKS
from forge.store.base import Occurrence
from forge.store.board import FieldType, Item, Option
from forge.store.models import Issue
from ledger.events.board import (
    BoardSeen,
    CardConverted,
    CardExplained,
    CardMoved,
    CardSeen,
    CardStateChanged,
    Column,
)
from ledger.events.policy import PolicyLoaded, PolicyRejected
from ledger.events.publication import EntryGivenUp, EntryPublished
from ledger.events.pull import PullChanged
from ledger.events.run import CHECK, Progressed, RunEnded, RunQueued
from ledger.ids import CardId, RunId
from ledger.states import CardState, Ending, PullState, RunState
from rules.intents.outbound import (
    ConvertDraft,
    DescribeColumns,
    MoveCard,
    React,
    ReportPolicy,
    Say,
    UpdateFace,
    UpdateTicker,
)
from rules.text import state_word
from tests.bot.outbox.conftest import FINAL, Stage
from tests.bot.render.past import RUN
from tests.ledger.claims import claim_next


def value_of(stage: Stage, name: str, item: Item | None = None) -> object:
    field = (item or stage.item).project.field_named(name)
    assert field is not None
    value = (item or stage.item).values.get(field.node_id)
    if value is None:
        return None
    return value.option.name if value.option else value.content


def _shape(stage: Stage) -> tuple[str, tuple[Column, ...]]:
    (board_seen, *_) = (event for event in stage.events(BoardSeen) if isinstance(event, BoardSeen))
    return board_seen.status_field_id, board_seen.columns


def column_of(item: Item) -> str | None:
    column = item.column()
    return column.name if column else None


def draft(stage: Stage) -> tuple[Item, CardId]:
    item = stage.forge.store.projects.add_draft(stage.item.project, "An idea", "More.", actor=stage.alice)
    card_id = CardId(item.node_id)
    stage.happen(
        CardSeen(
            card_id,
            stage.board_id,
            item.content.node_id,
            None,
            None,
            "An idea",
            "More.",
            "alice",
            "Planning",
            CardState.DISCUSSING,
        )
    )
    return item, card_id


def test_the_longer_a_run_works_the_rarer_its_face_changes(stage: Stage) -> None:
    stage.do(UpdateFace(stage.card_id))
    stage.happen(CardStateChanged(stage.card_id, CardState.QUEUED, CardState.WORKING, ""))
    stage.past.step(RunState.PREPARING, RunState.WORKING)
    stage.clock.forward(600)
    stage.do(UpdateFace(stage.card_id))
    stage.forge.gateway.calls.clear()
    for n in range(50):
        stage.clock.forward(1)
        stage.happen(Progressed(RUN, f"line {n}"))
        stage.do(UpdateFace(stage.card_id))
    assert stage.calls("POST") == []
    stage.happen(CardStateChanged(stage.card_id, CardState.WORKING, CardState.NEEDS_INPUT, "a question"))
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Agent") == "🙋 needs input"


@pytest.mark.parametrize("on_top", [True, False])
def test_a_card_that_starts_to_need_someone_goes_to_the_top_once_if_the_policy_wants_it(
    stage: Stage, on_top: bool
) -> None:
    project = stage.item.project
    above = stage.forge.store.projects.add_draft(project, "An idea", "", actor=stage.alice)
    stage.forge.store.projects.move(stage.item, above, actor=stage.alice)
    columns = "columns: {In Progress: {archetype: execution}}"
    text = f"version: 1\nboard: {{{columns}, attention_on_top: {str(on_top).lower()}}}"
    stage.happen(PolicyLoaded(stage.board_id, "e", text, ""))
    stage.happen(CardStateChanged(stage.card_id, CardState.QUEUED, CardState.WORKING, ""))
    stage.do(UpdateFace(stage.card_id))
    assert project.items.index(stage.item) > project.items.index(above)
    stage.happen(CardStateChanged(stage.card_id, CardState.WORKING, CardState.NEEDS_INPUT, "a question"))
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert (project.items.index(stage.item) < project.items.index(above)) is on_top
    stage.forge.store.projects.move(stage.item, above, actor=stage.alice)
    stage.happen(CardExplained(stage.card_id, "a question: the second time"))
    stage.clock.forward(600)
    stage.do(UpdateFace(stage.card_id))
    assert project.items.index(stage.item) > project.items.index(above)  # a person put it there
    stage.happen(CardExplained(stage.card_id, "a question: the third time"))
    stage.clock.forward(600)
    stage.fault(method="POST", path="/graphql", status=502)
    stage.do(UpdateFace(stage.card_id))
    stage.clock.forward(600)
    stage.publish()  # a second try writes all fields, and moves nothing
    assert value_of(stage, "Progress") == "a question: the third time"
    assert project.items.index(stage.item) > project.items.index(above)


def test_a_face_is_written_though_github_lets_no_card_be_moved(stage: Stage) -> None:
    text = "version: 1\nboard: {columns: {In Progress: {archetype: execution}}, attention_on_top: true}"
    stage.happen(PolicyLoaded(stage.board_id, "e", text, ""))
    stage.fault(method="POST", path="/graphql", body="updateProjectV2ItemPosition", **FINAL)
    stage.happen(CardStateChanged(stage.card_id, CardState.QUEUED, CardState.FAILED, "it failed"))
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Progress") == "it failed"
    assert stage.events(EntryPublished)
    assert not stage.events(EntryGivenUp)


def test_the_eight_fields_are_made_once_and_written_in_one_request(stage: Stage) -> None:
    stage.happen(CardExplained(stage.card_id, "no worker is free"))
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Agent") == "⏳ queued"
    assert value_of(stage, "Run") == "r1 · 1st in the queue"
    assert value_of(stage, "Cost $") is None
    stage.forge.gateway.calls.clear()
    stage.happen(CardExplained(stage.card_id, "In Progress is full with 3 runs"))
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Progress") == "In Progress is full with 3 runs"
    assert len(stage.calls()) == 1
    events = stage.events(BoardSeen)
    assert len(events) == 2
    assert value_of(stage, "Waits for") == "a free slot"
    assert value_of(stage, "Validation") is None
    names = ("Agent", "Waits for", "Validation", "Progress", "Run", "Cost $", "Elapsed min", "PR")
    assert {*names} <= {field.name for field in events[1].fields}


def test_a_face_that_did_not_change_costs_no_call(stage: Stage) -> None:
    stage.do(UpdateFace(stage.card_id))
    stage.forge.gateway.calls.clear()
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert stage.calls() == []


def test_validation_and_what_the_card_waits_for_are_written_with_the_other_fields(stage: Stage) -> None:
    pull = stage.pull()
    stage.happen(CardStateChanged(stage.card_id, CardState.QUEUED, CardState.WORK_COMPLETE, "ready"))
    stage.happen(RunEnded(RUN, Ending.SUCCEEDED, "", "", ""))
    stage.do(UpdateFace(stage.card_id))
    assert (value_of(stage, "Validation"), value_of(stage, "Waits for")) == ("✅ passed", "a review")
    stage.push("a person's")
    stage.happen(PullChanged(stage.card_id, pull.issue.number, PullState.OPEN, True, pull.head_sha))
    stage.forge.gateway.calls.clear()
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Validation") == "not run"
    assert len(stage.calls()) == 1


def test_a_field_that_an_earlier_version_never_wrote_is_not_emptied(stage: Stage) -> None:
    stage.do(UpdateFace(stage.card_id))
    (written,) = (event for event in stage.events(EntryPublished) if isinstance(event, EntryPublished))
    known = " ".join(pair for pair in written.digest.split() if not pair.startswith("VALIDATION"))
    stage.happen(replace(written, digest=known))
    stage.forge.gateway.calls.clear()
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert stage.calls() == []


def test_a_field_that_has_nothing_to_say_any_more_is_cleared(stage: Stage) -> None:
    stage.happen(CardExplained(stage.card_id, "waits"))
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Progress") == "waits"
    stage.happen(CardExplained(stage.card_id, ""))
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Progress") in (None, "")


def test_after_a_lost_answer_every_field_is_written_again(stage: Stage) -> None:
    stage.do(UpdateFace(stage.card_id))
    stage.happen(CardExplained(stage.card_id, "waits"))
    stage.clock.forward(5)
    stage.fault(method="POST", path="/graphql$", status=502, after=True)
    stage.do(UpdateFace(stage.card_id))
    stage.happen(CardExplained(stage.card_id, ""))
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Progress") in (None, "")


def test_columns_say_what_a_drag_brings_and_are_written_only_when_different(stage: Stage) -> None:
    stage.do(DescribeColumns(CardId(stage.board_id)))
    status = stage.item.project.field_named("Status")
    assert status is not None
    described = {option.name: option.description for option in status.options}
    assert "agent" in described["In Progress"].lower()
    assert column_of(stage.item) == "In Progress"
    writes = len([call for call in stage.calls() if "Describe" in call])
    stage.clock.forward(5)
    stage.do(DescribeColumns(CardId(stage.board_id)))
    assert len([call for call in stage.calls() if "Describe" in call]) == writes == 1


def test_the_ticker_is_one_status_update_edited_in_place(stage: Stage) -> None:
    stage.do(UpdateTicker(CardId(stage.board_id)))
    stage.past.planned()
    stage.clock.forward(60)
    stage.do(UpdateTicker(CardId(stage.board_id)))
    (update,) = stage.item.project.status_updates
    assert update.body == "0 running · 0 waiting on you · 0 queued"
    stage.clock.forward(60)
    calls = len(stage.calls())
    stage.do(UpdateTicker(CardId(stage.board_id)))
    assert len(stage.calls()) == calls


def test_the_ticker_counts_no_runs_that_only_check(stage: Stage) -> None:
    stage.do(UpdateTicker(CardId(stage.board_id)))
    queued = (2, CHECK, "In Progress", "acme/shop", "cardinal/7-totals", "scripted", "push", "", "", False)
    stage.happen(RunQueued(RunId("r2"), stage.card_id, *queued))
    stage.clock.forward(60)
    stage.do(UpdateTicker(CardId(stage.board_id)))
    (update,) = stage.item.project.status_updates
    assert update.body == "0 running · 0 waiting on you · 1 queued"  # the run of the stage


def test_a_ticker_whose_first_answer_was_lost_is_not_posted_again(stage: Stage) -> None:
    stage.ask(UpdateTicker(CardId(stage.board_id)))
    stage.fault(method="POST", path="/graphql$", status=502, after=True)
    stage.publish()
    stage.clock.forward(600)
    stage.publish()
    (update,) = stage.item.project.status_updates
    assert update.body == "0 running · 0 waiting on you · 1 queued"


def test_a_move_is_known_at_once_as_cardinals_own(stage: Stage) -> None:
    stage.do(MoveCard(stage.card_id, "Review", "success:r1"))
    assert column_of(stage.item) == "Review"
    assert stage.events(CardMoved) == [CardMoved(stage.card_id, "In Progress", "Review", True, by="alice")]


def test_a_card_that_somebody_moved_on_stays_where_it_is(stage: Stage) -> None:
    stage.do(MoveCard(stage.card_id, "Review", "success:r1", source="Tasks"))
    assert column_of(stage.item) == "In Progress"
    stage.do(MoveCard(stage.card_id, "Review", "success:r2", source="In Progress"))
    assert column_of(stage.item) == "Review"


def test_somebody_whose_commanded_move_came_too_late_is_told(stage: Stage) -> None:
    late = MoveCard(stage.card_id, "Review", "command:1", source="Tasks", by="bob")
    stage.do(late)
    stage.do(replace(late, column="In Progress", about="command:2"))  # an earlier try, or somebody, did it
    (given_up,) = stage.events(EntryGivenUp)
    assert isinstance(given_up, EntryGivenUp)
    assert given_up.because == "someone moved it to In Progress meanwhile, so it did not go to Review"
    assert column_of(stage.item) == "In Progress"


def test_a_move_that_was_seen_and_undone_before_its_answer_came_is_not_told_again(stage: Stage) -> None:
    seen: list[str] = []

    def drag_back(occurrence: Occurrence) -> None:
        if occurrence.event == "projects_v2_item" and not seen:
            seen.append(occurrence.event)
            stage.happen(
                CardMoved(stage.card_id, "In Progress", "Review", True),
                CardMoved(stage.card_id, "Review", "Done", False),
            )

    stage.forge.store.listeners.append(drag_back)
    stage.do(MoveCard(stage.card_id, "Review", "success:r1"))
    assert seen
    assert len(stage.events(CardMoved)) == 2
    assert stage.past.row(stage.card_id).column == "Done"


def test_a_column_that_is_not_there_is_given_up_with_the_names_that_are(stage: Stage) -> None:
    stage.do(MoveCard(stage.card_id, "Shipping", "success:r1"))
    (event,) = stage.events(EntryGivenUp)
    assert isinstance(event, EntryGivenUp)
    assert "no column Shipping; it has Tasks, Planning" in event.because


def test_a_draft_becomes_an_issue_where_the_other_cards_are_and_then_talks(stage: Stage) -> None:
    item, card_id = draft(stage)
    counts = stage.do(ConvertDraft(card_id), Say(card_id, "a", "hello"))
    assert counts.settled == 2
    (converted,) = stage.events(CardConverted)
    assert isinstance(converted, CardConverted)
    assert converted.repository == "acme/shop"
    issue = stage.shop.issues[converted.number]
    assert len(issue.comments) == 1
    assert item.content is issue


def test_a_draft_that_somebody_converted_first_is_taken_as_it_is(stage: Stage) -> None:
    item, card_id = draft(stage)
    stage.forge.store.projects.convert_draft(item, stage.shop, actor=stage.alice)
    assert stage.do(ConvertDraft(card_id)).given_up == 0
    assert len(stage.events(CardConverted)) == 1


def test_a_draft_that_is_known_to_be_an_issue_elsewhere_needs_no_choice_of_a_repository(stage: Stage) -> None:
    _, card_id = draft(stage)
    stage.happen(CardConverted(card_id, "I_9", "acme/other", 9))
    assert stage.do(ConvertDraft(card_id)).given_up == 0


def test_words_about_a_draft_wait_until_it_is_an_issue(stage: Stage) -> None:
    item, card_id = draft(stage)
    stage.fault(method="POST", path="/graphql$", body="convertProjectV2Draft", status=502)
    counts = stage.do(ConvertDraft(card_id), Say(card_id, "a", "hello"))
    assert (counts.postponed, counts.settled) == (1, 0)
    stage.clock.forward(6)
    assert stage.publish().settled == 2
    assert isinstance(item.content, Issue)
    assert len(item.content.comments) == 1


def test_what_waits_for_a_conversion_looks_ever_more_rarely(stage: Stage) -> None:
    _, card_id = draft(stage)
    stage.ask(ConvertDraft(card_id))
    assert claim_next(stage.context.engine, "github", lease_s=7200, holder="another")
    assert stage.do(React(card_id, "issue", 5, "eyes")).postponed == 1
    stage.clock.forward(3600)
    postponed = []
    for _ in range(4):
        postponed.append(stage.publish().postponed)
        stage.clock.forward(100)
    assert postponed == [1, 0, 1, 0]


def test_words_about_a_draft_that_nobody_converts_are_given_up(stage: Stage) -> None:
    _, card_id = draft(stage)
    assert stage.do(Say(card_id, "a", "hello")).given_up == 1
    (given_up,) = stage.events(EntryGivenUp)
    assert isinstance(given_up, EntryGivenUp)
    assert "convert it to an issue" in given_up.because


def test_a_bad_policy_is_a_failed_check_on_its_commit_and_only_one(stage: Stage) -> None:
    home = stage.forge.store.repos.get("acme", "board")
    commit = stage.forge.store.repos.commit_of(home, "main")
    stage.happen(PolicyRejected(stage.board_id, "d", commit, ("line 3: unknown key `boord`",)))
    stage.fault(method="POST", path="/check-runs$", status=502, after=True, cut=True)
    stage.do(ReportPolicy(CardId(stage.board_id), commit))
    stage.clock.forward(6)
    stage.publish()
    (run,) = stage.forge.store.checks.on_commit(home, commit)
    assert (run.name, run.conclusion) == ("cardinal/policy", "failure")
    assert "unknown key" in str(run.output)


def test_a_board_with_texts_for_choices_still_shows_the_state(stage: Stage) -> None:
    stage.forge.store.projects.create_field(stage.item.project, "Agent", FieldType.TEXT)
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Agent") == "⏳ queued"


def test_fields_that_people_made_for_themselves_are_left_alone(stage: Stage) -> None:
    projects, project = stage.forge.store.projects, stage.item.project
    field = projects.create_field(project, "Validation", FieldType.TEXT)
    options = [Option("", "the customer", "PINK", "")]
    ours = projects.create_field(project, "Waits for", FieldType.SINGLE_SELECT, options)
    projects.set_value(stage.item, field, "by hand", actor=stage.alice)
    projects.set_value(stage.item, ours, ours.options[0].id, actor=stage.alice)
    pull = stage.pull()
    assert pull
    assert stage.do(UpdateFace(stage.card_id)).given_up == 0
    assert (value_of(stage, "Validation"), value_of(stage, "Waits for")) == ("by hand", "the customer")
    assert [option.name for option in ours.options] == ["the customer"]
    assert value_of(stage, "Agent") == "⏳ queued"
    ours.name = field.name = "Ours"
    stage.happen(BoardSeen(stage.board_id, "acme", 1, "Board", *_shape(stage), ()))
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert (value_of(stage, "Validation"), value_of(stage, "Waits for")) == ("✅ passed", "a free slot")


def test_a_field_of_peoples_that_shares_a_few_options_with_cardinals_is_left_alone(stage: Stage) -> None:
    projects, project = stage.forge.store.projects, stage.item.project
    options = [Option("", name, "PINK", "") for name in ("by the customer", "not run", "waived")]
    field = projects.create_field(project, "Validation", FieldType.SINGLE_SELECT, options)
    projects.set_value(stage.item, field, field.options[0].id, actor=stage.alice)
    assert stage.pull()
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Validation") == "by the customer"
    assert len(field.options) == 3


def test_an_option_that_a_person_renamed_is_made_again(stage: Stage) -> None:
    stage.do(UpdateFace(stage.card_id))
    field = stage.item.project.field_named("Validation")
    assert field is not None
    options = [replace(it, name="fine") if it.name == "✅ passed" else it for it in field.options]
    stage.forge.store.projects.update_field(field, options=options)
    assert stage.pull()
    stage.clock.forward(5)
    stage.do(UpdateFace(stage.card_id))
    assert value_of(stage, "Validation") == "✅ passed"


def test_a_state_is_chosen_again_where_somebody_made_the_options_anew(stage: Stage) -> None:
    stage.do(UpdateFace(stage.card_id))
    field = stage.item.project.field_named("Agent")
    assert field is not None
    assert [option.color for option in field.options if option.name == "⏳ queued"] == ["BLUE"]
    anew = [Option("", option.name, "PINK", "") for option in field.options]
    stage.forge.store.projects.update_field(field, options=anew)
    stage.happen(CardStateChanged(stage.card_id, CardState.QUEUED, CardState.FAILED, "it broke"))
    stage.clock.forward(5)
    assert stage.do(UpdateFace(stage.card_id)).given_up == 0
    assert value_of(stage, "Agent") == "❌ failed"


def test_every_state_that_a_card_shows_is_an_option_with_a_colour() -> None:
    shown = {f"{MARKS.get(state, '')} {state_word(state)}".strip() for state in CardState}
    assert shown - {""} == {*OPTIONS[FaceField.AGENT]}
