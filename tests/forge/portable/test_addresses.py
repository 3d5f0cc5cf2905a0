"""A board keeps its ports from start to start; where somebody has taken one, links of before lead on."""

import socket
from pathlib import Path

import requests

from forge.portable.__main__ import Addresses
from forge.web.server import Forge
from tests.forge.portable.conftest import Portable

NONE = ("http://127.0.0.1", "")


def start(root: Path, last: tuple[str, str] = NONE) -> Addresses:
    addresses = Addresses(root / "ports", 0, last)
    addresses.keep()
    return addresses


def test_the_ports_of_before_come_again_unless_they_are_taken(tmp_path: Path) -> None:
    first = start(tmp_path)
    assert first.former() == {}
    again = start(tmp_path)
    assert (again.board, again.cardinal, again.former()) == (first.board, first.cardinal, {})
    with socket.create_server(("127.0.0.1", first.board)):
        other = start(tmp_path)
    assert other.cardinal == first.cardinal
    assert other.former() == {str(first.board): str(other.board)}
    assert start(tmp_path).board == other.board  # links that were written since lead there


def test_a_board_that_came_as_a_file_follows_the_addresses_in_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        taken = [str(each.getsockname()[1]) for each in (one, two)]
        came = start(
            tmp_path, (f"http://127.0.0.1:{taken[0]}", f"http://127.0.0.1:{taken[1]}/webhooks/github")
        )
    assert came.former() == dict(zip(taken, (str(came.board), str(came.cardinal)), strict=True))


def test_only_starts_of_late_are_kept(tmp_path: Path) -> None:
    for port in range(40001, 40031):
        Addresses(
            tmp_path / "ports", 0, (f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 100}")
        ).keep()
    assert len(Addresses(tmp_path / "ports", 0, NONE).former()) <= 40


def test_links_of_a_page_lead_to_the_present_port_and_what_is_shown_stays(portable: Portable) -> None:
    store = portable.store
    issue = store.issues.get(store.repos.get("local", "shop"), 1)
    text = "[run](http://127.0.0.1:41/a), `http://127.0.0.1:41/b`, [other](http://127.0.0.1:411/c)"
    store.issues.comment(issue, text, actor=portable.world.app.bot)
    forge = Forge(portable.root, store=store)
    forge.former = {"41": "42"}
    try:
        page = requests.get(f"{forge.start().url}/local/shop/issues/1", timeout=60).text
    finally:
        forge.stop()
    assert 'href="http://127.0.0.1:42/a"' in page
    assert "<code>http://127.0.0.1:41/b</code>" in page
    assert 'href="http://127.0.0.1:411/c"' in page
