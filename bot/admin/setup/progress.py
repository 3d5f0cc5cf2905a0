"""Notes of an unfinished set-up: its open registration, an App whose secrets are not stored yet."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.system import private_file

NAME = "setup.json"
# GitHub takes a code back for an hour; source: docs.github.com/apps/sharing-github-apps/
# registering-a-github-app-from-a-manifest.
VALID = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Registered:
    """An App with its secrets; `page` is its public page. Never shown."""

    app_id: int
    slug: str
    page: str
    private_key: str
    webhook_secret: str
    client_id: str = ""
    client_secret: str = ""

    def __repr__(self) -> str:
        return f"Registered({self.app_id}, {self.slug!r}, ***)"


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes for the next `cardinal init`: a page with this `port` and `state` may still be open."""

    owner: str = ""
    state: str = ""
    port: int = 0
    begun_at: str = ""
    app: Registered | None = None

    def is_open(self, owner: str, now: datetime) -> bool:
        """Tell whether a registration for this owner may come back from GitHub yet."""
        if not self.state or self.owner.casefold() != owner.casefold():
            return False
        return now - datetime.fromisoformat(self.begun_at) < VALID


def read(home: Path) -> Notes:
    """Return the notes; empty ones where there are none, or none that this version can read."""
    try:
        stored: dict[str, Any] = json.loads((home / NAME).read_text(encoding="utf-8"))
        app = stored.pop("app")
        notes = Notes(**stored, app=None if app is None else Registered(**app))
        if notes.state:
            datetime.fromisoformat(notes.begun_at)
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
        return Notes()
    return notes


def write(home: Path, notes: Notes) -> None:
    """Keep the notes."""
    private_file.write(home / NAME, json.dumps(asdict(notes)))


def remove_progress(home: Path) -> None:
    """Forget them: everything is done."""
    (home / NAME).unlink(missing_ok=True)
