"""A GitHub Enterprise Server: the same story at its addresses, and nothing at those of github.com."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from bot.admin.doctor import github
from bot.github.api import projects
from bot.github.errors import RefusedError
from ledger.ids import CardId
from ledger.queue.examinations import Level
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.pulls import test_gate
from tests.bot.flows.pulls.test_review import delivered

PAGES = "https://cardinal.example"


@pytest.fixture
def cardinal(tmp_path: Path) -> Iterator[Cardinal]:
    with opened(tmp_path, public_url=PAGES, server="3.20.1") as served:
        yield served


def test_a_card_is_delivered_checked_reviewed_and_merged_there(cardinal: Cardinal) -> None:
    delivered(cardinal)
    test_gate.test_what_somebody_pushes_under_review_is_checked_without_an_agent_and_merged_then(cardinal)
    said = "\n".join(comment.body for comment in cardinal.forge.store.issues.comments_of(cardinal.repo))
    assert said
    assert "github.com" not in said
    assert "/api/v3" not in said
    assert cardinal.services.hub.page_url("acme/shop") == f"{cardinal.forge.url}/acme/shop"


def test_githubs_own_paths_are_not_served_there(cardinal: Cardinal) -> None:
    for path in ("/app", "/graphql", "/repos/acme/shop"):
        assert requests.get(f"{cardinal.forge.url}{path}", timeout=60).status_code == 404, path


def test_an_older_release_refuses_to_read_a_card(cardinal: Cardinal) -> None:
    hub, card_id = cardinal.services.hub, CardId(cardinal.project.items[0].node_id)
    assert projects.read_card(hub, card_id) is not None
    cardinal.forge.store.settings.server_version = "3.19.9"
    with pytest.raises(RefusedError, match="No such type ProjectV2ItemStatusChangedEvent"):
        projects.read_card(hub, card_id)


def test_it_tells_of_no_rate_limit(cardinal: Cardinal) -> None:
    answer = requests.get(f"{cardinal.forge.url}/api/v3/rate_limit", timeout=60)
    assert (answer.status_code, answer.json()["message"]) == (404, "Rate limiting is not enabled.")
    assert cardinal.services.hub.budget.read_usage()[0].windows == {}


def test_a_newer_version_of_the_api_is_refused_there(cardinal: Cardinal) -> None:
    headers = {"X-GitHub-Api-Version": "2026-03-10"}
    url = f"{cardinal.forge.url}/api/v3/rate_limit"
    assert requests.get(url, headers=headers, timeout=60).status_code == 400


@pytest.mark.parametrize(
    ("version", "level", "said"),
    [
        ("3.20.1", Level.OK, "3.20.1"),
        ("4.0.0", Level.OK, "4.0"),
        ("3.19.2", Level.FAIL, "3.19 does not report what Cardinal needs to know about cards: 3.20 does"),
        ("<b>\n", Level.FAIL, "unknown version"),
    ],
)
def test_the_doctor_says_which_server_it_is_and_what_an_older_one_lacks(
    version: str, level: Level, said: str
) -> None:
    (result,) = github._server(version)
    assert result.level is level
    assert said in result.message
    assert "<b>" not in result.message
    assert list(github._server("")) == []
