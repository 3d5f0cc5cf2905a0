"""What the browser tests put into the forge and ask of it."""

import json
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

from forge.seed.world import World
from forge.store.board import Item
from forge.store.models import Comment, Issue, Pull, Repo, User
from forge.web.server import Forge

REFUNDS = '''"""Refunds."""


def refund(cents: int) -> int:
    """Return what goes back."""
    return -cents
'''


@dataclass(frozen=True, slots=True)
class Town:
    """A served forge with the demo's world."""

    forge: Forge
    world: World

    @property
    def shop(self) -> Repo:
        """Return the repository acme/shop."""
        return self.forge.store.repos.get("acme", "shop")

    def user(self, login: str) -> User:
        """Return an account."""
        return self.forge.store.users.get(login)

    def card(self, title: str) -> Item:
        """Return the card with this title."""
        return next(item for item in self.world.project.items if item.title == title)

    def column(self, title: str) -> str | None:
        """Return the column that a card is in."""
        column = self.card(title).column()
        return column.name if column else None

    def titles(self, column: str) -> list[str]:
        """Return the titles of a column's cards, from the top."""
        items = self.world.project.items
        return [item.title for item in items if (option := item.column()) and option.name == column]

    def new_card(self, title: str, column: str, body: str = "") -> Item:
        """Return a new card with an issue by alice."""
        store, alice = self.forge.store, self.user("alice")
        issue = store.issues.create(self.shop, title, body, actor=alice)
        item = store.projects.add(self.world.project, issue, actor=alice)
        store.projects.drag(item, column, actor=alice)
        return item

    def issue(self, body: str) -> Issue:
        """Return a new issue by alice."""
        return self.forge.store.issues.create(self.shop, "Something", body, actor=self.user("alice"))

    def bot_says(self, issue: Issue, body: str) -> Comment:
        """Return a new comment by the App's bot."""
        return self.forge.store.issues.comment(issue, body, actor=self.user("cardinal[bot]"))

    def pull(self) -> Pull:
        """Return a new pull request by the App's bot that adds one file."""
        store, bot = self.forge.store, self.user("cardinal[bot]")
        base = store.repos.commit_of(self.shop, "main")
        store.repos.create_ref(self.shop, "refs/heads/refunds", base, actor=bot)
        files = {"shop/refunds.py": REFUNDS.encode()}
        store.repos.write_files(self.shop, "refunds", files, "Add refunds", actor=bot)
        return store.pulls.create(self.shop, "Refunds", "Adds refunds.", "refunds", "main", actor=bot)

    def payloads(self, event: str, action: str) -> list[dict[str, Any]]:
        """Return the payloads of the webhooks of one kind, oldest first."""
        deliveries = reversed(self.forge.store.deliveries.all())
        return [json.loads(one.body) for one in deliveries if (one.event, one.action) == (event, action)]

    def open(self, page: Page, path: str, *, as_: str = "alice") -> None:
        """Open a page as one of the people."""
        page.context.add_cookies([{"name": "forge_person", "value": as_, "url": self.forge.url}])
        page.goto(self.forge.url + path)
