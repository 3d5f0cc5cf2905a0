"""One GitHub as these tests see it: an organisation, its people and the App, whoever wrote the server."""

import itertools
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from bot.github.client import Hub
from bot.system.config import Config, read
from tests.peer.relay import Relay

ORG, SLUG, BOT = "acme", "cardinal", "cardinal[bot]"
ADMIN, WRITER, STRANGER = "alice", "bob", "mallory"  # in the organisation; may write; nobody there
SECRET = "shared by GitHub and Cardinal"
PERMISSIONS = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "organization_projects": "write",
    "pull_requests": "write",
}
EVENTS = (
    "check_run",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "push",
)
ANSWER_S = 60


def utc_now() -> datetime:
    return datetime.now(UTC)


@cache
def _parsed(key: str) -> RSAPrivateKey:
    """Return a private key, whose check takes longer than all else that a test does with it."""
    parsed = load_pem_private_key(key.encode(), None)
    assert isinstance(parsed, RSAPrivateKey)
    return parsed


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came; `body` is None where it is no JSON."""

    status: int
    headers: Mapping[str, str]
    text: str
    body: Any


@dataclass
class Side:
    """`name`: forge or emulate. `make_repository` makes one with a README, in which WRITER may write.

    `pid` is the process of a side that has one of its own.
    """

    name: str
    url: str
    app_id: int
    private_key: str
    relay: Relay
    person_token: Callable[[str], str]
    make_repository: Callable[["Side", str], None]
    pid: int = 0
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # --- Cardinal's side -------------------------------------------------------------------------------

    def config(self, home: Path, policy_repository: str = "") -> Config:
        """Return Cardinal's settings for this GitHub, as an operator writes them."""
        given = {
            "HOME": str(home),
            "GITHUB_URL": self.url,
            "APP_ID": str(self.app_id),
            "PRIVATE_KEY": self.private_key,
            "WEBHOOK_SECRET": SECRET,
            "BOARD": f"{ORG}/1",
            "POLICY_REPOSITORY": policy_repository,
            "WORKSPACE": "local",
        }
        return read({f"CARDINAL_{name}": value for name, value in given.items()}, home)

    def hub(self, home: Path) -> Hub:
        """Return Cardinal's own client, with nothing kept."""
        return Hub(self.config(home), utc_now)

    # --- what others do, past Cardinal's code ----------------------------------------------------------

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str = "", params: Any = None, **headers: str
    ) -> Reply:
        """Return the answer to one call with `token`, whatever its status; no token: as nobody."""
        sent = {"Accept": "application/vnd.github+json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        found = requests.request(
            method, self.url + path, json=body, params=params, headers=sent | headers, timeout=ANSWER_S
        )
        is_json = "json" in found.headers.get("content-type", "") and bool(found.content)
        lower = {name.lower(): value for name, value in found.headers.items()}
        return Reply(found.status_code, lower, found.text, found.json() if is_json else None)

    def person(self, login: str, method: str, path: str, body: Any = None, *, status: int = 0) -> Any:
        """Let a person make a call that succeeds, with `status` where it matters; return its JSON."""
        reply = self.ask(method, path, body, token=self.person_token(login))
        assert reply.status == status if status else reply.status < 300, (reply.status, reply.text[:500])
        return reply.body

    def jwt(self, *, lasting_s: int = 300, key: str = "", app_id: int = 0) -> str:
        """Return a JWT that is signed like the App's."""
        now = int(time.time())
        claims = {"iat": now - 60, "exp": now + lasting_s, "iss": str(app_id or self.app_id)}
        return jwt.encode(claims, _parsed(key or self.private_key), algorithm="RS256")

    def installation_id(self) -> int:
        return int(self.ask("GET", f"/orgs/{ORG}/installation", token=self.jwt()).body["id"])

    def narrow(self, **wanted: Any) -> Reply:
        """Return the answer to the App that asks for a token of this kind."""
        path = f"/app/installations/{self.installation_id()}/access_tokens"
        return self.ask("POST", path, wanted or None, token=self.jwt())

    def token(self, **wanted: Any) -> str:
        """Return an installation token."""
        reply = self.narrow(**wanted)
        assert reply.status == 201, reply.text
        return str(reply.body["token"])

    # --- what a test starts from -----------------------------------------------------------------------

    def repository(self) -> str:
        """Return the full name of a new repository that holds one README."""
        name = f"shop-{next(self._numbers)}"
        self.make_repository(self, name)
        return f"{ORG}/{name}"

    def issue(self, repository: str, title: str = "Totals are wrong", body: str = "Add them up.") -> int:
        """Let ADMIN open an issue; return its number."""
        asked = {"title": title, "body": body}
        return int(self.person(ADMIN, "POST", f"/repos/{repository}/issues", asked)["number"])

    def say(self, repository: str, number: int, text: str, who: str = WRITER) -> int:
        """Let a person comment; return the comment's id."""
        path = f"/repos/{repository}/issues/{number}/comments"
        return int(self.person(who, "POST", path, {"body": text})["id"])

    def head(self, repository: str, branch: str = "main") -> str:
        """Return the commit of a branch."""
        found = self.person(WRITER, "GET", f"/repos/{repository}/git/ref/heads/{branch}")
        return str(found["object"]["sha"])

    def write(self, repository: str, branch: str, path: str = "new.txt", text: str = "1\n2\n3\n") -> str:
        """Let WRITER commit a new file to a branch, which is made of main if need be; return the commit."""
        root = f"/repos/{repository}"
        if self.ask("GET", f"{root}/git/ref/heads/{branch}", token=self.person_token(WRITER)).status == 404:
            made = {"ref": f"refs/heads/{branch}", "sha": self.head(repository)}
            self.person(WRITER, "POST", f"{root}/git/refs", made)
        content = b64encode(text.encode()).decode()
        asked = {"message": f"Write {path}", "content": content, "branch": branch}
        return str(self.person(WRITER, "PUT", f"{root}/contents/{path}", asked)["commit"]["sha"])
