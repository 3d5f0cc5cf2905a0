"""A prepared world, and the registration of its App."""

from dataclasses import dataclass
from typing import Any

from forge.store.board import Project
from forge.store.registration import App, Installation


@dataclass(frozen=True, slots=True)
class World:
    """A filled forge: its App with the private key, the installation and the board."""

    app: App
    installation: Installation
    private_key: str
    project: Project

    def registration(self) -> dict[str, Any]:
        """Return the App's secrets and ids for its operator, as plain JSON."""
        return {
            "app_id": self.app.id,
            "client_id": self.app.client_id,
            "client_secret": self.app.client_secret,
            "slug": self.app.slug,
            "installation_id": self.installation.id,
            "pem": self.private_key,
            "webhook_secret": self.app.webhook_secret,
            "project": f"{self.project.owner.login}/{self.project.number}",
        }
