"""The board through GraphQL, and what a drag is announced as."""

from typing import Any

import pytest
import requests
from github import GithubException

from forge.store.settings import DragShape
from tests.forge.conftest import Receiver, Town

BOARD = """query($after: String, $filter: String) { organization(login: "acme") { projectV2(number: 1) {
  id title number url items(first: 2, after: $after, query: $filter) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id type isArchived updatedAt
      content { __typename ... on Issue { number title state repository { nameWithOwner } }
        ... on DraftIssue { title } }
      fieldValueByName(name: "Status") {
        ... on ProjectV2ItemFieldSingleSelectValue { name optionId } } } } } } }"""
STATUS = """{ organization(login: "acme") { projectV2(number: 1) { id field(name: "Status") {
  ... on ProjectV2SingleSelectField { id options { id name color description } } } } } }"""
SET = """mutation($p: ID!, $i: ID!, $f: ID!, $o: String!) {
  updateProjectV2ItemFieldValue(input: {
  projectId: $p, itemId: $i, fieldId: $f, value: {singleSelectOptionId: $o}}) {
  projectV2Item { id updatedAt } } }"""


def status(town: Town, client: Any) -> tuple[str, str, dict[str, str]]:
    project = town.graphql(client, STATUS)["organization"]["projectV2"]
    field = project["field"]
    return project["id"], field["id"], {one["name"]: one["id"] for one in field["options"]}


def drag(town: Town, number: int, column: str, actor: str = "alice") -> requests.Response:
    wanted = {"project": 1, "issue": f"acme/shop#{number}", "column": column, "actor": actor}
    return requests.post(f"{town.url}/_forge/drag", json=wanted, timeout=60)


def titles(town: Town, filter_: str) -> list[str]:
    board = town.graphql(town.app(), BOARD, filter=filter_)["organization"]["projectV2"]
    return [item["content"]["title"] for item in board["items"]["nodes"]]


def test_the_board_is_read_page_by_page_in_its_order(town: Town) -> None:
    client, after, seen = town.app(), None, []
    while True:
        items = town.graphql(client, BOARD, after=after)["organization"]["projectV2"]["items"]
        seen += [item["content"]["title"] for item in items["nodes"]]
        after = items["pageInfo"]["endCursor"]
        if not items["pageInfo"]["hasNextPage"]:
            break
    assert seen[-1] == "Gift cards?"
    assert len(seen) == items["totalCount"] == 5


def test_the_app_moves_a_card_and_hears_itself(hooked: Town, receiver: Receiver) -> None:
    client = hooked.app()
    project, field, options = status(hooked, client)
    item = hooked.world.project.items[0]
    hooked.graphql(client, SET, p=project, i=item.node_id, f=field, o=options["Planning"])
    assert item.column() is not None
    payload = receiver.wait("projects_v2_item", "edited")[0]
    change = payload["changes"]["field_value"]
    assert (change["field_name"], change["from"]["name"], change["to"]["name"]) == (
        "Status",
        "Tasks",
        "Planning",
    )
    assert change["field_node_id"] == field
    assert payload["sender"]["login"] == "cardinal[bot]"
    assert payload["projects_v2_item"]["node_id"] == item.node_id
    assert "repository" not in payload
    assert payload["organization"]["login"] == "acme"


@pytest.mark.parametrize(
    ("shape", "actions"),
    [
        (DragShape.EDITED, ["edited", "edited"]),
        (DragShape.REORDERED, ["reordered", "reordered"]),
        (DragShape.BOTH, ["edited", "reordered", "edited", "reordered"]),
        (DragShape.ALTERNATE, ["reordered", "edited"]),
    ],
)
def test_a_drag_has_the_shape_that_was_asked_for(
    hooked: Town, receiver: Receiver, shape: DragShape, actions: list[str]
) -> None:
    hooked.store.settings.drag_shape = shape
    assert drag(hooked, 1, "Planning").status_code == 200
    assert drag(hooked, 1, "In Progress").status_code == 200
    hooked.wait_for_webhooks()
    payloads = receiver.named("projects_v2_item")
    assert sorted(payload["action"] for payload in payloads) == sorted(actions)
    for payload in payloads:
        if payload["action"] == "reordered":
            assert payload["changes"] == {"previous_projects_v2_item_node_id": {"from": None, "to": None}}
        assert payload["sender"]["login"] == "alice"


