"""What Cardinal asks of GitHub: `app.yml`, and the manifest that GitHub makes an App of."""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from bot.github.oauth import BACK

LEVELS = ("none", "read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The App as `app.yml` describes it; `permissions` are levels by GitHub's names."""

    name: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    fields: Mapping[str, Any]

    def filled(
        self, *, name: str, webhook: str, active: bool, redirect_url: str, public_url: str = ""
    ) -> dict[str, Any]:
        """Return what GitHub's form takes. Its hook needs an address even while it is off. People sign in at
        `public_url`, if there is one.

        Source: docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest.
        """
        hook = {"url": webhook or str(self.fields["url"]), "active": active}
        return {
            **self.fields,
            "name": name or self.name,
            "redirect_url": redirect_url,
            "hook_attributes": hook,
            **({"callback_urls": [public_url + BACK]} if public_url else {}),
        }

    def lacking(self, granted: Mapping[str, str]) -> tuple[str, ...]:
        """Return the permissions that were not granted as asked, as `checks: write`."""
        return tuple(
            f"{name}: {level}"
            for name, level in self.permissions.items()
            if LEVELS.index(_level(granted.get(name))) < LEVELS.index(_level(level))
        )

    def unheard(self, events: tuple[str, ...]) -> tuple[str, ...]:
        """Return the events that an App with those does not get."""
        return tuple(name for name in self.events if name not in events)


@cache
def manifest() -> Manifest:
    """Return the App as `app.yml` has it."""
    found = yaml.safe_load(pkgutil.get_data("bot", "app.yml") or b"")
    return Manifest(found["name"], found["default_permissions"], tuple(found["default_events"]), dict(found))


def _level(name: object) -> str:
    return str(name) if name in LEVELS else "none"
