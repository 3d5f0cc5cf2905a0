"""Manifests of new Apps, each behind a code that works once, and for an hour."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from forge.errors import NotFoundError, UnprocessableError
from forge.store.apps import LEVELS
from forge.store.base import Part, existing
from forge.store.models import User

# Source: docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
VALID = timedelta(hours=1)
KEYS = {
    "name", "url", "hook_attributes", "redirect_url", "callback_urls", "setup_url", "description", "public",
    "default_events", "default_permissions", "request_oauth_on_install", "setup_on_update",
}  # fmt: skip
# Events, each with the permissions of which one must be asked for.
# Source: docs.github.com/webhooks/webhook-events-and-payloads; github.com/probot/probot, issue 1317.
WANTED_BY = {
    **dict.fromkeys(("check_run", "check_suite"), ("checks",)),
    **dict.fromkeys(("create", "delete", "push"), ("contents",)),
    **dict.fromkeys(("issues", "issue_dependencies", "sub_issues"), ("issues",)),
    **dict.fromkeys(("projects_v2_item", "projects_v2_status_update"), ("organization_projects",)),
    **dict.fromkeys(
        (
            "pull_request",
            "pull_request_review",
            "pull_request_review_comment",
            "pull_request_review_thread",
        ),
        ("pull_requests",),
    ),
    "issue_comment": ("issues", "pull_requests"),
    "merge_group": ("merge_queues",),
    "repository": ("metadata",),
    "status": ("statuses",),
    "workflow_run": ("actions",),
}
MAX_NAME = 34


@dataclass(frozen=True, slots=True)
class Offer:
    """A manifest that a person agreed to, for an organisation."""

    manifest: Mapping[str, Any]
    owner: User
    offered_at: datetime


@dataclass(eq=False)
class Manifests(Part):
    """The manifests that wait for their conversion."""

    _offers: dict[str, Offer] = field(default_factory=dict)

    def check(self, text: str) -> dict[str, Any]:
        """Return the manifest of a form; raises UnprocessableError with the reason if it is refused."""
        try:
            manifest = json.loads(text)
        except ValueError as error:
            raise UnprocessableError("The manifest is not JSON.") from error
        if not isinstance(manifest, dict):
            raise UnprocessableError("The manifest is not an object.")
        unknown = sorted(set(manifest) - KEYS)
        if unknown:
            raise UnprocessableError(f"The manifest has unknown keys: {', '.join(unknown)}")
        self.check_name(str(manifest.get("name") or ""))
        for address in (manifest.get("url"), manifest.get("redirect_url")):
            if not _is_address(address):
                raise UnprocessableError("The manifest needs `url` and `redirect_url`, both addresses.")
        callbacks = manifest.get("callback_urls", [])
        if not isinstance(callbacks, list) or len(callbacks) > 10 or not all(map(_is_address, callbacks)):
            raise UnprocessableError("Callback urls must be at most ten addresses.")
        _check_hook(manifest.get("hook_attributes"))
        _check_wishes(manifest)
        return manifest

    def check_name(self, name: str) -> None:
        """Raise UnprocessableError for a name that no App can have."""
        if not name.strip() or len(name) > MAX_NAME:
            raise UnprocessableError(f"Name must have 1 to {MAX_NAME} characters.")
        slug = slug_of(name)
        if any(app.slug == slug for app in self.store.apps.all()):
            raise UnprocessableError("Name is already taken")

    def offer(self, manifest: Mapping[str, Any], owner: User) -> str:
        """Return the code that the manifest can be converted with, once."""
        code = secrets.token_hex(20)
        self._offers[code] = Offer(manifest, owner, self.store.clock.now())
        return code

    def take(self, code: str) -> Offer:
        """Remove and return the offer behind a code; raises NotFoundError for an unknown or old one."""
        offer = existing(self._offers.pop(code, None))
        if self.store.clock.now() - offer.offered_at > VALID:
            raise NotFoundError()
        return offer


def slug_of(name: str) -> str:
    return "-".join(name.lower().split())


def _is_address(text: object) -> bool:
    if not isinstance(text, str):
        return False
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _check_hook(hook: object) -> None:
    if hook is None:
        return
    if not isinstance(hook, dict) or not _is_address(hook.get("url")):
        raise UnprocessableError("Hook url must be an address.")
    if set(hook) - {"url", "active"} or not isinstance(hook.get("active", True), bool):
        raise UnprocessableError("Hook has only `url` and `active`.")


def _check_wishes(manifest: Mapping[str, Any]) -> None:
    events = manifest.get("default_events", [])
    permissions = manifest.get("default_permissions", {})
    unknown = sorted(set(events) - WANTED_BY.keys())
    if unknown:
        raise UnprocessableError(f"Default events unsupported: {', '.join(unknown)}")
    wrong = sorted(name for name, level in permissions.items() if level not in LEVELS)
    if wrong:
        raise UnprocessableError(f"Default permission records are invalid: {', '.join(wrong)}")
    beyond = [event for event in events if not any(name in permissions for name in WANTED_BY[event])]
    if beyond:
        said = ", ".join(sorted(beyond))
        raise UnprocessableError(f"Default events are not supported by permissions: {said}")
