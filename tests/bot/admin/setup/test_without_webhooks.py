"""Cardinal behind a wall: no webhooks, and no door for them."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.admin.setup.progress import Notes, Registered
from bot.admin.setup.progress import read as read_notes
from bot.github.app_manifest import manifest
from bot.ingest.events import list_subscribed
from bot.system.config import ConfigError, read
from tests.bot.web.serving import web_client
from tests.ledgers import new_ledger

GIVEN = {"CARDINAL_APP_ID": "1", "CARDINAL_PRIVATE_KEY": "-----BEGIN x", "CARDINAL_BOARD": "acme/1"}


def test_without_webhooks_no_secret_is_needed_and_nothing_can_be_delivered(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="WEBHOOK_SECRET"):
        read(GIVEN, tmp_path).require_github()
    config = read({**GIVEN, "CARDINAL_WEBHOOKS": "false"}, tmp_path)
    config.require_github()
    engine = new_ledger(config.database_url)
    for webhooks, status in ((False, 404), (True, 401)):
        wanted = replace(config, webhooks=webhooks)
        web = web_client(wanted, engine, lambda *_: True, lambda: datetime.now(UTC))
        assert web.post("/webhooks/github", json={}).status_code == status
        assert web.get("/healthz").status_code == 200
    engine.dispose()


def test_a_key_beside_the_settings_is_found_from_anywhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "app-1.pem").write_text("-----BEGIN RSA")
    (home / "env").write_text("CARDINAL_PRIVATE_KEY=app-1.pem\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert read({"CARDINAL_HOME": str(home)}, elsewhere).private_key.reveal() == "-----BEGIN RSA"


def test_notes_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"app": 3}', '{"app": null, "state": "x", "begun_at": "never"}', '{"x": 1}'):
        (tmp_path / "setup.json").write_text(text)
        assert read_notes(tmp_path) == Notes()
    assert "hush" not in repr(Registered(1, "a", "p", "hush", "hush"))


def test_the_manifest_asks_for_what_app_yml_says() -> None:
    ours = manifest(list_subscribed())
    given = {"webhook": "https://a.example/x", "redirect_url": "http://b"}
    wanted = ours.form_fields(name="", owner="acme", active=True, **given)
    assert wanted["name"] == "Cardinal acme"
    long = ours.form_fields(name="", owner="a" * 24 + "-" + "b" * 14, active=True, **given)
    assert long["name"] == "Cardinal " + "a" * 24  # GitHub takes 34 characters
    assert ours.form_fields(name="Ours", owner="acme", active=True, **given)["name"] == "Ours"
    assert wanted["hook_attributes"] == {"url": "https://a.example/x", "active": True}
    assert wanted["default_permissions"]["checks"] == "write"
    assert manifest(list_subscribed()).lacking(
        {**manifest(list_subscribed()).permissions, "contents": "read"}
    ) == ("contents: write",)
    assert (
        manifest(list_subscribed()).lacking({**manifest(list_subscribed()).permissions, "issues": "admin"})
        == ()
    )