def test_an_outsider_cannot_drag(town: Town) -> None:
    assert drag(town, 1, "Planning", "mallory").status_code == 403
    assert drag(town, 1, "No such column").status_code == 404


def test_the_board_is_filtered_like_the_search_box(town: Town) -> None:
    drag(town, 1, "In Progress")
    assert titles(town, 'status:"In Progress"') == ["Show prices in the customer's currency"]
    assert "Write down how releases are made" not in titles(town, '-status:"Done" -status:Tasks')
    town.store.projects.set_archived(town.world.project.items[1], True, actor=town.store.users.get("alice"))
    assert titles(town, 'status:"In Progress"') == []
    assert titles(town, "is:archived") == ["Show prices in the customer's currency"]


def test_an_option_keeps_its_cards_when_it_is_renamed_by_id(town: Town) -> None:
    client = town.app()
    _, field, options = status(town, client)
    wanted = [
        {
            "id": id_,
            "name": "Ideas" if name == "Tasks" else name,
            "color": "BLUE",
            "description": f"about {name}",
        }
        for name, id_ in options.items()
    ]
    document = """mutation($f: ID!, $o: [ProjectV2SingleSelectFieldOptionInput!]!) {
      updateProjectV2Field(input: {
      fieldId: $f, singleSelectOptions: $o}) { projectV2Field { ... on ProjectV2SingleSelectField {
      options { id name description } } } } }"""
    answer = town.graphql(client, document, f=field, o=wanted)["updateProjectV2Field"]["projectV2Field"]
    assert answer["options"][0] == {"id": options["Tasks"], "name": "Ideas", "description": "about Tasks"}
    assert len(titles(town, "status:Ideas")) == 2


def test_fields_are_made_once_and_hold_text_and_numbers(town: Town) -> None:
    client = town.app()
    project, _, _ = status(town, client)
    item = town.world.project.items[0].node_id
    create = """mutation($p: ID!, $n: String!, $t: ProjectV2CustomFieldType!) {
      createProjectV2Field(input: {
      projectId: $p, name: $n, dataType: $t}) {
      projectV2Field { ... on ProjectV2Field { id dataType } } } }"""
    value = """mutation($p: ID!, $i: ID!, $f: ID!, $v: ProjectV2FieldValue!) {
      updateProjectV2ItemFieldValue(input: {
      projectId: $p, itemId: $i, fieldId: $f, value: $v}) { projectV2Item { fieldValues(first: 20) { nodes {
      ... on ProjectV2ItemFieldTextValue { text } ... on ProjectV2ItemFieldNumberValue { number } } } } } }"""
    fields = {
        name: town.graphql(client, create, p=project, n=name, t=kind)["createProjectV2Field"][
            "projectV2Field"
        ]["id"]
        for name, kind in (("Agent", "TEXT"), ("Cost $", "NUMBER"))
    }
    town.graphql(client, value, p=project, i=item, f=fields["Agent"], v={"text": "working"})
    answer = town.graphql(client, value, p=project, i=item, f=fields["Cost $"], v={"number": 0.25})
    nodes = answer["updateProjectV2ItemFieldValue"]["projectV2Item"]["fieldValues"]["nodes"]
    assert {"text": "working"} in nodes
    assert {"number": 0.25} in nodes
    with pytest.raises(GithubException):
        town.graphql(client, create, p=project, n="agent", t="TEXT")


def test_a_draft_becomes_an_issue_and_keeps_its_card(hooked: Town, receiver: Receiver) -> None:
    client = hooked.app()
    item = hooked.world.project.items[-1]
    shop = hooked.store.repos.get("acme", "shop")
    document = """mutation($i: ID!, $r: ID!) { convertProjectV2DraftIssueItemToIssue(input: {itemId: $i,
      repositoryId: $r}) { item { id content { ... on Issue { number } } } } }"""
    made = hooked.graphql(client, document, i=item.node_id, r=shop.node_id)
    assert made["convertProjectV2DraftIssueItemToIssue"]["item"] == {
        "id": item.node_id,
        "content": {"number": 5},
    }
    assert receiver.wait("projects_v2_item", "converted")[0]["changes"]["content_type"]["to"] == "Issue"


