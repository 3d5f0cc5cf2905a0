"""The board as GitHub shows it, and what Cardinal writes on it."""

import re

import pytest

from bot.github.api import project_fields
from bot.github.api import projects as board
from bot.github.api.project_models import CardReading
from bot.github.api.project_pages import survey
from bot.github.client import Hub
from bot.github.errors import NotFoundError, RateLimitedError, RefusedError, UnavailableError
from forge.store.board import FieldType, Item, Option
from forge.store.faults import ApiFault
from forge.store.models import Issue
from ledger.events.board import BoardSeen
from ledger.ids import BoardId, CardId
from tests.bot.github.conftest import Scripted
from tests.bot.github.world import COLUMNS, World

HOSTILE = "'; DROP TABLE cards; -- <script>\u202egnp</script> \"} \\ $(rm -rf /) %00 \U0001f600"


def shape(world: World) -> BoardSeen:
    return board.read_board(world.hub, "acme", world.board.number)


def read(world: World, card_id: str) -> CardReading:
    reading = board.read_card(world.hub, CardId(card_id))
    assert reading is not None
    return reading


def test_a_board_is_read_with_its_columns_and_fields(world: World) -> None:
    event = shape(world)
    assert (event.title, event.owner, event.number) == ("Shop board", "acme", world.board.number)
    assert tuple(column.name for column in event.columns) == COLUMNS
    assert event.status_field_id in [field.field_id for field in event.fields if field.name == "Status"]
    assert ("Title", "TITLE") in [(field.name, field.kind) for field in event.fields]


def test_a_board_that_is_not_there_is_an_error(world: World) -> None:
    for owner, number in (("acme", 99), ("alice", 1), ("nobody", 1)):
        with pytest.raises(NotFoundError):
            board.read_board(world.hub, owner, number)


def test_a_card_is_read_with_its_issue(world: World) -> None:
    item = world.card(HOSTILE, "In Progress", body=HOSTILE)
    reading = read(world, item.node_id)
    assert (reading.kind, reading.repository, reading.default_branch) == ("Issue", "acme/shop", "main")
    assert (reading.title, reading.body, reading.author, reading.labels) == (
        HOSTILE,
        HOSTILE,
        "alice",
        ("a", "b"),
    )
    assert (reading.column, reading.state, reading.state_reason, reading.archived) == (
        "In Progress",
        "open",
        "",
        False,
    )
    assert (reading.owner, reading.board_number, reading.board_id) == (
        "acme",
        world.board.number,
        world.board.node_id,
    )
    assert reading.updated_at.tzinfo is not None


def test_a_closed_issue_says_why(world: World) -> None:
    item = world.card("Do it")
    issue = world.shop.issues[1]
    world.forge.store.issues.set_state(issue, "closed", "not_planned", actor=world.alice)
    reading = read(world, item.node_id)
    assert (reading.state, reading.state_reason) == ("closed", "not_planned")


def test_a_draft_issue_has_no_repository_until_it_is_converted(world: World) -> None:
    item = world.forge.store.projects.add_draft(world.board, "Idea", "Words", actor=world.alice)
    reading = read(world, item.node_id)
    assert (reading.kind, reading.repository, reading.number, reading.title) == (
        "DraftIssue",
        None,
        None,
        "Idea",
    )
    draft = board.convert_draft(world.hub, reading.card_id, "acme/shop")
    card_reading = read(world, item.node_id)
    assert (card_reading.kind, card_reading.repository, card_reading.number) == (
        "Issue",
        draft.repository,
        draft.number,
    )
    assert card_reading.content_id == draft.content_id != reading.content_id


def test_a_card_of_a_pull_request_is_told_apart(world: World) -> None:
    store = world.forge.store
    store.repos.create_ref(world.shop, "refs/heads/x", store.repos.commit_of(world.shop), actor=world.alice)
    store.repos.write_files(world.shop, "x", {"a": b"1"}, "More", actor=world.alice)
    pull = store.pulls.create(world.shop, "P", "", "x", "main", actor=world.alice)
    item = store.projects.add(world.board, pull, actor=world.alice)
    reading = read(world, item.node_id)
    assert (reading.kind, reading.state) == ("PullRequest", "open")


def test_a_deleted_card_is_none_and_so_is_nonsense(world: World) -> None:
    item = world.card("Do it")
    world.forge.store.projects.delete_item(item, actor=world.alice)
    assert board.read_card(world.hub, CardId(item.node_id)) is None
    assert board.read_card(world.hub, CardId("PVTI_nonsense")) is None


