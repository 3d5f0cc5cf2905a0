"""The App's registration: `app.yml`, the manifest made of it, and the App that GitHub makes of that."""

import pkgutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import requests
import yaml

from bot.github.errors import UnavailableError, from_answer
from bot.github.oauth import BACK
from bot.github.transport import CONNECT_S, plain_headers, send_plain
from bot.system.secret import Secret

WEBHOOK_PATH = "/webhooks/github"
READ_S = 30.0
CALL = "POST /app-manifests/…/conversions"  # the code stays out of messages
MAX_NAME = 34  # docs.github.com/apps/creating-github-apps/registering-a-github-app/registering-a-github-app
LEVELS = ("none", "read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The App as `app.yml` describes it; `permissions` are levels by GitHub's names."""

    name: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    fields: Mapping[str, Any]

    def form_fields(
        self, *, name: str, owner: str, webhook: str, active: bool, redirect_url: str, public_url: str = ""
    ) -> dict[str, Any]:
        """Return the fields of GitHub's form.

        Without a `name`, the App is called after its owner: names are unique on GitHub. The hook needs an
        address even while it is off; `public_url` is where people sign in, if anywhere.

        Source: docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest.
        """
        hook = {"url": webhook or str(self.fields["url"]), "active": active}
        return {
            **self.fields,
            "name": name or f"{self.name} {owner}"[:MAX_NAME].rstrip("- "),
            "redirect_url": redirect_url,
            "hook_attributes": hook,
            **({"callback_urls": [public_url + BACK]} if public_url else {}),
        }

    def lacking(self, granted: Mapping[str, str]) -> tuple[str, ...]:
        """Return the permissions that are not granted in full, as `checks: write`."""
        return tuple(
            f"{name}: {level}"
            for name, level in self.permissions.items()
            if LEVELS.index(_level(granted.get(name))) < LEVELS.index(_level(level))
        )

    def missing_events(self, events: tuple[str, ...]) -> tuple[str, ...]:
        """Return the events that are not among `events`, those of an App."""
        return tuple(name for name in self.events if name not in events)


@cache
def manifest(events: tuple[str, ...]) -> Manifest:
    """Return the App as `app.yml` has it, subscribed to `events`."""
    fields = yaml.safe_load(pkgutil.get_data("bot", "app.yml") or b"")
    return Manifest(
        fields["name"], fields["default_permissions"], events, {**fields, "default_events": [*events]}
    )


@dataclass(frozen=True, slots=True)
class Converted:
    """A new App; GitHub shows its secrets this once."""

    app_id: int
    slug: str
    page: str
    owner: str
    private_key: Secret
    webhook_secret: Secret
    client_id: str
    client_secret: Secret


def convert(api_url: str, code: str) -> Converted:
    """Return the App that GitHub makes of the manifest behind `code`, which works once, for an hour.

    The call has no credentials, since the code is the secret.

    Raises NotFoundError for a used, old or unknown code; UnavailableError when another try may help.
    Source: docs.github.com/rest/apps/apps#create-a-github-app-from-a-manifest.
    """
    address = f"{api_url}/app-manifests/{code}/conversions"
    try:
        answer = send_plain("POST", address, headers=plain_headers(api_url), timeout_s=(CONNECT_S, READ_S))
        app: Any = answer.json() if answer.content else None
    except requests.RequestException as error:  # also JSONDecodeError: a proxy's page, for one
        raise UnavailableError(CALL, 0, type(error).__name__) from None  # the cause would show the address
    if answer.status_code != 201:
        lowered = {name.lower(): value for name, value in answer.headers.items()}
        raise from_answer(CALL, answer.status_code, lowered, app, time.time())
    return Converted(
        app_id=int(app["id"]),
        slug=str(app["slug"]),
        page=str(app["html_url"]),
        owner=str((app.get("owner") or {}).get("login") or ""),
        private_key=Secret(str(app["pem"])),
        webhook_secret=Secret(str(app.get("webhook_secret") or "")),
        client_id=str(app["client_id"]),
        client_secret=Secret(str(app["client_secret"])),
    )


def _level(name: object) -> str:
    return str(name) if name in LEVELS else "none"
