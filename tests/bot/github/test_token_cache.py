"""What GitHub gave is kept for all processes of a machine, and tells nobody else anything."""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.github.api import roles
from bot.github.client import Hub
from bot.github.errors import UnavailableError
from bot.github.shared_records import FileRecords, home_records
from bot.github.token_cache import MAX, TokenCache
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.system.secret import Secret
from tests.bot.github.conftest import Clock, Scripted


def kept(config: Config, *scope: str) -> TokenCache:
    return TokenCache(home_records(config, utc_now), "kept", config.private_key, scope)


def file_of(config: Config) -> Path:
    (path,) = (config.home / "run" / "shared").iterdir()
    return path


def test_a_second_process_asks_for_no_token_of_its_own(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens(times=1)
    scripted.answer("GET", "/x", {})
    hub.rest("GET", "/x")
    Hub(config, clock).rest("GET", "/x")
    assert len(scripted.asked("/app/installations/7/access_tokens")) == 1
    assert [one.headers["Authorization"] for one in scripted.asked("/x")] == ["Bearer token1"] * 2


def test_of_many_that_miss_a_token_at_once_one_asks_for_it(
    config: Config, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens(times=1)
    scripted.answer("GET", "/x", {})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda hub: hub.rest("GET", "/x"), [Hub(config, clock) for _ in range(4)]))
    assert len(scripted.asked("/app/installations/7/access_tokens")) == 1


def test_a_token_that_came_between_look_and_claim_is_taken(
    config: Config, scripted: Scripted, clock: Clock
) -> None:
    records = home_records(config, clock)
    other, looks = Hub(config, clock, records=records), list[str]()

    class Overtaken(FileRecords):
        def read(self, name: str) -> tuple[bytes, float]:
            seen = records.read(name)
            if not looks:
                looks.append(name)
                other.rest("GET", "/x")
            return seen

    scripted.tokens(times=1)
    scripted.answer("GET", "/x", {})
    Hub(config, clock, records=Overtaken(records.folder, clock)).rest("GET", "/x")
    assert len(scripted.asked("/app/installations/7/access_tokens")) == 1


def test_who_was_refused_a_token_lets_the_next_one_ask(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    scripted.answer("GET", "/orgs/acme/installation", {"id": 7})
    scripted.answer("POST", "/app/installations/7/access_tokens", {"message": "no"}, status=500)
    with pytest.raises(UnavailableError):
        hub.rest("GET", "/x")
    assert hub._kept.get("claim: ") == "0", "nobody waits for it"
    expires = (clock() + timedelta(hours=1)).isoformat()
    scripted.answer(
        "POST", "/app/installations/7/access_tokens", {"token": "t", "expires_at": expires}, status=201
    )
    scripted.answer("GET", "/x", {"ok": True})
    assert Hub(config, clock).rest("GET", "/x").body == {"ok": True}


def test_what_one_process_renewed_is_not_renewed_again_by_the_next(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    other = Hub(config, clock)
    scripted.tokens(times=2)
    scripted.answer("GET", "/x", {})
    hub.rest("GET", "/x")
    other.rest("GET", "/x")
    clock.forward(3301)
    hub.rest("GET", "/x")
    other.rest("GET", "/x")
    assert [one.headers["Authorization"] for one in scripted.asked("/x")][2:] == ["Bearer token2"] * 2


def test_a_refused_token_does_not_take_its_successor_with_it(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    other = Hub(config, clock)
    scripted.tokens(times=2)
    scripted.answer("GET", "/x", {})
    scripted.answer("GET", "/x", {})
    scripted.answer("GET", "/x", {"message": "Bad credentials"}, status=401)
    scripted.answer("GET", "/x", {})
    scripted.answer("GET", "/x", {"message": "Bad credentials"}, status=401)
    scripted.answer("GET", "/x", {})
    for one in (hub, other, hub, other):  # both hold token1; then each of them is refused it once
        one.rest("GET", "/x")
        clock.forward(30)
    assert len(scripted.asked("/app/installations/7/access_tokens")) == 2


def test_the_bot_is_asked_for_once_an_hour(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens()
    scripted.answer("GET", "/app", {"slug": "cardinal"})
    scripted.answer("GET", "/users/cardinal%5Bbot%5D", {"id": 99})
    assert (hub.bot_login, Hub(config, clock).bot_id) == ("cardinal[bot]", 99)
    assert len(scripted.asked("/app")) == 1
    clock.forward(3600)
    assert Hub(config, clock).bot_id == 99
    assert len(scripted.asked("/app")) == 2


def test_the_file_says_nothing_without_the_private_key(config: Config) -> None:
    token_cache = kept(config)
    token_cache.put("token", "ghs_secret")
    assert stat.S_IMODE(file_of(config).stat().st_mode) == 0o600
    assert b"ghs_secret" not in file_of(config).read_bytes()
    assert replace(token_cache, private_key=Secret("another key"), _made=[]).get("token") is None
    assert kept(config).get("token") == "ghs_secret"


def test_another_board_s_memory_is_no_memory(config: Config) -> None:
    kept(config, "acme").put("token", "t")
    assert kept(config, "umbrella").get("token") is None


def test_a_torn_file_is_an_empty_memory(config: Config) -> None:
    token_cache = kept(config)
    token_cache.put("token", "t")
    file_of(config).write_bytes(file_of(config).read_bytes()[:-9])
    assert token_cache.get("token") is None
    token_cache.put("token", "u")
    assert token_cache.get("token") == "u"


def test_the_memory_stays_small(config: Config) -> None:
    token_cache = kept(config)
    for n in range(MAX + 5):
        token_cache.put(f"token {n}", str(n))
    assert token_cache.get(f"token {MAX + 4}") == str(MAX + 4)
    assert token_cache.get("token 0") is None


def test_what_one_process_read_a_moment_ago_is_not_read_again_by_the_next(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens()
    path = "/repos/acme/shop/collaborators/alice/permission"
    scripted.answer("GET", path, {"role_name": "write"})
    assert roles.role(hub, "acme/shop", "alice") == "write"
    assert roles.role(Hub(config, clock), "acme/shop", "Alice") == "write"
    assert len(scripted.asked(path)) == 1
    clock.forward(roles.KEPT_S)
    roles.role(Hub(config, clock), "acme/shop", "alice")
    assert len(scripted.asked(path)) == 2


def test_a_token_that_git_took_is_not_tried_again_by_the_next_process(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens()
    scripted.answer("GET", "/repos/acme/shop", {})
    hub.git_environment("acme/shop")
    Hub(config, clock).git_environment("acme/shop")
    assert len(scripted.asked("/repos/acme/shop")) == 1
