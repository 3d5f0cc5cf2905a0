"""A forge with one organisation, its people, one repository and one board, and a hub that talks to it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.github.client import Hub
from bot.system.config import Config, read
from forge.store.board import Item, Project
from forge.store.models import Repo, Role, User
from forge.web.server import Forge

COLUMNS = ("Tasks", "Planning", "In Progress", "Done")


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class World:
    """What a test acts on: the forge's side as people, GitHub's side through the hub."""

    forge: Forge
    config: Config
    hub: Hub
    alice: User
    acme: User
    shop: Repo
    board: Project

    def card(self, title: str, column: str | None = None, body: str = "") -> Item:
        """Return the card of a new issue of Alice's, in `column`."""
        issue = self.forge.store.issues.create(self.shop, title, body, actor=self.alice, labels=["b", "a"])
        item = self.forge.store.projects.add(self.board, issue, actor=self.alice)
        if column is not None:
            self.forge.store.projects.drag(item, column, actor=self.alice)
        return item


def build(forge: Forge, home: Path) -> World:
    """Return a small world on an empty forge."""
    store = forge.store
    alice = store.users.add("alice")
    acme = store.users.add_organization("acme", [alice])
    shop = store.repos.create(acme, "shop")
    store.repos.set_role(shop, alice, Role.ADMIN)
    store.repos.write_files(shop, "main", {"README.md": b"# Shop\n"}, "Start", actor=alice)
    board = store.projects.create(acme, "Shop board", list(COLUMNS), actor=alice)
    app, pem = store.apps.register(acme, "Cardinal", "cardinal")
    store.apps.install(app, acme, actor=alice)
    settings = {
        "HOME": str(home),
        "GITHUB_URL": forge.url,
        "APP_ID": str(app.id),
        "PRIVATE_KEY": pem,
        "WEBHOOK_SECRET": app.webhook_secret,
        "BOARD": f"acme/{board.number}",
    }
    config = read({f"CARDINAL_{name}": value for name, value in settings.items()}, home)
    return World(forge, config, Hub(config, utc_now), alice, acme, shop, board)
