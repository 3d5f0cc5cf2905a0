"""Who comes in at the door of somebody's own board: who has the key, and the App."""

import hashlib
import hmac
import socket
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from forge.portable.door import LoopbackAuth, owner_of
from tests.forge.portable.conftest import Portable

KEY = "a-key-of-24-bytes"
SESSION = hmac.new(KEY.encode(), b"cookie", hashlib.sha256).hexdigest()
COOKIE = f"cardinal_try_8585={SESSION}"


def asked(path: str = "/", host: str = "127.0.0.1:8585", **headers: str) -> dict[str, Any]:
    path, _, query = path.partition("?")
    common = {"HTTP_HOST": host, "SERVER_PORT": "8585"}
    return {**common, "PATH_INFO": path, "QUERY_STRING": query, **headers}


def basic(password: str) -> str:
    return f"Basic {b64encode(f'x:{password}'.encode()).decode()}"


@pytest.fixture
def door(portable: Portable) -> LoopbackAuth:
    return LoopbackAuth(KEY, "ann", "/orgs/local/projects/1", portable.store)


@pytest.mark.parametrize(
    "request_",
    [
        asked(),
        asked("/_forge/state"),
        asked("/_forge/drag"),
        asked("/repos/local/shop"),
        asked("/-/assets"),
        asked(HTTP_COOKIE="cardinal_try_8585=other"),
        asked(HTTP_COOKIE="cardinal_try_8585="),
        asked(HTTP_COOKIE=f"cardinal_try_8585={KEY}"),
        asked(HTTP_COOKIE=COOKIE),  # of no process that is known
        asked(HTTP_AUTHORIZATION="token forge-user-ann", HTTP_COOKIE=COOKIE),
        asked(HTTP_COOKIE="a=b; c"),
        asked(HTTP_AUTHORIZATION="token forge-user-ann"),
        asked(HTTP_AUTHORIZATION=basic("forge-user-ann")),
        asked("/-/enter?key=other"),
        asked("/-/enter?key="),
        asked("/-/enter"),
        asked(host="evil.example", HTTP_COOKIE=COOKIE),
        asked(host="evil.example:8585", HTTP_COOKIE=COOKIE),
        asked(host="", HTTP_COOKIE=COOKIE),
    ],
)
def test_others_stay_outside(door: LoopbackAuth, request_: dict[str, Any]) -> None:
    answer = door.answer(request_)
    assert answer is not None
    assert answer[0] == "403 Forbidden"


@pytest.fixture
def ports() -> Iterator[dict[str, str]]:
    """The ports of a connection of this process."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as browser:
        browser.connect(server.getsockname())
        yield {"REMOTE_PORT": str(browser.getsockname()[1]), "SERVER_PORT": str(server.getsockname()[1])}


def test_a_cookie_opens_only_to_pages_of_the_board(door: LoopbackAuth, ports: dict[str, str]) -> None:
    host = f"127.0.0.1:{ports['SERVER_PORT']}"
    ours = asked("/_forge/drag", host=host, HTTP_COOKIE=COOKIE.replace("8585", ports["SERVER_PORT"])) | ports
    assert door.answer(ours) is None
    assert door.answer(ours | {"HTTP_ORIGIN": f"http://{host}"}) is None
    for other in ("http://127.0.0.1:9999", "null", "http://evil.example"):
        assert (door.answer(ours | {"HTTP_ORIGIN": other}) or ("",))[0] == "403 Forbidden"


def test_the_key_in_an_address_is_a_cookie_afterwards(door: LoopbackAuth) -> None:
    address = door.address("http://127.0.0.1:8585")
    answer = door.answer(asked(address.removeprefix("http://127.0.0.1:8585") + "&to=//evil.example"))
    assert answer is not None
    headers = dict(answer[1])
    assert (answer[0], headers["Location"]) == ("303 See Other", "/orgs/local/projects/1")
    assert headers["Set-Cookie"] == f"{COOKIE}; Path=/; HttpOnly; SameSite=Strict"


def test_the_address_that_a_browser_is_started_with_opens_once(
    door: LoopbackAuth, ports: dict[str, str]
) -> None:
    path = door.address("", once=True)
    assert KEY not in path  # other users see the command lines of this machine
    answers = [door.answer(asked(path) | more) for more in ({}, ports, ports)]
    # The first came from nobody that is known: another user, who has read the address.
    assert [answer and answer[0] for answer in answers] == ["403 Forbidden", "303 See Other", "403 Forbidden"]


def test_who_has_connected_is_in_the_table_of_the_kernel() -> None:
    rows = [
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
        "   0: 0100007F:2189 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 0",
        "   1: 0100007F:C350 0100007F:2189 01 00000000:00000000 00:00000000 00000000  1001        0 78 1 0",
        "   2: 0100007F:C352 0100007F:2189 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0",
    ]
    assert owner_of("\n".join(rows), client=50000, server=8585) == 1001
    assert owner_of("\n".join(rows), client=50001, server=8585) is None
    assert owner_of("\n".join(rows), client=50002, server=8585) is None  # closed by its process


def test_git_gets_in_by_the_key_and_acts_as_the_person(door: LoopbackAuth) -> None:
    request = asked("/local/shop.git/info/refs")
    answer = door.answer(request)
    assert answer is not None
    assert answer[0] == "401 Unauthorized"
    request = asked("/local/shop.git/info/refs", HTTP_AUTHORIZATION=basic(KEY))
    assert door.answer(request) is None
    assert request["HTTP_AUTHORIZATION"] == "token forge-user-ann"


def test_the_app_gets_in_by_its_token(door: LoopbackAuth, portable: Portable) -> None:
    token = portable.store.apps.issue_token(portable.world.installation).value
    for given in (f"token {token}", basic(token)):
        request = asked("/app", HTTP_AUTHORIZATION=given)
        assert (door.answer(request), request["HTTP_AUTHORIZATION"]) == (None, given)


@pytest.mark.parametrize("path", ["/_forge/state", "/_forge/drag", "/local/shop", "/repos/local/shop"])
@pytest.mark.parametrize("given", ["x", "Bearer a.b.c", "token ghs_1", "Bearer\tforge-user-ann", "Basic ?"])
def test_a_token_that_nobody_has_opens_nothing(door: LoopbackAuth, path: str, given: str) -> None:
    answer = door.answer(asked(path, HTTP_AUTHORIZATION=given))
    assert answer is not None
    assert answer[0] == "401 Unauthorized"
