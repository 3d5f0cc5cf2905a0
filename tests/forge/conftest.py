"""A forge with the demo's world, people and the App as real clients, and a receiver of webhooks."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from github import Auth, Github, GithubIntegration

from forge.seed.world import World
from forge.web.server import Forge
from tests.kept import demo

WAIT_S = 60


@dataclass
class Receiver:
    """Keeps the webhooks that it was sent; answers 202, or what `status` says."""

    url: str = ""
    status: int = 202
    got: list[dict[str, Any]] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def named(self, event: str, action: str | None = None) -> list[dict[str, Any]]:
        """Return the payloads of one event so far."""
        with self.arrived:
            return [
                one["body"]
                for one in self.got
                if one["event"] == event and (action is None or one["body"].get("action") == action)
            ]

    def wait(self, event: str, action: str | None = None, count: int = 1) -> list[dict[str, Any]]:
        """Return the payloads of one event, once there are `count` of them."""
        with self.arrived:
            enough = self.arrived.wait_for(lambda: len(self.named(event, action)) >= count, WAIT_S)
        assert enough, (
            f"no {event}.{action}; got {[(one['event'], one['body'].get('action')) for one in self.got]}"
        )
        return self.named(event, action)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    new_receiver = Receiver(arrived=threading.Condition(threading.RLock()))

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            with new_receiver.arrived:
                event = self.headers["X-GitHub-Event"]
                new_receiver.got.append(
                    {"event": event, "headers": dict(self.headers), "raw": raw, "body": json.loads(raw)}
                )
                new_receiver.arrived.notify_all()
            self.send_response(new_receiver.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    new_receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield new_receiver
    server.shutdown()
    thread.join(WAIT_S)
    server.server_close()


@dataclass
class Town:
    """A running forge with the demo's world."""

    forge: Forge
    world: World
    clients: list[Github] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.forge.url

    @property
    def store(self) -> Any:
        return self.forge.store

    def integration(self) -> GithubIntegration:
        auth = Auth.AppAuth(self.world.app.id, self.world.private_key)
        return GithubIntegration(
            auth=auth,
            base_url=self.url,
            timeout=WAIT_S,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )

    def token(self, permissions: dict[str, str] | None = None) -> str:
        """Return a token of the App, as the API gives it in `test_apps`."""
        token: str = self.store.apps.issue_token(self.world.installation, permissions=permissions).value
        return token

    def client(self, token: str, base: str = "") -> Github:
        made = Github(
            auth=Auth.Token(token),
            base_url=self.url + base,
            timeout=WAIT_S,
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )
        self.clients.append(made)
        return made

    def app(self, permissions: dict[str, str] | None = None) -> Github:
        return self.client(self.token(permissions))

    def person(self, login: str) -> Github:
        return self.client(f"forge-user-{login}")

    def graphql(self, client: Github, document: str, **variables: Any) -> dict[str, Any]:
        return client.requester.graphql_query(document, variables)[1]["data"]  # type: ignore[no-any-return]

    def wait_for_webhooks(self) -> None:
        """Wait until every webhook so far was sent."""
        assert self.forge.sender.drain(WAIT_S)


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    forge, world = demo(tmp_path)
    forge.start()
    new_town = Town(forge, world)
    yield new_town
    for client in new_town.clients:
        client.close()
    forge.stop()


@pytest.fixture
def hooked(town: Town, receiver: Receiver) -> Town:
    """Return the town with its App's webhook pointed at the receiver."""
    town.world.app.webhook_url = receiver.url
    return town


@pytest.fixture
def branch(town: Town) -> Callable[..., str]:
    """Return a function that makes a branch of acme/shop with changed files and returns its commit."""

    def make(name: str, files: dict[str, str] | None = None, who: str = "bob") -> str:
        store = town.store
        shop, actor = store.repos.get("acme", "shop"), store.users.get(who)
        ref = f"refs/heads/{name}"
        if ref not in store.repos.git(shop).refs():
            store.repos.create_ref(shop, ref, store.repos.commit_of(shop), actor=actor)
        wanted = {path: text.encode() for path, text in (files or {"NEWS.md": "news\n"}).items()}
        made: str = store.repos.write_files(shop, name, wanted, f"Change {name}", actor=actor)
        return made

    return make
