"""Apps: JWTs, installation tokens, permissions."""

import json
import time
from typing import Any

import jwt
import pytest
import requests
from github import GithubException

from forge.errors import UnprocessableError
from forge.store.manifests import WANTED_BY
from tests.forge.conftest import Town


def signed(town: Town, lifetime_s: int, key: str = "", **changes: Any) -> str:
    now = int(time.time())
    claims = {"iat": now - 60, "exp": now + lifetime_s, "iss": str(town.world.app.id), **changes}
    return jwt.encode(claims, key or town.world.private_key, algorithm="RS256")


def asked(town: Town, **permissions: str) -> str:
    return town.integration().get_access_token(town.world.installation.id, permissions).token


def status_of(town: Town, token: str, path: str = "/app") -> int:
    answer = requests.get(town.url + path, headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return answer.status_code


def test_an_app_proves_itself_with_its_key(town: Town) -> None:
    integration = town.integration()
    assert integration.get_app().slug == "cardinal"
    assert integration.get_org_installation("acme").id == town.world.installation.id
    assert integration.get_repo_installation("acme", "shop").id == town.world.installation.id


def test_a_jwt_may_live_for_ten_minutes_and_no_longer(town: Town) -> None:
    assert status_of(town, signed(town, 540)) == 200
    assert status_of(town, signed(town, 3600)) == 401
    assert status_of(town, signed(town, -5)) == 401
    assert status_of(town, signed(town, 540, iat=int(time.time()) + 120)) == 401


def test_a_jwt_of_another_key_is_refused(town: Town) -> None:
    _, other = town.store.apps.register(town.store.users.get("acme"), "Other", "other")
    assert status_of(town, signed(town, 300, other)) == 401
    assert status_of(town, "a.b.c") == 401
    assert status_of(town, signed(town, 300, iss="999")) == 401


def test_a_token_is_long_and_expires(town: Town) -> None:
    token = asked(town)
    assert token.startswith("ghs_")
    assert len(token) == 520
    assert status_of(town, token, "/repos/acme/shop") == 200
    town.store.apps.expire_tokens()
    assert status_of(town, token, "/repos/acme/shop") == 401


def test_an_unknown_token_is_bad_credentials_even_on_what_is_public(town: Town) -> None:
    assert status_of(town, "ghs_nonsense", "/repos/acme/shop") == 401
    assert status_of(town, "forge-user-nobody", "/repos/acme/shop") == 401
    assert requests.get(f"{town.url}/repos/acme/shop", timeout=60).status_code == 200


def test_a_token_with_fewer_permissions_may_do_less(town: Town) -> None:
    reader = town.client(asked(town, issues="read"))
    assert reader.get_repo("acme/shop").get_issue(1).title
    with pytest.raises(GithubException) as refused:
        reader.get_repo("acme/shop").get_issue(1).create_comment("no")
    assert refused.value.status == 403
    assert refused.value.data["message"] == "Resource not accessible by integration"


def test_what_was_not_granted_cannot_be_asked_for(town: Town) -> None:
    with pytest.raises(GithubException) as refused:
        asked(town, administration="write")
    assert refused.value.status == 422


def test_a_token_for_one_repository_cannot_write_to_another(town: Town) -> None:
    number = town.world.installation.id
    answer = requests.post(
        f"{town.url}/app/installations/{number}/access_tokens",
        json={"repositories": ["board"]},
        headers={"Authorization": f"Bearer {signed(town, 300)}"},
        timeout=60,
    )
    assert answer.status_code == 201
    assert [repo["name"] for repo in answer.json()["repositories"]] == ["board"]
    client = town.client(answer.json()["token"])
    with pytest.raises(GithubException) as refused:
        client.get_repo("acme/shop").create_issue("no")
    assert refused.value.status == 403
    assert client.get_repo("acme/board").create_issue("yes").number == 1


def test_the_rate_limit_is_on_every_answer_and_is_enforced(town: Town) -> None:
    client = town.app()
    before = client.get_rate_limit().rate.remaining
    client.get_repo("acme/shop")
    assert client.get_rate_limit().rate.remaining == before - 1
    town.store.settings.rate_limit = 1
    with pytest.raises(GithubException) as refused:
        client.get_repo("acme/shop")
    assert refused.value.status == 403
    assert (refused.value.headers or {})["x-ratelimit-remaining"] == "0"


def test_an_unknown_path_is_a_json_404(town: Town) -> None:
    answer = requests.get(f"{town.url}/repos/acme/shop/nothing/here", timeout=60)
    assert answer.status_code == 404
    assert answer.json()["documentation_url"] == "https://docs.github.com/rest"


def test_both_roots_serve_the_same_api(town: Town) -> None:
    client = town.client(town.token(), "/api/v3")
    assert client.get_repo("acme/shop").get_issue(1).get_comments().totalCount == 0
    assert town.graphql(client, "{viewer{login}}")["viewer"]["login"] == "cardinal[bot]"
    assert client.get_user("cardinal[bot]").type == "Bot"


def test_a_bot_has_no_role_in_a_repository(town: Town) -> None:
    shop = town.app().get_repo("acme/shop")
    assert shop.get_collaborator_permission("cardinal[bot]") == "none"
    assert shop.get_collaborator_permission("alice") != "none"


@pytest.mark.parametrize("event", WANTED_BY)
def test_an_app_is_not_made_with_an_event_that_none_of_its_permissions_is_for(town: Town, event: str) -> None:
    wishes = {"name": "Ours", "url": "https://a", "redirect_url": "http://b", "default_events": [event]}
    with pytest.raises(UnprocessableError, match=f"not supported by permissions: {event}"):
        town.store.manifests.check(json.dumps({**wishes, "default_permissions": {"members": "read"}}))
    for name in WANTED_BY[event]:
        town.store.manifests.check(json.dumps({**wishes, "default_permissions": {name: "read"}}))
