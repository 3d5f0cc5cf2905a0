"""Apps, installations and deliveries as GitHub writes them."""

import json

from forge.clock import rfc3339
from forge.payloads.account import repository, user, user_or_none
from forge.payloads.view import Json, View, attributes
from forge.store.registration import App, Delivery, Installation, Token


def app(view: View, app: App) -> Json:
    """Return an `integration`."""
    return {
        **attributes(
            app, "id", "client_id", "slug", "node_id", "name", "created_at", "permissions", "events"
        ),
        "owner": user(view, app.owner),
        "description": "",
        "external_url": view.app_html(app.slug),
        "html_url": view.app_html(app.slug),
        "updated_at": rfc3339(app.created_at),
        "installations_count": len(view.store.apps.installations(app)),
    }


def hook_config(app: App) -> Json:
    """Return a `webhook-config`; the secret is never shown, and an address that was never given is no key."""
    config = {"content_type": "json", "insecure_ssl": "0"}
    if app.webhook_url:
        config["url"] = app.webhook_url
    return {**config, "secret": "********"} if app.webhook_secret else config


def installation(view: View, installation: Installation) -> Json:
    """Return an `installation`."""
    return {
        **attributes(installation, "id", "permissions", "events", "created_at", "suspended_at"),
        "account": user(view, installation.account),
        "repository_selection": "all" if installation.repo_ids is None else "selected",
        "access_tokens_url": view.api(f"/app/installations/{installation.id}/access_tokens"),
        "repositories_url": view.api("/installation/repositories"),
        "html_url": view.html(
            f"/organizations/{installation.account.login}/settings/installations/{installation.id}"
        ),
        "app_id": installation.app.id,
        "client_id": installation.app.client_id,
        "app_slug": installation.app.slug,
        "target_id": installation.account.id,
        "target_type": installation.account.type.value,
        "updated_at": rfc3339(installation.created_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": user_or_none(view, installation.suspended_by),
    }


def token(view: View, token: Token) -> Json:
    """Return an `installation-token`."""
    answer: Json = {
        "token": token.value,
        **attributes(token, "expires_at", "permissions"),
        "repository_selection": "all" if token.repo_ids is None else "selected",
    }
    if token.repo_ids is not None:
        repos = [repo for repo in view.store.repos.all() if repo.id in token.repo_ids]
        answer["repositories"] = [repository(view, repo) for repo in repos]
    return answer


def delivery_item(delivery: Delivery) -> Json:
    """Return a `hook-delivery-item`."""
    return {
        **attributes(delivery, "id", "guid", "redelivery", "status", "status_code", "event", "action"),
        **attributes(delivery, "installation_id", "repository_id"),
        "delivered_at": rfc3339(delivery.delivered_at or delivery.created_at),
        "duration": round(delivery.duration_s, 3),
        "throttled_at": None,
    }


def delivery(delivery: Delivery) -> Json:
    """Return a `hook-delivery` with its request and its response."""
    return {
        **delivery_item(delivery),
        "url": delivery.app.webhook_url,
        "request": {"headers": delivery.headers, "payload": json.loads(delivery.body)},
        "response": {"headers": delivery.response_headers or None, "payload": delivery.response_body or None},
    }


def ping(view: View, app: App) -> Json:
    """Return the fields that only a `ping` has."""
    now = rfc3339(view.store.clock.now())
    return {
        "zen": "Keep it logically awesome.",
        "hook_id": app.hook_id,
        "hook": {
            "type": "App",
            "id": app.hook_id,
            "name": "web",
            "active": True,
            "events": app.events,
            "config": {"content_type": "json", "insecure_ssl": "0", "url": app.webhook_url},
            "updated_at": now,
            "created_at": now,
            "app_id": app.id,
            "deliveries_url": view.api("/app/hook/deliveries"),
        },
    }
