"""The team of the demo: acts and looks through GitHub's own API."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import requests

Json = dict[str, Any]
REPOSITORY = "acme/shop"
TIMEOUT_S = 30


class StoryError(Exception):
    """A step of the story was not observed on the forge within its limit."""

    def __init__(self, step: str, waited_s: float, last: str) -> None:
        self.step, self.waited_s, self.last = step, waited_s, last
        super().__init__(f"{step}: not seen on the forge within {waited_s:.0f} s; last seen: {last}")


@dataclass(frozen=True, slots=True)
class Team:
    """The people of the demo on one forge; every call is a person's call with that person's token."""

    url: str
    is_server: bool = False  # an Enterprise Server, whose API has paths of its own

    def call(self, who: str, method: str, path: str, body: Json | None = None) -> Any:
        """Make one API call as `who` and return its JSON; raises requests.HTTPError on a refusal."""
        root = "" if not self.is_server or path.startswith("/_forge/") else "/api/v3"
        root = "/api" if root and path == "/graphql" else root
        answer = requests.request(
            method,
            self.url + root + path,
            json=body,
            headers={"Authorization": f"token forge-user-{who}"},
            timeout=TIMEOUT_S,
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def graphql(self, who: str, document: str, **variables: Any) -> Json:
        """Run one GraphQL document as `who` and return its data."""
        answer = self.call(who, "POST", "/graphql", {"query": document, "variables": variables})
        if answer.get("errors"):
            raise StoryError("graphql", 0, str(answer["errors"]))
        data: Json = answer["data"]
        return data

    def state(self) -> Json:
        """Return everything that can be seen on the forge."""
        answer: Json = self.call("alice", "GET", "/_forge/state")
        return answer

    def drag(
        self, who: str, number: int, column: str, repository: str = REPOSITORY, project: int = 1
    ) -> None:
        """Drag the card of an issue into a column, as the board's page does."""
        body = {"project": project, "issue": f"{repository}#{number}", "column": column, "actor": who}
        self.call(who, "POST", "/_forge/drag", body)

    def say(self, who: str, number: int, text: str, repository: str = REPOSITORY) -> int:
        """Comment on an issue or pull request and return the comment's id."""
        made = self.call(who, "POST", f"/repos/{repository}/issues/{number}/comments", {"body": text})
        return int(made["id"])

    def comments(self, number: int, repository: str = REPOSITORY) -> list[Json]:
        """Return the comments of an issue or pull request, oldest first."""
        path = f"/repos/{repository}/issues/{number}/comments?per_page=100"
        answer: list[Json] = self.call("alice", "GET", path)
        return answer

    def new_card(
        self, who: str, title: str, body: str, column: str, repository: str = REPOSITORY, *, project: int = 1
    ) -> int:
        """Open an issue, put it on the board, and return its number."""
        issue = self.call(who, "POST", f"/repos/{repository}/issues", {"title": title, "body": body})
        board = self.graphql(who, f'{{organization(login:"acme"){{projectV2(number:{project}){{id}}}}}}')
        added = "mutation($p:ID!,$c:ID!){addProjectV2ItemById(input:{projectId:$p,contentId:$c}){item{id}}}"
        self.graphql(who, added, p=board["organization"]["projectV2"]["id"], c=issue["node_id"])
        self.drag(who, issue["number"], column, repository, project)
        return int(issue["number"])


def wait_for(step: str, poll: Callable[[], str | None], *, limit_s: float) -> str:
    """Call `poll` until it returns a text, and return that; raises StoryError after `limit_s`."""
    start = time.monotonic()
    pause_s = 0.02
    while time.monotonic() - start < limit_s:
        seen = poll()
        if seen:
            return seen
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.25)
    raise StoryError(step, limit_s, "nothing yet")
