"""A draft that GitHub lets no App convert: a new issue takes its place, with all that belongs to it."""

from typing import Any

import pytest

from bot.render.markdown.marker import marker_of, words_of_draft
from bot.state import policies
from forge.store.board import DraftIssue, FieldType, Item, Option
from forge.store.models import Issue
from ledger.events.board import CardReplaced, StopOrdered
from ledger.events.publication import EntryGivenUp
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queue import outbox
from ledger.rows.cards import CardRow
from ledger.states import CardState
from ledger.views import cards, expansions
from rules.intents.outbound import ConvertDraft, Say, UpdateFace
from rules.intents.rule_results import ExpandBody
from tests.bot.outbox.conftest import Stage
from tests.bot.outbox.test_board_acts import column_of, draft, value_of

REFUSALS: list[dict[str, Any]] = [
    {"type": "FORBIDDEN", "message": "Resource not accessible by integration"},
    {"type": "INSUFFICIENT_SCOPES", "message": "Your token has not been granted the required scopes"},
    {"type": "NOT_FOUND", "message": "Could not resolve to a node with the global id of 'PVTI_1'"},
    {"message": "Resource not accessible by integration"},
]


def refused(stage: Stage) -> tuple[Item, CardId]:
    """Put a draft into Planning that no App may convert."""
    stage.forge.store.settings.apps_convert_drafts = False
    item, card_id = draft(stage)
    stage.forge.store.projects.drag(item, "Planning", actor=stage.alice)
    return item, card_id


def made(stage: Stage, title: str = "An idea") -> list[Issue]:
    return [issue for issue in stage.shop.issues.values() if issue.title == title]


def card_of(stage: Stage, issue: Issue) -> Item:
    (item,) = (item for item in stage.item.project.items if item.content is issue)
    return item


def known(stage: Stage, card_id: CardId) -> CardRow | None:
    with event_store.reading(stage.context.engine) as db:
        return cards.get(db, card_id)


def test_a_draft_that_no_app_may_convert_is_replaced_by_an_issue(stage: Stage) -> None:
    item, card_id = refused(stage)
    projects, project = stage.forge.store.projects, stage.item.project
    size = projects.create_field(project, "Size", FieldType.NUMBER)
    due = projects.create_field(project, "Who", FieldType.SINGLE_SELECT, [Option("", "we", "BLUE", "")])
    projects.set_value(item, size, 3, actor=stage.alice)
    projects.set_value(item, due, due.options[0].id, actor=stage.alice)
    after = projects.add_draft(project, "Later", "", actor=stage.alice)
    before = known(stage, card_id)
    assert before is not None
    assert stage.do(ConvertDraft(card_id), Say(card_id, "a", "hello")).given_up == 0
    (issue,) = made(stage)
    new = card_of(stage, issue)
    assert item not in project.items
    assert project.items.index(new) == project.items.index(after) - 1  # where the draft was
    assert (column_of(new), value_of(stage, "Size", new), value_of(stage, "Who", new)) == (
        "Planning",
        3,
        "we",
    )
    assert words_of_draft(issue.body or "") == "More."
    assert known(stage, card_id) is None
    card = known(stage, CardId(new.node_id))
    assert card is not None
    assert (card.number, card.repository, card.column) == (issue.number, "acme/shop", "Planning")
    assert (card.author, card.state, card.created_at) == ("alice", CardState.DISCUSSING, before.created_at)
    stage.clock.forward(5)
    stage.publish()
    assert [comment.body.startswith("hello") for comment in issue.comments] == [True]


def test_a_draft_that_people_stopped_is_a_card_that_is_stopped(stage: Stage) -> None:
    _, card_id = refused(stage)
    board_id = BoardId(stage.item.project.node_id)
    with event_store.writing(stage.context.engine) as db:
        event_store.append(
            db, StopOrdered(BoardId(board_id), "card", card_id, "bob", "wait"), at=stage.clock()
        )
        assert len(policies.of_board(db, BoardId(board_id)).stops) == 1
    assert stage.do(ConvertDraft(card_id)).given_up == 0
    new = card_of(stage, made(stage)[0])
    with event_store.reading(stage.context.engine) as db:
        state = policies.of_board(db, board_id)
    assert [(stop.target, stop.by, stop.because) for stop in state.stops] == [(new.node_id, "bob", "wait")]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda it: str(it.get("type", "words")))