def test_cards_are_placed_archived_restored_and_deleted(hooked: Town, receiver: Receiver) -> None:
    client, project = hooked.app(), hooked.world.project
    first, second = project.items[0], project.items[1]
    given = {"p": project.node_id, "i": first.node_id}
    move = """mutation($p: ID!, $i: ID!, $a: ID) {
      updateProjectV2ItemPosition(input: {projectId: $p, itemId: $i,
      afterId: $a}) { items(first: 2) { nodes { id } } } }"""
    order = hooked.graphql(client, move, **given, a=second.node_id)["updateProjectV2ItemPosition"]["items"][
        "nodes"
    ]
    assert [one["id"] for one in order] == [second.node_id, first.node_id]
    for deed, result in (
        ("archiveProjectV2Item", "item { isArchived }"),
        ("unarchiveProjectV2Item", "item { isArchived }"),
        ("deleteProjectV2Item", "deletedItemId"),
    ):
        document = (
            f"mutation($p: ID!, $i: ID!) {{ {deed}(input: {{projectId: $p, itemId: $i}}) {{ {result} }} }}"
        )
        hooked.graphql(client, document, **given)
    hooked.wait_for_webhooks()
    actions = [one["action"] for one in receiver.named("projects_v2_item")]
    assert actions == ["reordered", "archived", "restored", "deleted"]


def test_errors_of_a_document_are_answered_with_200(town: Town) -> None:
    headers = {"Authorization": f"token {town.token()}"}

    def ask(document: str) -> Any:
        answer = requests.post(f"{town.url}/graphql", json={"query": document}, headers=headers, timeout=60)
        assert answer.status_code == 200
        return answer.json()

    missing = ask('{node(id:"PVTI_nothing"){id}}')
    assert missing["data"] == {"node": None}
    assert missing["errors"][0]["type"] == "NOT_FOUND"
    assert missing["errors"][0]["path"] == ["node"]
    assert "Cannot query field 'bogus'" in ask("{viewer{bogus}}")["errors"][0]["message"]
    endless = ask('{organization(login:"acme"){projectV2(number:1){items{totalCount}}}}')
    assert endless["errors"][0]["type"] == "MISSING_PAGINATION_BOUNDARIES"


def test_a_token_without_the_board_permission_is_forbidden(town: Town) -> None:
    with pytest.raises(GithubException) as refused:
        town.graphql(town.app({"issues": "write"}), STATUS)
    assert refused.value.data["errors"][0]["type"] == "FORBIDDEN"


def test_a_status_update_is_posted_and_changed(hooked: Town, receiver: Receiver) -> None:
    client, project = hooked.app(), hooked.world.project
    create = """mutation($p: ID!) { createProjectV2StatusUpdate(input: {projectId: $p, body: "3 running",
      status: ON_TRACK}) { statusUpdate { id status } } }"""
    made = hooked.graphql(client, create, p=project.node_id)["createProjectV2StatusUpdate"]["statusUpdate"]
    update = """mutation($u: ID!) { updateProjectV2StatusUpdate(input: {statusUpdateId: $u, body: "none",
      status: COMPLETE}) { statusUpdate { body status } } }"""
    changed = hooked.graphql(client, update, u=made["id"])["updateProjectV2StatusUpdate"]["statusUpdate"]
    assert changed == {"body": "none", "status": "COMPLETE"}
    assert receiver.wait("projects_v2_status_update", "edited")


def test_a_closed_issue_moves_unless_the_workflow_is_off_or_its_column_is_gone(
    hooked: Town, receiver: Receiver
) -> None:
    shop = hooked.person("alice").get_repo("acme/shop")
    for column in ("", "Finished"):
        hooked.store.settings.closed_moves_to = column
        shop.get_issue(1).edit(state="closed")
        assert hooked.world.project.items[1].column().name == "Tasks"  # type: ignore[union-attr]
        shop.get_issue(1).edit(state="open")
    hooked.store.settings.closed_moves_to = "Done"
    shop.get_issue(2).edit(state="closed")
    assert hooked.world.project.items[2].column().name == "Done"  # type: ignore[union-attr]
    assert (
        receiver.wait("projects_v2_item", "edited")[0]["sender"]["login"] == "github-project-automation[bot]"
    )
