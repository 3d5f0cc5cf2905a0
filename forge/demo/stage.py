"""The stage of the story: one card of the demo, watched from the forge's side only."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forge.demo.people import REPOSITORY, Json, StoryError, Team, wait_for

BOT = "cardinal[bot]"
GATE = "cardinal/gate"
PATIENCE_S = 180  # a shared machine was seen to need over 60 s for a step that takes 2


@dataclass(slots=True)
class Stage:
    """The card that the story is about; `broken` is the commit on which the gate was red.

    `patience_s` is how long each step may take until it must be seen: real agents need longer.
    """

    team: Team
    number: int = 0
    pull: int = 0
    broken: str = ""
    patience_s: float = PATIENCE_S

    def card(self) -> Json:
        """Return the card as the board shows it: `column`, `fields`."""
        for board in self.team.state()["boards"]:
            for column in board["columns"]:
                for card in column["cards"]:
                    if card.get("repository") == REPOSITORY and card.get("number") == self.number:
                        return {**card, "column": column["name"]}
        return {"column": "", "fields": {}}

    def face(self, name: str) -> str:
        """Return one project field of the card as text; empty when it has none."""
        value = self.card().get("fields", {}).get(name)
        return "" if value is None else str(value)

    def bot_comments(self, number: int = 0) -> list[Json]:
        """Return Cardinal's comments on the issue, or on the pull request of that number."""
        return [
            comment
            for comment in self.team.comments(number or self.number)
            if comment["user"]["login"] == BOT
        ]

    def everywhere(self) -> list[Json]:
        """Return Cardinal's comments on the issue and on the pull request."""
        return self.bot_comments() + (self.bot_comments(self.pull) if self.pull else [])

    def comment_with(self, *words: str) -> Json | None:
        """Return the newest comment of Cardinal's that holds all the words."""
        comments = [
            comment
            for comment in self.everywhere()
            if all(word.lower() in comment["body"].lower() for word in words)
        ]
        return comments[-1] if comments else None

    def pull_read(self) -> Json:
        answer: Json = self.team.call("alice", "GET", f"/repos/{REPOSITORY}/pulls/{self.pull}")
        return answer

    def push(self, who: str, path: str, find: str, replace: str, message: str) -> str:
        """Replace one text in a file of the pull request's branch, as an edit on the page does; return the
        commit.
        """
        branch = self.pull_read()["head"]["ref"]
        where = f"/repos/{REPOSITORY}/contents/{path}"
        there = self.team.call(who, "GET", f"{where}?ref={branch}")
        text = base64.b64decode(there["content"]).decode()
        if find not in text:
            raise StoryError(f"{path} is as the agent wrote it", 0, text[-500:])
        changed = base64.b64encode(text.replace(find, replace, 1).encode()).decode()
        body = {"message": message, "content": changed, "sha": there["sha"], "branch": branch}
        return str(self.team.call(who, "PUT", where, body)["commit"]["sha"])

    def to_draft(self, who: str) -> None:
        """Put the pull request back into draft, as its page does."""
        wanted = "mutation($p:ID!){convertPullRequestToDraft(input:{pullRequestId:$p}){pullRequest{id}}}"
        self.team.graphql(who, wanted, p=self.pull_read()["node_id"])

    def gate(self, head: str) -> Json:
        """Return Cardinal's check run on a commit; empty while there is none."""
        path = f"/repos/{REPOSITORY}/commits/{head}/check-runs"
        runs = self.team.call("alice", "GET", path)["check_runs"]
        return next((run for run in runs if run["name"] == GATE), {})

    def threads(self) -> list[Json]:
        """Return the review threads with `resolved` and their comments' authors."""
        document = (
            'query($n:Int!){repository(owner:"acme",name:"shop"){pullRequest(number:$n){'
            "reviewThreads(first:50){nodes{id isResolved comments(first:20){nodes{body author{login}}}}}}}}"
        )
        data = self.team.graphql("alice", document, n=self.pull)
        nodes: list[Json] = data["repository"]["pullRequest"]["reviewThreads"]["nodes"]
        return nodes

    def reaction(self, comment_id: int) -> str | None:
        """Return the reaction with which Cardinal acknowledged a comment, or None so far."""
        path = f"/repos/{REPOSITORY}/issues/comments/{comment_id}/reactions"
        contents = [
            reaction["content"]
            for reaction in self.team.call("alice", "GET", path)
            if reaction["user"]["login"] == BOT
        ]
        return contents[0] if contents else None

    def tick(self, who: str, comment: Json, box: str) -> None:
        """Tick the checkbox whose hidden name is or begins with `box`, as a click on the page does."""
        names = (f"<!-- box:{box} -->", f"<!-- box:{box}:")
        body = "\n".join(
            line.replace("[ ]", "[x]", 1) if any(name in line for name in names) else line
            for line in comment["body"].splitlines()
        )
        self.team.call(who, "PATCH", f"/repos/{REPOSITORY}/issues/comments/{comment['id']}", {"body": body})

    def wait(self, step: str, poll: Callable[[], str | None]) -> str:
        """Call `look` until it returns a text, and return that; raises StoryError after `patience_s`."""
        return wait_for(step, poll, limit_s=self.patience_s)

    def says(self, step: str, *words: str) -> str:
        """Wait for a comment of Cardinal's with all the words; return the start of its first line."""

        def poll() -> str | None:
            comment = self.comment_with(*words)
            return None if comment is None else str(comment["body"]).splitlines()[0][:100]

        return self.wait(step, poll)

    def sees(self, step: str, **expected: Any) -> str:
        """Wait until each named face field holds its words."""

        def poll() -> str | None:
            card = self.card()
            shown = {name: str(card["fields"].get(name) or "") for name in expected}
            if all(str(want).lower() in shown[name].lower() for name, want in expected.items()):
                return ", ".join(f"{name}: {text}" for name, text in shown.items())
            return None

        return self.wait(step, poll)
