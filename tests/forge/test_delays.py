"""A forge that is behind: for Apps only, for a time that is drawn from a seed and has an end."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import requests
from github import GithubException

from forge.clock import Clock
from tests.forge.conftest import Town

MAX_WAIT_S = 8.0


@pytest.fixture
def pass_by(town: Town) -> Callable[[float], None]:
    """Return a function that lets the seconds go by for the forge."""
    ahead = [timedelta()]
    town.store.clock = Clock(lambda: datetime.now(UTC) + ahead[0])

    def go(seconds: float) -> None:
        ahead[0] += timedelta(seconds=seconds)

    return go


def be_behind(town: Town, **delays: float) -> None:
    wanted = {"delays": {"seed": 1, **delays}}
    requests.post(f"{town.url}/_forge/faults", json=wanted, timeout=60).raise_for_status()


@pytest.mark.parametrize(("permissions", "status"), [(None, 401), ({"issues": "read"}, 403)])
def test_a_new_token_is_refused_for_a_while(
    town: Town, pass_by: Callable[[float], None], permissions: dict[str, str] | None, status: int
) -> None:
    be_behind(town, tokens_s=MAX_WAIT_S)
    app = town.app(permissions)
    with pytest.raises(GithubException) as refused:
        app.get_repo("acme/shop")
    assert refused.value.status == status
    pass_by(MAX_WAIT_S)
    assert app.get_repo("acme/shop").name == "shop"


def test_a_pushed_branch_is_no_head_for_a_while_but_for_people(
    town: Town, pass_by: Callable[[float], None], branch: Callable[..., str]
) -> None:
    be_behind(town, heads_s=MAX_WAIT_S)
    branch("new")
    branch("other")
    shop = town.app().get_repo("acme/shop")
    with pytest.raises(GithubException) as refused:
        shop.create_pull(base="main", head="new", title="New", body="")
    assert refused.value.status == 422
    assert refused.value.data["errors"] == [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
    assert town.person("bob").get_repo("acme/shop").create_pull(base="main", head="other", title="Other")
    pass_by(MAX_WAIT_S)
    assert shop.create_pull(base="main", head="new", title="New", body="").number


def test_a_new_issue_is_no_node_for_a_while(town: Town, pass_by: Callable[[float], None]) -> None:
    be_behind(town, nodes_s=MAX_WAIT_S)
    app = town.app()
    issue = app.get_repo("acme/shop").create_issue("New")
    ask = {"query": "query A($id: ID!) { node(id: $id) { id } }", "variables": {"id": issue.node_id}}
    answers = []
    for _ in range(2):
        answers.append(app.requester.requestJsonAndCheck("POST", "/graphql", input=ask)[1])
        pass_by(MAX_WAIT_S)
    assert [it["data"]["node"] for it in answers] == [None, {"id": issue.node_id}]
    assert [it.get("errors", [{}])[0].get("type") for it in answers] == ["NOT_FOUND", None]


def test_reads_may_show_what_was_before_a_write_until_the_copy_is_too_old(
    town: Town, pass_by: Callable[[float], None]
) -> None:
    be_behind(town, reads_s=MAX_WAIT_S)
    issue = town.app().get_repo("acme/shop").get_issue(1)
    assert issue.create_comment("new").id
    counts = {issue.get_comments().totalCount for _ in range(20)}
    assert counts == {0, 1}
    pass_by(MAX_WAIT_S)
    assert {issue.get_comments().totalCount for _ in range(20)} == {1}


def test_an_unknown_delay_is_refused(town: Town) -> None:
    answer = requests.post(f"{town.url}/_forge/faults", json={"delays": {"moon_s": 1}}, timeout=60)
    assert answer.status_code == 422
    assert "moon_s" in answer.text


def test_a_new_board_has_the_columns_of_githubs_template(town: Town) -> None:
    wanted = {"owner": "acme", "title": "New", "actor": "alice"}
    numbers = [
        requests.post(f"{town.url}/_forge/board", json={**wanted, **more}, timeout=60).json()["number"]
        for more in ({}, {"template": "Kanban"})
    ]
    boards = [town.store.projects.get(town.store.users.get("acme"), number) for number in numbers]
    names = [[option.name for option in board.status.options] for board in boards]
    assert names == [
        ["Todo", "In Progress", "Done"],
        ["Backlog", "Ready", "In progress", "In review", "Done"],
    ]
    refused = requests.post(f"{town.url}/_forge/board", json={**wanted, "template": "Moon"}, timeout=60)
    assert "Kanban" in refused.text
