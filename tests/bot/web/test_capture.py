"""Real deliveries are kept as shapes, for a while, and never with what people wrote or who they are."""

import hashlib
import hmac
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from bot.cli import main
from bot.system.config import Config, read
from bot.web import capture
from tests.bot.flows.cardinal import Clock
from tests.bot.web.serving import web_client
from tests.ledgers import new_ledger

SECRET = "it is signed with this"
TOKEN = "ghs_12_" + "A" * 500
PERSON = 583_231_770_415  # so long that no pseudonym, which is made of digits and letters, holds it by chance
COMMENT = {
    "action": "edited",
    "comment": {
        "id": 5,
        "body": f"- [x] Approve\n- [ ] Cancel\nmy mail is ann@example.org and {TOKEN}",
        "created_at": "2026-11-20T10:00:00Z",
        "author_association": "MEMBER",
        "user": {"login": "ann", "id": PERSON, "type": "User", "url": "https://api.github.com/users/ann"},
    },
    "changes": {"body": {"from": "- [ ] Approve\n- [ ] Cancel"}},
    "sender": {"login": "ann", "id": PERSON, "type": "User"},
}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return read({"CARDINAL_WEBHOOK_SECRET": SECRET, "CARDINAL_HOME": str(tmp_path / "home")}, tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(config: Config, clock: Clock) -> TestClient:
    return web_client(config, new_ledger(config.database_url), lambda *_: True, clock)


def post(door: TestClient, guid: str, payload: dict[str, Any]) -> int:
    body = json.dumps(payload).encode()
    signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "X-GitHub-Event": "issue_comment",
        "X-GitHub-Delivery": guid,
        "X-Hub-Signature-256": f"sha256={signed}",
        "Authorization": "Bearer never-kept",
    }
    return door.post(
        "/webhooks/github", content=body, headers={**headers, "Content-Type": "application/json"}
    ).status_code


def test_nothing_is_kept_until_somebody_asks(door: TestClient, config: Config) -> None:
    assert post(door, "a", COMMENT) == 202
    assert capture.list_deliveries(config.home) == ()


def test_what_is_kept_has_the_shape_and_no_word_of_people(
    door: TestClient, config: Config, clock: Clock
) -> None:
    capture.begin_capture(config.home, clock(), lasting=timedelta(minutes=5), most=10)
    assert post(door, "a", COMMENT) == 202
    (path,) = capture.list_deliveries(config.home)
    text = path.read_text()
    for word in ("ann", TOKEN, "mail", str(PERSON), "api.github.com", "never-kept", "Cancel", SECRET):
        assert word not in text, word
    kept = json.loads(text)
    assert (kept["event"], kept["action"]) == ("issue_comment", "edited")
    payload = kept["payload"]
    assert payload["comment"]["created_at"] == "2026-11-20T10:00:00Z"
    assert payload["comment"]["author_association"] == "MEMBER"
    assert payload["comment"]["id"] == 5
    assert payload["comment"]["body"].endswith("-1of2ticked")
    assert payload["changes"]["body"]["from"].endswith("-0of2ticked")
    assert payload["sender"]["login"] == payload["comment"]["user"]["login"]
    assert payload["sender"]["id"] == payload["comment"]["user"]["id"]
    assert path.stat().st_mode & 0o077 == 0


def test_it_ends_by_itself_and_keeps_no_more_than_was_asked_for(
    door: TestClient, config: Config, clock: Clock
) -> None:
    capture.begin_capture(config.home, clock(), lasting=timedelta(days=9), most=2)
    for n in range(4):
        post(door, f"g{n}", COMMENT)
    post(door, "large", {"action": "x", "text": "y" * capture.MAX_BYTES})
    assert len(capture.list_deliveries(config.home)) == 2
    for one in capture.list_deliveries(config.home):
        one.unlink()
    clock.forward(24 * 3600 + 1)
    post(door, "late", COMMENT)
    assert capture.list_deliveries(config.home) == ()


def test_a_folder_that_cannot_be_written_costs_no_delivery(
    door: TestClient, config: Config, clock: Clock
) -> None:
    capture.begin_capture(config.home, clock(), lasting=timedelta(minutes=5), most=10)
    (config.home / capture.FOLDER).write_text("in the way")
    assert post(door, "a", COMMENT) == 202


def test_the_command_switches_it_on_and_off(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDINAL_HOME", str(config.home))
    said = CliRunner().invoke(main, ["capture", "--for", "5", "--most", "3"])
    assert "capture is on, ends in" in said.stdout
    assert "at most 3 deliveries" in said.stdout
    assert "capture is off" in CliRunner().invoke(main, ["capture", "--off"]).stdout
    assert json.loads(CliRunner().invoke(main, ["capture", "--json"]).stdout)["kept"] == []
