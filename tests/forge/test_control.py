"""The forge's own door, its command, and its threads."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import requests
from werkzeug.test import create_environ

from forge.web.server import Forge, application
from tests.forge.conftest import Town
from tests.waiting import until

ROOT = Path(__file__).parents[2]


def test_the_state_shows_what_a_person_would_see(town: Town) -> None:
    town.app().get_repo("acme/shop").get_issue(1).create_comment("hello")
    state = requests.get(f"{town.url}/_forge/state", timeout=60).json()
    columns = {column["name"]: column["cards"] for column in state["boards"][0]["columns"] if column["name"]}
    assert list(columns) == ["Tasks", "Planning", "In Progress", "Review", "QA", "Done"]
    card = next(card for card in columns["Tasks"] if card["number"] == 1)
    assert (card["repository"], card["number"], card["fields"]) == ("acme/shop", 1, {"Status": "Tasks"})
    shop = state["repositories"]["acme/shop"]
    assert shop["issues"]["1"]["comments"][0]["body"] == "hello"
    assert list(shop["branches"]) == ["main"]


def test_what_a_full_disk_does_not_keep_is_refused_in_a_sentence(
    town: Town, capfd: pytest.CaptureFixture[str]
) -> None:
    def keep() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    town.forge.keep = keep
    drag = {"project": 1, "issue": "acme/shop#1", "column": "Planning", "actor": "alice"}
    assert requests.post(f"{town.url}/_forge/drag", json=drag, timeout=60).status_code == 503
    assert capfd.readouterr().err == "the disk is full: make room there; the board goes on then\n"


@pytest.mark.parametrize("read", ["whole", "in part"])
def test_a_file_whose_reader_went_away_is_closed(tmp_path: Path, read: str) -> None:
    forge, asset = Forge(tmp_path), ROOT / "forge/pages/assets/talk.js"
    body = forge.answer(create_environ("/-/assets/talk.js", forge.url), lambda *_: lambda _: None)
    next(body)
    assert str(asset) in open_files()
    if read == "whole":
        assert list(body) == []
    else:
        del body  # as the server does when the connection breaks: it forgets to close it
    assert str(asset) not in open_files()
    forge.stop()


def open_files() -> list[str]:
    return [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]


def test_the_calls_of_the_app_are_counted_and_not_those_of_people(town: Town) -> None:
    client = town.app()
    requests.delete(f"{town.url}/_forge/calls", timeout=60)
    client.get_repo("acme/shop").get_issue(1).create_comment("x")
    town.graphql(client, "query Who { viewer { login } }")
    town.person("bob").get_repo("acme/shop")
    calls = requests.get(f"{town.url}/_forge/calls", timeout=60).json()
    assert [(call["method"], call["path"], call["status"]) for call in calls] == [
        ("GET", "/repos/acme/shop", 200),
        ("GET", "/repos/acme/shop/issues/1", 200),
        ("POST", "/repos/acme/shop/issues/1/comments", 201),
        ("POST", "/graphql", 200),
    ]
    assert calls[-1]["operation"].startswith("query Who")


def test_the_door_is_closed_to_other_names_and_other_sites(town: Town) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        answer = requests.get(f"{town.url}/_forge/state", headers=headers, timeout=60)
        assert answer.status_code == 403


def test_an_app_is_registered_with_secrets_that_work(town: Town) -> None:
    wanted = {"name": "Second App", "owner": "acme", "permissions": {"issues": "read"}}
    made = requests.post(f"{town.url}/_forge/app", json=wanted, timeout=60).json()
    assert made["slug"] == "second-app"
    assert made["pem"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert town.store.users.get("second-app[bot]").login == "second-app[bot]"


def test_settings_are_checked(town: Town) -> None:
    url = f"{town.url}/_forge/settings"
    assert requests.post(url, json={"drag_shape": "both"}, timeout=60).json()["drag_shape"] == "both"
    for wrong in ({"drag_shape": "sideways"}, {"no_such": 1}, {"rate_limit": "many"}):
        assert requests.post(url, json=wrong, timeout=60).status_code == 422


def test_many_at_once_lose_nothing(town: Town) -> None:
    def talk(login: str) -> None:
        session = requests.Session()
        with session:
            for number in range(10):
                session.post(
                    f"{town.url}/repos/acme/shop/issues/1/comments",
                    json={"body": f"{login} {number}"},
                    headers={"Authorization": f"token forge-user-{login}"},
                    timeout=120,
                ).raise_for_status()

    threads = [threading.Thread(target=talk, args=(login,)) for login in ("alice", "bob", "carol", "mallory")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    comments = town.store.repos.get("acme", "shop").issues[1].comments
    assert len({comment.id for comment in comments}) == len(comments) == 40


def test_its_routes_are_compiled_by_one_thread_before_many_ask(tmp_path: Path) -> None:
    """Python 3.11.2, that of Debian 12, fails where several threads parse at once: cpython issue 106905."""
    application.cache_clear()
    forge = Forge(tmp_path).start()
    try:
        assert application.cache_info().currsize == 1
    finally:
        forge.stop()


def test_stopping_leaves_no_thread_and_no_port(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    forge = Forge(tmp_path).start()
    assert requests.get(f"{forge.url}/rate_limit", timeout=60).status_code == 200
    forge.stop()
    # The one that answered may be about to end.
    until(lambda: set(threading.enumerate()) <= before, "all threads of the forge have ended")
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{forge.url}/rate_limit", timeout=60)


def test_the_command_says_where_it_is_and_stops_clean(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "forge", "--port", "0", "--root", str(tmp_path), "--seed", "demo"]
    command += ["--key-file", str(tmp_path / "key.pem")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("forge listening on http://127.0.0.1:")
        assert (
            requests.get(f"{line.split()[-1]}/repos/acme/board", timeout=60).json()["full_name"]
            == "acme/board"
        )
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600


def test_a_true_answer_can_be_spoilt_in_text_and_headers(town: Town) -> None:
    spoil = {"path": "/issues/1$", "replace": [["open", "ajar"], ["ajar", "shut"]], "headers": {"X-New": "1"}}
    requests.post(f"{town.url}/_forge/faults", json={"api": [spoil]}, timeout=60).raise_for_status()
    url, headers = f"{town.url}/repos/acme/shop/issues/1", {"Authorization": f"token {town.token()}"}
    spoilt, true = (requests.get(url, headers=headers, timeout=60) for _ in range(2))
    assert (spoilt.json()["state"], spoilt.headers["X-New"]) == ("shut", "1")
    assert (true.json()["state"], true.headers.get("X-New")) == ("open", None)
    assert (
        requests.post(
            f"{town.url}/_forge/faults", json={"api": [{"path": "", "replace": ["("]}]}, timeout=60
        ).status_code
        == 422
    )
