"""The judge bites: what the forge says is right as it is, and any part of it that is changed is caught."""

import json
from collections.abc import Callable
from dataclasses import replace
from operator import methodcaller
from typing import Any

import pytest

from bot.github.api import projects, pulls
from bot.github.client import repository_path
from bot.github.transport import USER_AGENT
from forge.payloads.judging import Exchange
from forge.web.server import Forge
from ledger.ids import CardId
from tests.bot.github.world import World, build
from tests.published.court import Court
from tests.published.kept import KeepingForge, Kept
from tests.published.shapes import Shapes

SHOP = repository_path("acme/shop")
CHECK = {
    "name": "gate",
    "status": "completed",
    "conclusion": "success",
    "output": {"title": "t", "summary": "s"},
    "actions": [{"label": "Run again", "description": "Runs the checks", "identifier": "again"}],
}
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Return what was said while Cardinal commented, checked, opened a pull request and moved a card."""
    root = tmp_path_factory.mktemp("said")
    keeper = Kept()
    KeepingForge.judge = keeper
    forge = KeepingForge(root / "forge").start()
    _work(build(forge, root / "home"))
    forge.stop()
    return keeper


def _work(world: World) -> None:
    world.forge.store.apps.all()[0].webhook_url = "http://127.0.0.1:9/hook"
    item = world.card("Totals are wrong", "Tasks")
    world.hub.rest("POST", f"{SHOP}/issues/1/comments", body={"body": "hello"})
    commit = world.hub.rest("GET", f"{SHOP}/commits/HEAD").body["sha"]
    world.hub.rest("POST", f"{SHOP}/check-runs", body={**CHECK, "head_sha": commit})
    _open_pull(world)
    look = projects.read_board(world.hub, "acme", 1)
    done = next(column for column in look.columns if column.name == "Done")
    projects.move_card(world.hub, look.board_id, CardId(item.node_id), look.status_field_id, done.option_id)


def _open_pull(world: World) -> None:
    store = world.forge.store
    store.repos.create_ref(
        world.shop, "refs/heads/more", store.repos.commit_of(world.shop, "main"), actor=world.alice
    )
    store.repos.write_files(world.shop, "more", {"a.txt": b"a\n"}, "More", actor=world.alice)
    pulls.open_draft(world.hub, "acme/shop", branch="more", title="More", body="")


def faults(court: Court, exchange: Exchange, **changes: Any) -> list[str]:
    return list(court.exchange_faults(replace(exchange, **changes)))


def with_answer(exchange: Exchange, change: Change) -> Exchange:
    answer = json.loads(exchange.answered)
    change(answer)
    return replace(exchange, answered=json.dumps(answer).encode())


def asking(exchange: Exchange, change: Change) -> Exchange:
    asked = json.loads(exchange.body)
    change(asked)
    return replace(exchange, body=json.dumps(asked).encode())


def test_what_was_said_is_right_as_it_is(said: Kept, published: Court) -> None:
    wrong = {one.path: found for one in said.exchanges if (found := faults(published, one))}
    assert wrong == {}
    assert [list(published.webhooks.faults(*one)) for one in said.deliveries] == [[] for _ in said.deliveries]
    assert len(said.exchanges) > 8
    assert len(said.deliveries) > 5


ANSWERS: list[tuple[str, str, Change, str]] = [
    ("POST", "/comments", lambda made: made.pop("id"), "'id' is a required property"),
    ("POST", "/comments", lambda made: made.update(id="7"), "id: '7' is not of type 'integer'"),
    ("POST", "/comments", lambda made: made.update(made_up=1), "made_up is in no schema"),
    ("POST", "/comments", lambda made: made["user"].pop("login"), "'login' is a required property"),
    (
        "POST",
        "/comments",
        lambda made: made.update(created_at="today"),
        "created_at: 'today' is not a 'date-time'",
    ),
    ("POST", "/check-runs", lambda made: made.update(conclusion="fine"), "conclusion: 'fine' is not one of"),
    ("POST", "/check-runs", lambda made: made.pop("output"), "'output' is a required property"),
    ("POST", "/pulls", lambda made: made["head"]["repo"].pop("full_name"), "'full_name' is a required"),
    ("POST", "/pulls", lambda made: made.update(merged=None), "merged: None is not of type 'boolean'"),
    ("POST", "/access_tokens", lambda made: made.pop("token"), "'token' is a required property"),
]


@pytest.mark.parametrize(("method", "end", "change", "fault"), ANSWERS)
def test_a_changed_answer_is_caught(
    said: Kept, published: Court, method: str, end: str, change: Change, fault: str
) -> None:
    found = faults(published, with_answer(said.exchange(method, end), change))
    assert any(fault in one and one.startswith("answer: ") for one in found), found


def test_every_key_that_a_comment_must_have_is_missed(said: Kept, published: Court) -> None:
    exchange = said.exchange("POST", "/comments")
    operation = published.rest.operation("POST", exchange.path)
    assert operation is not None
    needed = (
        "author_association",
        "body",
        "created_at",
        "html_url",
        "id",
        "issue_url",
        "node_id",
        "url",
        "user",
    )
    kinder = {"author_association", "body"}  # the description does not demand them
    for name in needed:
        found = faults(published, with_answer(exchange, methodcaller("pop", name)))
        assert bool(found) is (name not in kinder), name


def test_a_wrong_status_and_a_wrong_media_type_are_caught(said: Kept, published: Court) -> None:
    made = said.exchange("POST", "/comments")
    assert faults(published, made, status=200) == [
        "answer: the status 200 is none of 201, 403, 404, 410, 422"
    ]
    assert faults(published, made, kind="text/html") == [
        "answer: the media type text/html is none of application/json"
    ]
    assert faults(published, made, answered=b"oops") == ["answer: the answer is not JSON"]


REQUESTS: list[tuple[str, str, Change, str]] = [
    ("POST", "/comments", lambda asked: asked.pop("body"), "'body' is a required property"),
    ("POST", "/comments", lambda asked: asked.update(body=7), "body: 7 is not of type 'string'"),
    ("POST", "/comments", lambda asked: asked.update(text=""), "text is in no schema"),
    ("POST", "/check-runs", lambda asked: asked["actions"][0].update(label="x" * 21), "is too long"),
    ("POST", "/check-runs", lambda asked: asked.update(actions=asked["actions"] * 4), "request: actions: "),
    ("POST", "/check-runs", lambda asked: asked.pop("head_sha"), "'head_sha' is a required property"),
    ("POST", "/pulls", lambda asked: asked.pop("base"), "'base' is a required property"),
    ("POST", "/pulls", lambda asked: asked.update(draft="yes"), "draft: 'yes' is not of type 'boolean'"),
]


@pytest.mark.parametrize(("method", "end", "change", "fault"), REQUESTS)
def test_a_changed_request_of_cardinals_is_caught(
    said: Kept, published: Court, method: str, end: str, change: Change, fault: str
) -> None:
    found = faults(published, asking(said.exchange(method, end), change))
    assert any(fault in one and one.startswith("request: ") for one in found), found


def test_unknown_places_parameters_and_doors_are_caught(said: Kept, published: Court) -> None:
    read = said.exchange("GET", "/commits/HEAD")
    assert read.agent == USER_AGENT
    assert faults(published, read, query="page=one") == [
        "request: the query parameter page: the whole: 'one' is not of type 'integer'"
    ]
    assert faults(published, read, query="sort=up") == ["request: the query parameter sort is unknown"]
    assert faults(published, read, path="/repos/acme/shop/made_up") == ["GitHub has no such operation"]
    assert faults(published, read, method="DELETE") == ["GitHub has no such operation"]
    assert "installation tokens may not call this" in faults(published, read, path="/app/hook/deliveries")


def test_others_may_ask_for_nonsense_as_long_as_the_forge_refuses_it(said: Kept, published: Court) -> None:
    nonsense = asking(said.exchange("POST", "/comments"), lambda asked: asked.update(body=7))
    refusal = json.dumps({"message": "Validation Failed", "documentation_url": "x"}).encode()
    refused = replace(nonsense, agent="curl", status=422, answered=refusal)
    assert faults(published, refused) == []
    assert faults(published, refused, agent=USER_AGENT) != []
    assert faults(published, nonsense, agent="curl") != []


DOCUMENTS: list[tuple[str, dict[str, Any], str]] = [
    ("query A($id: ID!) { node(id: $id) { bogus } }", {"id": "x"}, "Cannot query field 'bogus'"),
    ("query A($id: ID!) { node(id: $id) { id } }", {}, "Variable '$id' of required type"),
    ("query A($id: ID!) { node(id: $id) { id } }", {"id": "x", "y": 1}, "$y is not declared"),
    ("query A { organization { id } }", {}, "is required, but it was not provided"),
    ("query A { viewer { login }", {}, "Syntax Error"),
    (
        "mutation A($k: ProjectV2CustomFieldType!) { createProjectV2Field(input: "
        '{projectId: 1, name: "N", dataType: $k}) { clientMutationId } }',
        {"k": "TEXTUAL"},
        "got invalid value 'TEXTUAL'",
    ),
]


@pytest.mark.parametrize(("document", "variables", "fault"), DOCUMENTS)
def test_a_wrong_document_is_caught(
    said: Kept, published: Court, document: str, variables: dict[str, Any], fault: str
) -> None:
    asked = json.dumps({"query": document, "variables": variables}).encode()
    found = faults(published, said.exchange("POST", "/graphql"), body=asked)
    assert any(fault in one for one in found), found


@pytest.mark.parametrize(
    "asked", [b"", b"oops", b"[]", b'{"variables": {}}', b'{"query": "{a}", "variables": 7}']
)
def test_what_is_no_graphql_request_is_caught(said: Kept, published: Court, asked: bytes) -> None:
    exchange = said.exchange("POST", "/graphql")
    assert faults(published, exchange, body=asked) == ["the body is no GraphQL request"]
    assert faults(published, exchange, body=asked, agent="curl", status=400) == []


PAYLOADS: list[tuple[str, str | None, Change, str]] = [
    ("projects_v2_item", "edited", lambda sent: sent.pop("organization"), "'organization' is a required"),
    ("projects_v2_item", "edited", lambda sent: sent.update(action="moved"), "there is no webhook"),
    ("projects_v2_item", "edited", lambda sent: sent["projects_v2_item"].update(id="1"), "is not of type"),
    (
        "projects_v2_item",
        "edited",
        lambda sent: sent["projects_v2_item"].update(status="Done"),
        "in no schema",
    ),
    ("issue_comment", "created", lambda sent: sent.pop("comment"), "'comment' is a required property"),
    ("issue_comment", "created", lambda sent: sent["comment"].update(body=None), "is not of type 'string'"),
    ("issue_comment", "created", lambda sent: sent.update(card=1), "card is in no schema"),
    ("pull_request", "opened", lambda sent: sent["pull_request"].pop("head"), "'head' is a required"),
    ("push", None, lambda sent: sent.update(forced="no"), "forced: 'no' is not of type 'boolean'"),
    ("push", None, lambda sent: sent["pusher"].update(email="nobody"), "'nobody' is not a 'email'"),
]


@pytest.mark.parametrize(("event", "action", "change", "fault"), PAYLOADS)
def test_a_changed_payload_is_caught(
    said: Kept, published: Court, event: str, action: str | None, change: Change, fault: str
) -> None:
    headers, body = said.delivery(event, action)
    payload = json.loads(body)
    change(payload)
    found = list(published.webhooks.faults(headers, json.dumps(payload).encode()))
    assert any(fault in one for one in found), found


HEADERS: list[tuple[str, str | None, str]] = [
    ("X-GitHub-Event", "issues_comment", "there is no webhook"),
    ("X-GitHub-Delivery", "1764", "no GUID"),
    ("X-GitHub-Delivery", None, "the header x-github-delivery is missing"),
    ("X-GitHub-Hook-ID", None, "the header x-github-hook-id is missing"),
    ("X-GitHub-Hook-ID", "hook", "is no number"),
    ("X-GitHub-Hook-Installation-Target-Type", "robot", "none of GitHub's"),
    ("X-Hub-Signature-256", "sha1=0", "is no signature"),
]


@pytest.mark.parametrize(("name", "value", "fault"), HEADERS)
def test_changed_headers_are_caught(
    said: Kept, published: Court, name: str, value: str | None, fault: str
) -> None:
    headers, body = said.delivery("issue_comment", "created")
    changed = {key: text for key, text in {**headers, name: value}.items() if text is not None}
    found = list(published.webhooks.faults(changed, body))
    assert any(fault in one for one in found), found


def test_the_judge_of_all_tests_is_told_of_faults_and_of_what_cardinal_asked(
    said: Kept, published: Court
) -> None:
    assert isinstance(Forge.judge, Court)
    mine = Court()
    wrong = with_answer(said.exchange("POST", "/comments"), lambda made: made.pop("id"))
    mine.note_exchange(wrong)
    mine.note_exchange(wrong)
    (fault,) = mine.take()
    assert fault.startswith("POST /repos/acme/shop/issues/1/comments (201): answer: ")
    assert mine.take() == []
    assert mine.seen == {"POST /repos/{owner}/{repo}/issues/{issue_number}/comments"}


def test_a_key_that_no_schema_lists_is_named_where_it_stands_also_in_lists() -> None:
    label = {"anyOf": [{"properties": {"name": {}}}, {"$ref": "#/components/schemas/colour"}]}
    shapes = Shapes({"colour": {"properties": {"colour": {}, "open": {"additionalProperties": True}}}})
    schema = {"type": "object", "properties": {"labels": {"type": "array", "items": label}}}
    value = {"labels": [{"name": 1, "colour": 2, "open": {"any": 1}}, {"odd": 3}]}
    assert list(shapes.faults(schema, value)) == ["labels[1].odd is in no schema"]