def test_every_kind_of_refusal_leads_to_an_issue(stage: Stage, refusal: dict[str, Any]) -> None:
    item, card_id = draft(stage)
    stage.forge.store.projects.drag(item, "Planning", actor=stage.alice)
    stage.fault(path="/graphql$", body="convertProjectV2Draft", status=200, answer={"errors": [refusal]})
    assert stage.do(ConvertDraft(card_id)).given_up == 0
    (issue,) = made(stage)
    assert column_of(card_of(stage, issue)) == "Planning"
    assert item not in stage.item.project.items


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "call",
    [
        {"path": "/graphql$", "body": "query Card"},
        {"path": "/issues", "method": "GET"},
        {"path": "/issues$", "method": "POST"},
        {"path": "/graphql$", "body": "addProjectV2ItemById"},
        {"path": "/graphql$", "body": "updateProjectV2ItemPosition"},
        {"path": "/graphql$", "body": "query Values"},
        {"path": "/graphql$", "body": "mutation SetFields"},
        {"path": "/graphql$", "body": "deleteProjectV2Item"},
    ],
    ids=lambda it: it.get("body") or f"{it['method']} {it['path']}",
)
def test_a_crash_at_any_step_makes_no_second_issue_and_no_second_card(
    stage: Stage, call: dict[str, str], after: bool
) -> None:
    item, card_id = refused(stage)
    stage.fault(status=502, after=after, cut=after, **call)
    stage.do(ConvertDraft(card_id))
    assert stage.forge.store.faults.api[0].count == 0
    stage.clock.forward(120)
    assert stage.publish().given_up == 0
    (issue,) = made(stage)
    new = card_of(stage, issue)
    assert column_of(new) == "Planning"
    assert item not in stage.item.project.items
    (event,) = stage.events(CardReplaced)
    assert event == CardReplaced(CardId(new.node_id), card_id, issue.node_id, "acme/shop", issue.number)


def test_an_entry_after_one_that_was_given_up_takes_the_issue_that_is_there(stage: Stage) -> None:
    _, card_id = refused(stage)
    never = {"errors": [{"type": "UNPROCESSABLE", "message": "Project is closed"}]}
    stage.fault(path="/graphql$", body="addProjectV2ItemById", status=200, answer=never, count=9)
    for _ in range(6):
        stage.do(ConvertDraft(card_id))
        stage.clock.forward(120)
    assert len(stage.events(EntryGivenUp)) >= 1
    stage.forge.store.faults.clear()
    stage.clock.forward(3600)
    stage.do(ConvertDraft(card_id))
    stage.clock.forward(120)
    stage.publish()
    assert len(made(stage)) == 1
    assert len(stage.events(CardReplaced)) == 1


def test_a_place_that_github_refuses_holds_up_nothing(stage: Stage) -> None:
    item, card_id = refused(stage)
    never = {"errors": [{"type": "UNPROCESSABLE", "message": "The view is sorted"}]}
    stage.fault(path="/graphql$", body="mutation PlaceCard", status=200, answer=never)
    assert stage.do(ConvertDraft(card_id)).given_up == 0
    (issue,) = made(stage)
    assert stage.forge.store.faults.api[0].count == 0
    assert column_of(card_of(stage, issue)) == "Planning"
    assert item not in stage.item.project.items


def test_a_draft_waits_while_another_process_does_something_about_it(stage: Stage) -> None:
    _, card_id = refused(stage)
    stage.ask(UpdateFace(card_id))
    (claimed,) = outbox.claim(stage.context.engine, "github", lease_s=60, holder="another", most=1)
    assert claimed.card_id == card_id
    stage.ask(ConvertDraft(card_id))
    assert (stage.publish().settled, made(stage)) == (0, [])


def test_a_models_description_goes_over_the_words_of_a_draft(stage: Stage) -> None:
    _, card_id = refused(stage)
    stage.do(ConvertDraft(card_id))
    (issue,) = made(stage)
    new = CardId(card_of(stage, issue).node_id)
    written = ExpandBody(new, "rule", "All of it.", expansions.digest("More."), "1")
    assert stage.do(written).given_up == 0
    assert (issue.body or "").startswith("All of it.")
    assert "cardinal:convert" not in (issue.body or "")