def test_an_archived_card_is_seen_as_archived(world: World) -> None:
    item = world.card("Do it", "Tasks")
    world.forge.store.projects.set_archived(item, True, actor=world.alice)
    assert read(world, item.node_id).archived
    assert board.read_column(world.hub, BoardId(world.board.node_id), "Tasks") == ()


def test_a_column_is_read_from_top_to_bottom_over_pages(world: World) -> None:
    items = [world.card(f"Card {n}", "Tasks" if n % 2 else "In Progress") for n in range(205)]
    wanted = tuple(item.node_id for item in world.board.items if item in items[1::2])
    assert board.read_column(world.hub, BoardId(world.board.node_id), "Tasks") == wanted
    assert len(wanted) == 102


def test_a_column_whose_name_is_part_of_another_is_read_alone(world: World) -> None:
    item = world.card("Do it", "Tasks")
    world.card("Other", "Planning")
    world.card("None")
    assert board.read_column(world.hub, BoardId(world.board.node_id), "Tasks") == (item.node_id,)
    assert board.read_column(world.hub, BoardId(world.board.node_id), "tasks") == ()
    assert board.read_column(world.hub, BoardId(world.board.node_id), 'a" status:"Tasks') == ()


def test_a_sweep_sees_every_card_but_those_of_skipped_columns(world: World) -> None:
    a, b, c = world.card("A", "Tasks"), world.card("B"), world.card("C", "Done")
    reading = survey(world.hub, world.config.board, "acme/shop", ("Done", 'Odd "one"'), [None])
    swept = reading.pages[0].stubs
    assert {(stub.card_id, stub.column) for stub in swept} == {(a.node_id, "Tasks"), (b.node_id, None)}
    assert len(survey(world.hub, world.config.board, "acme/gone", (), [None]).pages[0].stubs) == 3
    assert c in world.board.items


def test_the_cards_of_an_issue_are_found(world: World) -> None:
    item = world.card("Do it")
    assert board.cards_of_issue(world.hub, "acme/shop", 1) == {item.node_id: item.project.node_id}
    assert board.cards_of_issue(world.hub, "acme/shop", 77) == {}
    assert board.cards_of_issue(world.hub, "acme/gone", 1) == {}
    world.forge.store.projects.set_archived(item, True, actor=world.alice)
    assert board.cards_of_issue(world.hub, "acme/shop", 1) == {}, "one that rests is left alone"


def test_moving_a_card_puts_it_into_the_column(world: World) -> None:
    item, event = world.card("Do it", "Tasks"), shape(world)
    done = next(column for column in event.columns if column.name == "Done")
    board.move_card(world.hub, event.board_id, CardId(item.node_id), event.status_field_id, done.option_id)
    assert read(world, item.node_id).column == "Done"


def test_moving_to_a_column_that_is_gone_is_refused(world: World) -> None:
    item, event = world.card("Do it", "Tasks"), shape(world)
    with pytest.raises((RefusedError, NotFoundError)):
        board.move_card(world.hub, event.board_id, CardId(item.node_id), event.status_field_id, "00000000")
    assert read(world, item.node_id).column == "Tasks"


def test_several_fields_of_a_card_are_written_in_one_request(world: World) -> None:
    item, board_id = world.card("Do it"), BoardId(world.board.node_id)
    progress = project_fields.create_field(world.hub, board_id, "Progress", "TEXT", {})
    cost = project_fields.create_field(world.hub, board_id, "Cost $", "NUMBER", {})
    assert (progress.name, cost.kind) == ("Progress", "NUMBER")
    world.forge.gateway.calls.clear()
    values: dict[str, str | float | None] = {progress.field_id: HOSTILE, cost.field_id: 0.25}
    board.set_fields(world.hub, board_id, CardId(item.node_id), values)
    assert len(world.forge.gateway.calls) == 1
    assert {key: value.content for key, value in item.values.items()} == values
    board.set_fields(world.hub, board_id, CardId(item.node_id), {progress.field_id: None})
    assert [value.content for value in item.values.values()] == [0.25]


def test_writing_no_field_asks_nothing(world: World) -> None:
    board.set_fields(world.hub, BoardId(world.board.node_id), CardId("any"), {})
    assert not world.forge.gateway.calls


def test_a_field_that_is_there_already_is_refused(world: World) -> None:
    project_fields.create_field(world.hub, BoardId(world.board.node_id), "Progress", "TEXT", {})
    with pytest.raises(RefusedError):
        project_fields.create_field(world.hub, BoardId(world.board.node_id), "Progress", "TEXT", {})


