"""`cardinal init`, the doctor and sign-in where GitHub is an Enterprise Server."""

import re

import pytest

from bot.system import config as configuration
from bot.web.app import make_app
from tests.bot.admin.setup.conftest import Town
from tests.bot.admin.setup.test_init import HOOK, finished
from tests.bot.flows.cardinal import Clock
from tests.bot.web.pages.world import Browser
from tests.ledgers import new_ledger


@pytest.fixture
def server(town: Town) -> Town:
    town.forge.store.settings.server_version = "3.20.1"
    return town


def test_an_app_is_registered_and_installed_there_and_people_sign_in_by_it(server: Town) -> None:
    said = finished(server, *HOOK)
    assert f"install the App on acme: {server.forge.url}/github-apps/cardinal-acme/installations/new" in said
    assert not re.search(r"github\.com|/api/v3|lacks|not subscribed", said)
    assert server.settings["CARDINAL_BOARD"] == "acme/1"
    assert "add a view Cardinal with the layout Board, and tick Agent, Waits for, Validation" in said
    found = server.does("doctor")[1]
    assert "GitHub Enterprise Server 3.20.1" in found
    assert "lacks" not in found
    config = configuration.read(
        {"CARDINAL_HOME": str(server.home), "CARDINAL_GITHUB_URL": server.api}, server.root
    )
    engine = new_ledger(config.database_url)
    alice = Browser(make_app(config, engine, Clock()), server.forge.url, "alice")
    assert alice.begins().startswith(f"{server.forge.url}/login/oauth/authorize?")
    assert alice.signs_in().status_code == 303
    assert "signed in as alice" in alice.get("/").text
    engine.dispose()


def test_an_app_that_a_person_made_by_hand_is_taken_there(server: Town) -> None:
    app, pem = server.forge.store.apps.register(server.alice, "Mine", "mine")
    server.forge.store.apps.install(app, server.acme, actor=server.alice)
    (server.root / "mine.pem").write_text(pem)
    code, said = server.ends("--org", "acme", "--existing", str(app.id), "--key", "mine.pem", "--poll")
    assert code == 0, said
    code, said = server.ends("--webhook", "https://cardinal.example.com")
    assert f"tick Active, under Webhook, at {server.forge.url}/settings/apps/mine" in said


def test_a_release_that_is_too_old_is_said_before_anybody_installs_the_app(server: Town) -> None:
    server.forge.store.settings.server_version = "3.19.4"
    app, pem = server.forge.store.apps.register(server.acme, "Mine", "mine")
    (server.root / "mine.pem").write_text(pem)
    code, said = server.ends("--org", "acme", "--existing", str(app.id), "--key", "mine.pem", "--poll")
    assert code == 2
    assert "3.19 does not report what Cardinal needs to know about cards: 3.20 does" in said
    assert "upgrade the server, then run `cardinal init` again" in said
