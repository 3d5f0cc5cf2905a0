"""Payloads of webhooks, made from occurrences, and the record of their deliveries."""

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

from forge.payloads import account, application, check, commit, issue, pull
from forge.payloads.account import user
from forge.payloads.judging import Judge
from forge.payloads.view import Json, View, attributes
from forge.store import Store
from forge.store.base import Occurrence
from forge.store.board import Item, StatusUpdate
from forge.store.registration import App, Installation

ALWAYS_SENT = {"installation", "installation_repositories"}  # an App gets these without a subscription


def project_item(view: View, item: Item) -> Json:
    """Return a `projects_v2_item`."""
    return {
        **attributes(item, "id", "node_id", "content_type", "created_at", "updated_at", "archived_at"),
        "project_node_id": item.project.node_id,
        "content_node_id": item.content.node_id,
        "creator": user(view, item.creator),
    }


def project_status_update(view: View, update: StatusUpdate) -> Json:
    """Return a `projects_v2_status_update`."""
    return {
        **attributes(update, "id", "node_id", "body", "status", "created_at", "updated_at"),
        "project_node_id": update.project.node_id,
        "creator": user(view, update.creator),
    }


BUILDERS: dict[str, Callable[[View, Any], Any]] = {
    "issue": issue.hook_issue,
    "comment": issue.comment,
    "pull_request": pull.pull,
    "review": pull.hook_review,
    "review_comment": pull.review_comment,
    "thread": pull.thread,
    "assignee": account.user,
    "check_run": check.hook_check_run,
    "merge_group": pull.merge_group,
    "check_suite": check.hook_check_suite,
    "installation": application.installation,
    "repositories_added": account.repository_stubs,
    "repositories_removed": account.repository_stubs,
    "projects_v2_item": project_item,
    "projects_v2_status_update": project_status_update,
    "sub_issue": issue.issue,
    "parent_issue": issue.issue,
    "blocked_issue": issue.issue,
    "blocking_issue": issue.issue,
    "sub_issue_repo": account.repository,
    "parent_issue_repo": account.repository,
    "blocked_issue_repo": account.repository,
    "blocking_issue_repo": account.repository,
}


class Announcer:
    """Listens to the store and records one delivery for every App that gets a webhook."""

    def __init__(self, store: Store, judge: Judge | None = None) -> None:
        self.store = store
        self._judge = judge

    def __call__(self, happened: Occurrence) -> None:
        """Record the deliveries of an occurrence to all Apps with a webhook."""
        for app in self.store.apps.all():
            installation = self._installation(app, happened)
            wanted = happened.event in app.events or happened.event in ALWAYS_SENT
            if happened.action == "requested_action":  # only to the App of the check run
                wanted = wanted and happened.subjects["check_run"].app_slug == app.slug
            if installation is not None and installation.suspended_at is not None:
                wanted = happened.event == "installation"
            if app.webhook_url and app.webhook_active and installation is not None and wanted:
                body = payload(View(self.store, self.store.base_url), happened)
                body.setdefault("installation", account.installation_stub(installation))
                repo_id = happened.repo.id if happened.repo else None
                self._record(
                    app, happened.event, happened.action, body, installation.id, repository_id=repo_id
                )

    def _installation(self, app: App, occurrence: Occurrence) -> Installation | None:
        owner = occurrence.organization or (occurrence.repo.owner if occurrence.repo else None)
        return next(
            (
                installation
                for installation in self.store.apps.installations(app)
                if installation.account is owner
            ),
            None,
        )

    def _record(
        self,
        app: App,
        event: str,
        action: str | None,
        body: Json,
        installation_id: int | None = None,
        *,
        repository_id: int | None = None,
    ) -> None:
        raw = json.dumps(body, separators=(",", ":")).encode()
        recorded = self.store.deliveries.record(
            app,
            event,
            action,
            raw,
            headers(app, event, raw),
            installation_id=installation_id,
            repository_id=repository_id,
        )
        if self._judge is not None:
            self._judge.note_delivery(recorded.headers, raw)

    def ping(self, app: App) -> None:
        """Record a `ping` of an App's webhook."""
        view = View(self.store, self.store.base_url)
        self._record(app, "ping", None, application.ping(view, app))


def payload(view: View, occurrence: Occurrence) -> Json:
    """Return the payload of an occurrence, without `installation`."""
    body: Json = {} if occurrence.action is None else {"action": occurrence.action}
    body |= occurrence.plain
    for name, subject in occurrence.subjects.items():
        body |= _subject(view, occurrence, name, subject)
    if occurrence.event == "pull_request":
        body["number"] = body["pull_request"]["number"]
    if occurrence.event == "installation":
        reached = view.store.access.repositories(occurrence.subjects["installation"])
        body["repositories"] = account.repository_stubs(view, reached)
    if occurrence.repo is not None:
        body["repository"] = {**account.repository(view, occurrence.repo), "custom_properties": {}}
    if occurrence.organization is not None:
        body["organization"] = account.organization(view, occurrence.organization)
    body["sender"] = account.user(view, occurrence.actor)
    return body


def _subject(view: View, occurrence: Occurrence, name: str, subject: Any) -> Json:
    """Return the part of a payload about one of its subjects."""
    if name == "push":
        assert occurrence.repo is not None
        return commit.push(view, occurrence.repo, occurrence.actor, subject)
    if name == "status":
        return check.hook_status(view, subject)
    if name == "pull_request" and occurrence.event != "pull_request":
        return {name: pull.pull_simple(view, subject)}
    if name == "former_owner":
        return {"changes": {"owner": {"from": account.owner_by_kind(view, subject)}}}
    if name == "label":
        assert occurrence.repo is not None
        return {name: account.label(view, subject, occurrence.repo)}
    return {"comment" if name == "review_comment" else name: BUILDERS[name](view, subject)}


def headers(app: App, event: str, raw: bytes) -> dict[str, str]:
    """Return the headers of a delivery without its GUID.

    Source: docs.github.com/webhooks/webhook-events-and-payloads#delivery-headers.
    """
    made = {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/f0r6e00",
        "X-GitHub-Event": event,
        "X-GitHub-Hook-ID": str(app.hook_id),
        "X-GitHub-Hook-Installation-Target-ID": str(app.id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
    }
    if app.webhook_secret:
        digest = hmac.new(app.webhook_secret.encode(), raw, hashlib.sha256).hexdigest()
        made["X-Hub-Signature-256"] = f"sha256={digest}"
    return made
