"""What GitHub gave is kept for all processes of a machine, and tells nobody else anything."""

import stat
from dataclasses import replace

from bot.github.client import Hub
from bot.github.token_cache import MAX, TokenFile
from bot.system.config import Config
from bot.system.secret import Secret
from tests.bot.github.conftest import Clock, Scripted


def kept(config: Config, *scope: str) -> TokenFile:
    return TokenFile(config.home / "run" / "kept", config.private_key, scope)


def test_a_second_process_asks_for_no_token_of_its_own(
    hub: Hub, config: Config, scripted: Scripted, clock: Clock
) -> None:
    scripted.tokens(times=1)
    scripted.answer("GET", "/x", {})
    hub.rest("GET", "/x")
    Hub(config, clock).rest("GET", "/x")
    assert len(scripted.asked("/app/installations/7/access_tokens")) == 1
    assert [one.headers["Authorization"] for one in scripted.asked("/x")] == ["Bearer token1"] * 2


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
    mine = kept(config)
    mine.put("token", "ghs_secret")
    assert stat.S_IMODE(mine.path.stat().st_mode) == 0o600
    assert b"ghs_secret" not in mine.path.read_bytes()
    assert replace(mine, private_key=Secret("another key"), _made=[]).get("token") is None
    assert kept(config).get("token") == "ghs_secret"


def test_another_board_s_memory_is_no_memory(config: Config) -> None:
    kept(config, "acme").put("token", "t")
    assert kept(config, "umbrella").get("token") is None


def test_a_torn_file_is_an_empty_memory(config: Config) -> None:
    mine = kept(config)
    mine.put("token", "t")
    mine.path.write_bytes(mine.path.read_bytes()[:-9])
    assert mine.get("token") is None
    mine.put("token", "u")
    assert mine.get("token") == "u"


def test_the_memory_stays_small(config: Config) -> None:
    mine = kept(config)
    for n in range(MAX + 5):
        mine.put(f"token {n}", str(n))
    assert mine.get(f"token {MAX + 4}") == str(MAX + 4)
    assert mine.get("token 0") is None