def test_describing_columns_keeps_their_ids_and_their_cards(world: World) -> None:
    item, before = world.card("Do it", "In Progress"), shape(world)
    words = {"In Progress": "An agent starts work.", "Gone": "x"}
    assert board.describe_columns(world.hub, before.status_field_id, words)
    after = shape(world)
    assert [column.option_id for column in after.columns] == [column.option_id for column in before.columns]
    assert {column.name: column.description for column in after.columns}["In Progress"] == words[
        "In Progress"
    ]
    assert read(world, item.node_id).column == "In Progress"


def test_columns_that_are_described_already_are_left_alone(world: World) -> None:
    words = {"Done": "Entering merges."}
    field_id = shape(world).status_field_id
    assert board.describe_columns(world.hub, field_id, words) is True
    assert board.describe_columns(world.hub, field_id, words) is False


def test_a_status_update_is_edited_in_place(world: World) -> None:
    update_id = board.post_status_update(world.hub, BoardId(world.board.node_id), "1 running")
    assert board.own_status_update(world.hub, BoardId(world.board.node_id)) == update_id
    board.edit_status_update(world.hub, update_id, "2 running", "AT_RISK")
    assert [(update.body, str(update.status)) for update in world.board.status_updates] == [
        ("2 running", "AT_RISK")
    ]


def test_a_rate_limit_in_a_good_answer_is_a_rate_limit(world: World) -> None:
    item = world.card("Do it")
    world.forge.store.faults.load({"graphql_rate_limited": 1})
    with pytest.raises(RateLimitedError):
        board.read_card(world.hub, CardId(item.node_id))
    with pytest.raises(RateLimitedError, match="not asked"):
        board.read_card(world.hub, CardId(item.node_id))


def test_a_failure_of_github_is_unavailable(world: World) -> None:
    item = world.card("Do it")
    world.hub.rest("GET", "/repos/acme/shop")
    world.forge.store.faults.load({"api": [{"path": "/graphql", "status": 502}]})
    with pytest.raises(UnavailableError):
        board.read_card(world.hub, CardId(item.node_id))


CARD = {
    "id": "PVTI_1",
    "type": "ISSUE",
    "isArchived": False,
    "updatedAt": "2026-03-01T10:00:00Z",
    "project": {"id": "PVT_1", "number": 1, "owner": {"login": "acme"}},
    "fieldValueByName": {"name": "Todo"},
}
ISSUE = {
    "id": "I_1",
    "number": 3,
    "title": "Prices",
    "body": "",
    "state": "OPEN",
    "repository": {"nameWithOwner": "acme/shop", "defaultBranchRef": None},
    "parent": None,
    "issueDependenciesSummary": {"blockedBy": 1},
    "blockedBy": {"nodes": [None]},
}


def answer_card(scripted: Scripted, *wrong: tuple[str, list[str | int]]) -> None:
    errors = [{"type": kind, "path": path, "message": "Could not resolve"} for kind, path in wrong]
    data = {"nodes": [{**CARD, "content": ISSUE}]}
    scripted.answer("POST", "/graphql", {"data": data, "errors": errors})