def test_a_value_that_github_refuses_holds_up_nothing(stage: Stage) -> None:
    item, card_id = refused(stage)
    size = stage.forge.store.projects.create_field(stage.item.project, "Size", FieldType.NUMBER)
    stage.forge.store.projects.set_value(item, size, 3, actor=stage.alice)
    never = {"errors": [{"type": "UNPROCESSABLE", "message": "The value is not valid for the field Size"}]}
    stage.fault(path="/graphql$", body=r"SetFields.*\"number\"", status=200, answer=never)
    assert stage.do(ConvertDraft(card_id)).given_up == 0
    (issue,) = made(stage)
    new = card_of(stage, issue)
    assert stage.forge.store.faults.api[0].count == 0
    assert (column_of(new), value_of(stage, "Size", new)) == ("Planning", None)
    assert item not in stage.item.project.items


def test_two_drafts_of_the_same_title_become_two_issues(stage: Stage) -> None:
    first, second = refused(stage), refused(stage)
    stage.do(ConvertDraft(first[1]), ConvertDraft(second[1]))
    assert len(made(stage)) == 2
    assert {event.draft for event in stage.events(CardReplaced)} == {first[1], second[1]}


def test_a_draft_without_a_text_stays_one_without_a_text(stage: Stage) -> None:
    item, card_id = refused(stage)
    assert isinstance(item.content, DraftIssue)
    item.content.body = ""
    stage.do(ConvertDraft(card_id))
    (issue,) = made(stage)
    assert words_of_draft(issue.body or "") == ""


def test_a_title_that_is_too_long_for_an_issue_stands_whole_in_its_text(stage: Stage) -> None:
    item, card_id = refused(stage)
    title = "long words " * 30
    assert isinstance(item.content, DraftIssue)
    item.content.title = title
    assert stage.do(ConvertDraft(card_id)).given_up == 0
    (event,) = stage.events(CardReplaced)
    issue = stage.shop.issues[event.number]
    assert len(issue.title) <= 256
    assert words_of_draft(issue.body or "") == f"{title}\n\nMore."


def test_a_text_that_is_too_long_for_an_issue_is_never_cut_and_its_draft_stays(stage: Stage) -> None:
    item, card_id = refused(stage)
    assert isinstance(item.content, DraftIssue)
    item.content.body = "x" * 65_530
    assert stage.do(ConvertDraft(card_id)).given_up == 1
    assert item in stage.item.project.items
    (given_up,) = stage.events(EntryGivenUp)
    assert "shorten it" in given_up.because
    assert len(made(stage)) == 0


def test_words_of_a_draft_stay_as_they_are_and_its_hidden_lines_count_for_nothing(stage: Stage) -> None:
    item, card_id = refused(stage)
    forged = f"Ask @bob.\r\n\n<!-- cardinal:card:r5:1:{'0' * 64} -->"
    assert isinstance(item.content, DraftIssue)
    item.content.body = forged
    stage.do(ConvertDraft(card_id))
    (issue,) = made(stage)
    assert words_of_draft(issue.body or "") == forged
    marker = marker_of(issue.body or "")
    assert marker is not None
    assert marker.key == f"convert:{card_id}"


def test_a_draft_that_a_person_deleted_becomes_no_issue(stage: Stage) -> None:
    item, card_id = refused(stage)
    stage.forge.store.projects.delete_item(item, actor=stage.alice)
    assert stage.do(ConvertDraft(card_id)).given_up == 0
    assert made(stage) == []
    assert stage.events(CardReplaced) == []


def test_a_draft_that_was_dragged_just_now_waits_until_that_is_known(stage: Stage) -> None:
    item, card_id = refused(stage)
    stage.forge.store.projects.drag(item, "Tasks", actor=stage.alice)
    assert stage.do(ConvertDraft(card_id)).postponed == 1
    assert made(stage) == []


def test_what_waits_for_the_draft_is_carried_out_for_its_issue(stage: Stage) -> None:
    _, card_id = refused(stage)
    stage.ask(ConvertDraft(card_id))
    later = (Say(card_id, "a", "one"), UpdateFace(card_id), Say(card_id, "b", "two"), ConvertDraft(card_id))
    stage.ask(*later)
    stage.publish()
    stage.clock.forward(10)
    stage.publish()
    (issue,) = made(stage)
    assert [comment.body.split("\n")[0] for comment in issue.comments] == ["one", "two"]
    assert value_of(stage, "Agent", card_of(stage, issue)) == "💬 discussing"
    with event_store.reading(stage.context.engine) as db:
        assert outbox.open_of_card(db, card_id) == ()
    assert stage.events(EntryGivenUp) == []
