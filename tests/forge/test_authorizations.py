"""Signing in with an App: codes that work once, for ten minutes, for whoever began; tokens that expire."""

from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from forge.clock import Clock
from forge.store.authorizations import AuthorizationError, challenge_of
from tests.forge.conftest import Town

BACK = "https://cardinal.example.com/back"
VERIFIER = "v" * 43


@pytest.fixture
def town(town: Town) -> Town:
    town.world.app.callback_urls = (BACK,)
    return town


def code(town: Town, verifier: str = VERIFIER) -> str:
    app, bob = town.world.app, town.store.users.get("bob")
    granted: str = town.store.authorizations.grant(app, bob, BACK, challenge_of(verifier) if verifier else "")
    return granted


def exchange(town: Town, **changes: str) -> dict[str, str]:
    app = town.world.app
    form = {"client_id": app.client_id, "client_secret": app.client_secret, "code_verifier": VERIFIER}
    answer = requests.post(f"{town.url}/login/oauth/access_token", data={**form, **changes}, timeout=60)
    assert answer.status_code == 200
    found: dict[str, str] = answer.json()
    return found


def authorize(town: Town, **asked: str) -> requests.Response:
    params = {"client_id": town.world.app.client_id, "state": "s", **asked}
    address = f"{town.url}/login/oauth/authorize"
    return requests.get(address, params=params, timeout=60, allow_redirects=False)


def user(town: Town, token: str) -> requests.Response:
    return requests.get(f"{town.url}/user", headers={"Authorization": f"Bearer {token}"}, timeout=60)


def test_a_code_gives_the_persons_token_once(town: Town) -> None:
    given = code(town)
    found = exchange(town, code=given, redirect_uri=BACK)
    assert found["access_token"].startswith("ghu_")
    assert user(town, found["access_token"]).json()["login"] == "bob"
    assert exchange(town, code=given)["error"] == "bad_verification_code"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_secret": "x"}, "incorrect_client_credentials"),
        ({"client_id": "x"}, "incorrect_client_credentials"),
        ({"redirect_uri": "https://evil.example/"}, "redirect_uri_mismatch"),
        ({"code_verifier": "w" * 43}, "bad_verification_code"),
        ({"code_verifier": ""}, "bad_verification_code"),
    ],
)
def test_what_does_not_fit_is_named_as_github_names_it(
    town: Town, changes: dict[str, str], error: str
) -> None:
    found = exchange(town, **{"code": code(town), **changes})
    assert found["error"] == error
    assert found["error_description"]


def test_codes_and_tokens_get_old(town: Town) -> None:
    now = town.store.clock.now()
    late, token = code(town), exchange(town, code=code(town))["access_token"]
    town.store.clock = Clock(lambda: now.replace(year=now.year + 1))
    assert exchange(town, code=late)["error"] == "bad_verification_code"
    assert user(town, token).status_code == 401
    assert user(town, "ghu_nobodys").status_code == 401


def test_another_callback_is_told_to_the_registered_one(town: Town) -> None:
    answer = authorize(town, redirect_uri="https://evil.example/")
    assert answer.status_code == 302
    address = urlsplit(answer.headers["Location"])
    assert f"{address.scheme}://{address.netloc}{address.path}" == BACK
    assert parse_qs(address.query)["error"] == ["redirect_uri_mismatch"]
    assert parse_qs(address.query)["state"] == ["s"]


def test_the_page_asks_and_gives_nothing_before_a_click(town: Town) -> None:
    asked = authorize(town, code_challenge="c" * 43, code_challenge_method="S256")
    assert asked.status_code == 200
    assert "Sign in as" in asked.text
    assert "code=" not in asked.text
    form = {"client_id": town.world.app.client_id, "redirect_uri": BACK, "agreed": "1"}
    forged = requests.post(f"{town.url}/login/oauth/authorize", data=form, timeout=60, allow_redirects=False)
    assert forged.status_code == 403  # without the page's own token


def test_only_s256_challenges_and_known_apps_are_taken(town: Town) -> None:
    assert authorize(town, code_challenge="c" * 43, code_challenge_method="plain").status_code == 422
    assert authorize(town, code_challenge="c" * 43).status_code == 422
    assert authorize(town, client_id="Iv-nobodys").status_code == 404
    town.world.app.callback_urls = ()
    assert authorize(town).status_code == 404
    with pytest.raises(AuthorizationError):
        town.store.authorizations.exchange("", "", "", "", "")
