"""What the team does on the forge: cards, drags, comments, ticks, the policy file."""

import re
from pathlib import Path
from typing import Any

import yaml

from forge.store.board import Item, Project
from forge.store.models import Comment, Issue, Repo, User
from forge.web.server import Forge


def issue_of(item: Item) -> Issue:
    assert isinstance(item.content, Issue)
    return item.content


class People:
    """The hands of the people; whoever inherits has a forge with the demo's team."""

    forge: Forge
    project: Project
    scenarios: Path

    def person(self, login: str) -> User:
        return self.forge.store.users.get(login)

    @property
    def bot(self) -> User:
        return self.person("cardinal[bot]")

    @property
    def repo(self) -> Repo:
        return self.forge.store.repos.get("acme", "shop")

    @property
    def home_repo(self) -> Repo:
        return self.forge.store.repos.get("acme", "board")

    def new(
        self,
        title: str = "Add them up",
        column: str | None = "Tasks",
        body: str = "Please.",
        repo: Repo | None = None,
    ) -> Item:
        """Open an issue, in the shop unless said otherwise, and put it on the board, as Carol."""
        carol = self.person("carol")
        issue = self.forge.store.issues.create(repo or self.repo, title, body, actor=carol)
        item = self.forge.store.projects.add(self.project, issue, actor=carol)
        if column is not None:
            self.forge.store.projects.drag(item, column, actor=carol)
        return item

    def draft(self, title: str, column: str) -> Item:
        """Put a draft issue on the board, as Carol."""
        carol = self.person("carol")
        item = self.forge.store.projects.add_draft(self.project, title, "An idea.", actor=carol)
        self.forge.store.projects.drag(item, column, actor=carol)
        return item

    def drag(self, item: Item, column: str | None, who: str = "alice", before: Item | None = None) -> None:
        self.forge.store.projects.drag(item, column, actor=self.person(who), before=before)

    def say(self, item: Item, text: str, who: str = "alice") -> Comment:
        return self.forge.store.issues.comment(issue_of(item), text, actor=self.person(who))

    def tick(self, comment: Comment, box: str, who: str = "alice") -> None:
        """Tick the box of that hidden name, or that begins so, as a click on the page does."""
        found = re.search(rf"^- \[ \](?=[^\n]*<!-- box:{re.escape(box)}[: ])", comment.body, re.MULTILINE)
        assert found, f"no box {box} in {comment.body}"
        ticked = f"{comment.body[: found.start()]}- [x]{comment.body[found.end() :]}"
        self.forge.store.issues.edit_comment(comment, ticked, actor=self.person(who))

    def set_policy(self, text: str) -> str:
        """Commit the board's policy file, as Alice; return the commit."""
        files: dict[str, bytes | None] = {".github/cardinal.yml": text.encode()}
        return self.forge.store.repos.write_files(
            self.home_repo, "main", files, "Policy", actor=self.person("alice")
        )

    def scenario(self, name: str = "test", **sections: Any) -> None:
        """Write what the scripted agent does; it plans something unless told otherwise."""
        sections = {"plan": [{"plan": {"summary": "Add it.", "steps": ["Add it"]}}], **sections}
        self.scenarios.mkdir(exist_ok=True)
        (self.scenarios / f"{name}.yml").write_text(yaml.safe_dump(sections))
