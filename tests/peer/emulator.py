"""The peer: the npm package `emulate`, its GitHub only, as one process for the whole test session."""

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.peer.relay import Relay
from tests.peer.side import ADMIN, EVENTS, ORG, PERMISSIONS, SECRET, SLUG, STRANGER, WRITER, Side
from tests.waiting import until

ROOT = Path(__file__).parents[2]
LEASH = Path(__file__).parent / "leash.cjs"
START_S, STOP_S = 120, 60
APP_ID, NEWCOMER_ID = 7001, 7002
NEWCOMER = "newcomer"  # an App that never wrote anything
TOKEN = "peer-user-"


def command() -> list[str]:
    """Return Node and the peer's program; skips the test where they were not fetched."""
    where = subprocess.run(
        [ROOT / "scripts/peer", "--where"], capture_output=True, text=True, timeout=60, check=False
    )
    if where.returncode == 3:
        pytest.skip("needs a GitHub that we did not write: run scripts/peer, which fetches it")
    assert where.returncode == 0, where.stderr
    return where.stdout.splitlines()


def new_key() -> str:
    """Return a private key as the peer and GitHub write it (PKCS#1)."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@contextmanager
def emulating(folder: Path, relay: Relay) -> Iterator[Side]:
    """Run the peer with the same organisation and App as the forge's side, its webhook aimed at `relay`."""
    node, program = command()
    key = new_key()
    seed = folder / "seed.yaml"
    seed.write_text(json.dumps(_seed(key, relay.url)), encoding="utf-8")  # JSON is YAML
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        started = _start([node, "--require", str(LEASH), program], seed, port, listener.fileno())
    try:
        url = f"http://localhost:{port}"  # not 127.0.0.1: PyGithub compares it with the URLs in the answers
        _await(started, url)
        yield Side(
            "emulate", url, APP_ID, key, relay, lambda login: TOKEN + login, _make_repository, started.pid
        )
    finally:
        assert started.stdin is not None
        started.stdin.close()  # the leash
        try:
            started.wait(STOP_S)
        finally:
            started.kill()
            started.wait(STOP_S)


def _start(program: list[str], seed: Path, port: int, listener: int) -> subprocess.Popen[bytes]:
    """Start it on a socket that listens already; leash.cjs takes its descriptor."""
    options = ["start", "--service", "github", "--port", str(port), "--seed", str(seed)]
    with (seed.parent / "emulate.log").open("wb") as log:
        return subprocess.Popen(
            [*program, *options],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(listener,),
            cwd=seed.parent,
            env={"PATH": os.environ["PATH"], "HOME": str(seed.parent), "PEER_SOCKET": str(listener)},
        )


def _await(started: subprocess.Popen[bytes], url: str) -> None:
    def answers() -> bool:
        assert started.poll() is None, "the peer ended: its emulate.log says why"
        with contextlib.suppress(requests.ConnectionError):
            return requests.get(f"{url}/meta", timeout=START_S).status_code == 200
        return False

    until(answers, "the peer answers", START_S, 0.05)


def _seed(key: str, webhook: str) -> dict[str, Any]:
    people = (ADMIN, WRITER, STRANGER)

    def app(number: int, slug: str, **more: Any) -> dict[str, Any]:
        made = {"installation_id": number * 10, "account": ORG, "repository_selection": "all"}
        shape = {
            "app_id": number,
            "slug": slug,
            "name": slug.title(),
            "private_key": key,
            "events": list(EVENTS),
        }
        return {**shape, "permissions": PERMISSIONS, "installations": [made], **more}

    apps = [
        app(APP_ID, SLUG, webhook_url=webhook, webhook_secret=SECRET),
        app(NEWCOMER_ID, NEWCOMER, events=[]),
    ]
    return {
        "tokens": {
            TOKEN + person: {"login": person, "scopes": ["repo", "user", "admin:org"]} for person in people
        },
        "github": {
            "users": [{"login": person} for person in people],
            "orgs": [{"login": ORG, "members": [{"login": ADMIN, "role": "admin"}]}],
            "apps": apps,
        },
    }


def _make_repository(side: Side, name: str) -> None:
    made = {"name": name, "auto_init": True, "private": False}
    side.person(ADMIN, "POST", f"/orgs/{ORG}/repos", made)
    path = f"/repos/{ORG}/{name}/collaborators/{WRITER}"
    side.person(ADMIN, "PUT", path, {"permission": "push"})