def test_links_with_issues_out_of_sight_do_not_hide_the_card(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    parent: list[str | int] = ["nodes", 0, "content", "parent"]
    blocker: list[str | int] = ["nodes", 0, "content", "blockedBy", "nodes", 0]
    answer_card(
        scripted, ("NOT_FOUND", parent), ("FORBIDDEN", [*parent, "repository"]), ("FORBIDDEN", blocker)
    )
    reading = board.read_card(hub, CardId("PVTI_1"))
    assert reading is not None
    assert (reading.number, reading.parent, reading.hidden_blockers) == (3, "", 1)


@pytest.mark.parametrize(
    "path", [["nodes", 0, "project"], ["nodes", 0, "content"], ["nodes", 0, "content", "labels"]]
)
def test_a_card_of_which_something_else_is_missing_is_not_taken_for_deleted(
    hub: Hub, scripted: Scripted, path: list[str | int]
) -> None:
    scripted.tokens()
    answer_card(scripted, ("NOT_FOUND", path))
    with pytest.raises(NotFoundError):
        board.read_card(hub, CardId("PVTI_1"))


def test_a_card_tells_its_newest_move_on_this_board_and_bots_by_their_whole_name(world: World) -> None:
    item, projects = world.card("Do it", "Tasks"), world.forge.store.projects
    assert isinstance(item.content, Issue)
    projects.drag(item, "Done", actor=world.forge.store.automation())
    other = projects.create(world.acme, "Other board", ["Elsewhere"], actor=world.alice)
    projects.drag(projects.add(other, item.content, actor=world.alice), "Elsewhere", actor=world.alice)
    move = read(world, item.node_id).last_move
    assert move is not None
    assert (move.column, move.by) == ("Done", "github-project-automation[bot]")
    assert move.at == item.status_changes[-1].created_at.replace(microsecond=0)


OPTIONS = {"⏳ queued": "BLUE", "❌ failed": "RED", "🏁 done": "GREEN"}


def texts(world: World, *values: str) -> list[Item]:
    """Put a text field Agent on the board, and cards with these values; an empty one has none."""
    store = world.forge.store
    field = store.projects.create_field(world.board, "Agent", FieldType.TEXT)
    items = [world.card(f"Do {n}", "Tasks") for n in range(len(values))]
    for item, value in zip(items, values, strict=True):
        if value:
            store.projects.set_value(item, field, value, actor=world.alice)
    return items


def text_of(item: Item, name: str) -> str:
    field = item.project.field_named(name)
    value = item.values.get(field.node_id) if field else None
    return "" if value is None else value.option.name if value.option else str(value.content)


def converted(world: World) -> int:
    event = board.read_board(world.hub, "acme", world.board.number)
    known = {field.name: field for field in event.fields}
    return project_fields.convert_text_field(
        world.hub, event.board_id, known, "Agent", "SINGLE_SELECT", options=OPTIONS
    )


def test_a_text_field_becomes_a_field_of_choices_with_the_same_values(world: World) -> None:
    items = texts(world, "⏳ queued", "", "ask Bob", "🏁 done")
    assert converted(world) == 1
    assert [text_of(item, "Agent") for item in items] == ["⏳ queued", "", "", "🏁 done"]
    assert [text_of(item, "Agent (text)") for item in items] == ["⏳ queued", "", "ask Bob", "🏁 done"]
    field = world.board.field_named("Agent")
    assert field is not None
    assert field.data_type is FieldType.SINGLE_SELECT
    assert {option.name: option.color for option in field.options} == OPTIONS
    assert world.board.field_named("Agent (new)") is None


@pytest.mark.parametrize("call", ["createProjectV2Field", "SetFields", "RenameField", "Texts"])
@pytest.mark.parametrize("after", [False, True])
def test_a_conversion_that_was_stopped_anywhere_is_finished_by_the_next(
    world: World, call: str, *, after: bool
) -> None:
    items = texts(world, "⏳ queued", "🏁 done")
    world.forge.store.faults.api.append(
        ApiFault(re.compile("/graphql"), 502, 1, body=re.compile(call), after=after)
    )
    with pytest.raises(UnavailableError):
        converted(world)
    converted(world)
    assert [text_of(item, "Agent") for item in items] == ["⏳ queued", "🏁 done"]
    assert [text_of(item, "Agent (text)") for item in items] == ["⏳ queued", "🏁 done"]


def test_an_option_that_somebody_deleted_or_made_anew_is_found_again(world: World) -> None:
    new_field = project_fields.create_field(
        world.hub, BoardId(world.board.node_id), "Agent", "SINGLE_SELECT", {"⏳ queued": "BLUE"}
    )
    field = world.board.field_named("Agent")
    assert field is not None
    calls = len(world.forge.gateway.calls)
    assert project_fields.are_own_options(world.hub, new_field.field_id, ["⏳ queued"])
    assert len(world.forge.gateway.calls) == calls, "GitHub's answer said what it made"
    known = project_fields.ensure_options(world.hub, new_field.field_id, OPTIONS)
    assert [*known] == [*OPTIONS]
    calls = len(world.forge.gateway.calls)
    assert project_fields.ensure_options(world.hub, new_field.field_id, OPTIONS) == known
    assert len(world.forge.gateway.calls) == calls
    anew = [Option("", "Mine", "PINK", ""), Option("", "🏁 done", "GRAY", "")]
    world.forge.store.projects.update_field(field, options=anew)
    found = project_fields.ensure_options(world.hub, new_field.field_id, OPTIONS, fresh=True)
    assert found == {option.name: option.id for option in field.options}
    assert [*found] == ["Mine", "🏁 done", "⏳ queued", "❌ failed"]
    assert field.options[1].color == "GRAY"
