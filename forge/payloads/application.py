"""Apps, installations and deliveries as GitHub writes them."""

import json

from forge.clock import rfc3339
from forge.payloads.account import repository, user, user_or_none
from forge.payloads.view import Json, View, attributes
from forge.store.registration import App, Delivery, Installation, Token


def app(view: View, one: App) -> Json:
    """Return an `integration`."""
    return {
        **attributes(
            one, "id", "client_id", "slug", "node_id", "name", "created_at", "permissions", "events"
        ),
        "owner": user(view, one.owner),
        "description": "",
        "external_url": view.html(f"/apps/{one.slug}"),
        "html_url": view.html(f"/apps/{one.slug}"),
        "updated_at": rfc3339(one.created_at),
        "installations_count": len(view.store.apps.installations(one)),
    }


def hook_config(one: App) -> Json:
    """Return a `webhook-config`; the secret is never shown, and an address that was never given is no key."""
    config = {"content_type": "json", "insecure_ssl": "0"}
    if one.webhook_url:
        config["url"] = one.webhook_url
    return {**config, "secret": "********"} if one.webhook_secret else config


def installation(view: View, one: Installation) -> Json:
    """Return an `installation`."""
    return {
        **attributes(one, "id", "permissions", "events", "created_at", "suspended_at"),
        "account": user(view, one.account),
        "repository_selection": "all" if one.repo_ids is None else "selected",
        "access_tokens_url": view.api(f"/app/installations/{one.id}/access_tokens"),
        "repositories_url": view.api("/installation/repositories"),
        "html_url": view.html(f"/organizations/{one.account.login}/settings/installations/{one.id}"),
        "app_id": one.app.id,
        "client_id": one.app.client_id,
        "app_slug": one.app.slug,
        "target_id": one.account.id,
        "target_type": one.account.type.value,
        "updated_at": rfc3339(one.created_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": user_or_none(view, one.suspended_by),
    }


def token(view: View, one: Token) -> Json:
    """Return an `installation-token`."""
    answer: Json = {
        "token": one.value,
        **attributes(one, "expires_at", "permissions"),
        "repository_selection": "all" if one.repo_ids is None else "selected",
    }
    if one.repo_ids is not None:
        repos = [repo for repo in view.store.repos.all() if repo.id in one.repo_ids]
        answer["repositories"] = [repository(view, repo) for repo in repos]
    return answer


def delivery_item(one: Delivery) -> Json:
    """Return a `hook-delivery-item`."""
    return {
        **attributes(one, "id", "guid", "redelivery", "status", "status_code", "event", "action"),
        **attributes(one, "installation_id", "repository_id"),
        "delivered_at": rfc3339(one.delivered_at or one.created_at),
        "duration": round(one.duration_s, 3),
        "throttled_at": None,
    }


def delivery(one: Delivery) -> Json:
    """Return a `hook-delivery` with its request and its response."""
    return {
        **delivery_item(one),
        "url": one.app.webhook_url,
        "request": {"headers": one.headers, "payload": json.loads(one.body)},
        "response": {"headers": one.response_headers or None, "payload": one.response_body or None},
    }


def ping(view: View, one: App) -> Json:
    """Return the fields that only a `ping` has."""
    now = rfc3339(view.store.clock.now())
    return {
        "zen": "Keep it logically awesome.",
        "hook_id": one.hook_id,
        "hook": {
            "type": "App",
            "id": one.hook_id,
            "name": "web",
            "active": True,
            "events": one.events,
            "config": {"content_type": "json", "insecure_ssl": "0", "url": one.webhook_url},
            "updated_at": now,
            "created_at": now,
            "app_id": one.id,
            "deliveries_url": view.api("/app/hook/deliveries"),
        },
    }
