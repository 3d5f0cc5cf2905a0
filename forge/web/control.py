"""Control interface of the forge, /_forge: settings and state for tests and the demo. Loopback only."""

import json
from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, UnprocessableError
from forge.payloads.application import delivery_item
from forge.payloads.view import Json, attributes
from forge.rest.access import require_role
from forge.rest.context import (
    body,
    forge,
    is_loopback_request,
    require_text,
    require_texts,
    store,
)
from forge.seed import load
from forge.store import Store
from forge.store.board import DraftIssue, Item, Project
from forge.store.models import Comment, Issue, Pull, Repo, Review, ReviewComment, Role, User
from forge.store.projects import TEMPLATES
from forge.store.registration import App
from forge.store.settings import DragShape


def snapshot(store: Store) -> Json:
    """Return boards with columns and cards, repositories with issues, pull requests and branches."""
    with store.lock:
        return {
            "boards": [_board(project) for project in store.projects.all()],
            "repositories": {repo.full_name: _repository_of(store, repo) for repo in store.repos.all()},
        }


def _board(project: Project) -> Json:
    live = [item for item in project.items if item.archived_at is None]
    columns: list[tuple[str | None, str]] = [(None, "")]
    columns += [(option.name, option.description) for option in project.status.options]
    return {
        **attributes(project, "number", "title"),
        "owner": project.owner.login,
        "id": project.node_id,
        "fields": [field.name for field in project.fields],
        "columns": [
            {
                "name": name,
                "description": description,
                "cards": [_card(item) for item in live if _column(item) == name],
            }
            for name, description in columns
            if name is not None or any(_column(item) is None for item in live)
        ],
        "archived": [_card(item) for item in project.items if item.archived_at is not None],
        "status_updates": [attributes(update, "body", "status") for update in project.status_updates],
    }


def _column(item: Item) -> str | None:
    column = item.column()
    return column.name if column else None


def _card(item: Item) -> Json:
    content = item.content
    values = item.values.values()
    card: Json = {
        "item": item.node_id,
        "type": item.content_type,
        **attributes(item, "title", "updated_at"),
        "fields": {
            value.field.name: value.option.name if value.option else value.content for value in values
        },
    }
    if not isinstance(content, DraftIssue):
        card |= {"repository": content.repo.full_name, "number": content.number}
    return card


def _repository_of(store: Store, repo: Repo) -> Json:
    return {
        "default_branch": repo.default_branch,
        "branches": store.repos.git(repo).branches(),
        "issues": {str(issue.number): _issue(issue) for issue in repo.issues.values() if issue.pull is None},
        "pulls": {
            str(issue.number): {**_issue(issue), **_pull(store, issue.pull)}
            for issue in repo.issues.values()
            if issue.pull is not None
        },
    }


def _issue(issue: Issue) -> Json:
    return {
        **attributes(issue, "title", "state", "state_reason"),
        "id": issue.node_id,
        "body": issue.body or "",
        "author": issue.author.login,
        "labels": [label.name for label in issue.labels],
        "reactions": _reactions(issue),
        "comments": [_comment(comment) for comment in issue.comments],
    }


def _reactions(subject: Issue | Comment) -> list[str]:
    return [f"{reaction.user.login} {reaction.content}" for reaction in subject.reactions]


def _comment(comment: Comment) -> Json:
    return {**_text(comment), "reactions": _reactions(comment), "minimized": comment.minimized_reason}


def _text(subject: Comment | Review | ReviewComment) -> Json:
    return {**attributes(subject, "id", "body"), "author": subject.author.login}


def _pull(store: Store, pull: Pull) -> Json:
    return {
        **attributes(pull, "draft", "head_sha"),
        "merged": pull.merged_at is not None,
        "merge_commit": pull.merge_commit_sha,
        "mergeable_state": store.pulls.mergeable_state(pull),
        "head": pull.head_ref,
        "base": pull.base_ref,
        "reviews": [{**_text(review), "state": review.state} for review in pull.reviews],
        "threads": [
            {
                **attributes(thread, "path", "line", "outdated"),
                "id": thread.node_id,
                "resolved": thread.resolved_by is not None,
                "comments": [_text(comment) for comment in thread.comments],
            }
            for thread in pull.threads
        ],
        "checks": [
            attributes(run, "name", "status", "conclusion")
            for run in store.checks.on_commit(pull.repo, pull.head_sha)
        ],
    }


blueprint = Blueprint("control", __name__, url_prefix="/_forge")


@blueprint.before_request
def check_host() -> None:
    """Refuse other sites: their pages must not reach this machine by a name that resolves to it."""
    if not is_loopback_request():
        raise ForbiddenError("The forge answers on this machine only.")
    origin = request.headers.get("Origin")
    if origin is not None and origin != request.host_url.rstrip("/"):
        raise ForbiddenError("The forge is not for other sites.")


@blueprint.get("/state")
def state() -> Json:
    return snapshot(store())


@blueprint.get("/deliveries")
def deliveries() -> ResponseReturnValue:
    """Answer with every webhook delivery and its payload, oldest first."""
    records = reversed(store().deliveries.all())
    return [{**delivery_item(delivery), "payload": json.loads(delivery.body)} for delivery in records]


@blueprint.get("/calls")
def calls() -> ResponseReturnValue:
    """Answer with the API calls of Apps, oldest first."""
    return [asdict(call) for call in list(forge().gateway.calls)]


@blueprint.delete("/calls")
def forget_calls() -> Json:
    forge().gateway.calls.clear()
    return {}


@blueprint.get("/logs/<owner>/<name>/<int:number>")
def job_log(owner: str, name: str, number: int) -> Response:
    """Answer with the log of a job: the address that GitHub's API redirects to."""
    return Response(store().checks.get(store().repos.get(owner, name), number).log, mimetype="text/plain")


@blueprint.get("/faults")
def show_faults() -> Json:
    """Answer with the faults that are still to happen."""
    faults = store().faults
    api = [
        {"path": fault.path.pattern, **attributes(fault, "count", "holding")}
        for fault in faults.api
        if fault.count or fault.holding
    ]
    waits = attributes(faults.delays, "seed", "tokens_s", "heads_s", "nodes_s", "reads_s", "met")
    return {
        "deliveries": asdict(faults.deliveries),
        "delays": waits,
        "api": api,
        "secondary": faults.secondary,
    }


@blueprint.post("/faults")
def add_faults() -> ResponseReturnValue:
    store().faults.load(body())
    return {}, 201


@blueprint.delete("/faults")
def clear_faults() -> Json:
    store().faults.clear()
    return {}


@blueprint.post("/settings")
def change_settings() -> Json:
    """Change the settings that the body names; answer with all of them."""
    for name, value in body().items():
        _change_setting(name, value)
    return asdict(store().settings)


def _change_setting(name: str, value: Any) -> None:
    settings = store().settings
    if name not in asdict(settings):
        raise UnprocessableError(f"Unknown setting: {name}")
    try:
        made = DragShape(value) if name == "drag_shape" else value
    except ValueError as error:
        raise UnprocessableError(f"Bad value for {name}") from error
    if not isinstance(made, type(getattr(settings, name))):
        raise UnprocessableError(f"Bad value for {name}")
    setattr(settings, name, made)


def _app(wanted: Json) -> App:
    """Return the App that a request means: by slug, or the only one; raises UnprocessableError."""
    if "slug" in wanted:
        return store().apps.by_slug(wanted["slug"])
    apps = store().apps.all()
    if len(apps) != 1:
        raise UnprocessableError("Say which App with `slug`.")
    return apps[0]


def _actor(wanted: Json) -> User:
    return store().users.get(require_text(wanted, "actor", "Request"))


def _repository(wanted: Json) -> Repo:
    owner, _, name = require_text(wanted, "repository", "Request").partition("/")
    return store().repos.get(owner, name)


@blueprint.post("/seed")
def seed() -> ResponseReturnValue:
    """Fill the forge with a prepared world and answer with the registration of its App."""
    wanted = body()
    agent = require_text(wanted, "agent", "Seed") if "agent" in wanted else "scripted"
    return load(store(), require_text(wanted, "name", "Seed"), agent=agent).registration(), 201


@blueprint.post("/board")
def make_board() -> ResponseReturnValue:
    """Make a board without cards, as its owner's page does; answer with its number.

    It has the named `columns`, or those of the `template`, by default of GitHub's Board.
    """
    wanted = body()
    owner = store().users.get(require_text(wanted, "owner", "Board"))
    title, template = require_text(wanted, "title", "Board"), str(wanted.get("template", "Board"))
    if template not in TEMPLATES:
        raise UnprocessableError(f"Unknown template: {template}; known are {', '.join(TEMPLATES)}")
    columns = [str(name) for name in wanted.get("columns", TEMPLATES[template])]
    return {"number": store().projects.create(owner, title, columns, actor=_actor(wanted)).number}, 201


@blueprint.post("/app")
def register() -> ResponseReturnValue:
    """Register and install an App in an organisation; answer with its secrets."""
    wanted = body()
    owner = store().users.get(require_text(wanted, "owner", "App") if "owner" in wanted else "acme")
    name = require_text(wanted, "name", "App")
    slug = wanted.get("slug") or name.lower().replace(" ", "-")
    app, pem = store().apps.register(
        owner, name, slug, permissions=wanted.get("permissions"), events=wanted.get("events")
    )
    installation = store().apps.install(app, owner, actor=owner)
    secrets = {"pem": pem, **attributes(app, "webhook_secret", "client_id")}
    return {"app_id": app.id, "slug": slug, "installation_id": installation.id, **secrets}, 201


@blueprint.post("/webhook")
def point_webhook() -> Json:
    """Set the address of an App's webhook, and send a ping there."""
    wanted = body()
    app = _app(wanted)
    app.webhook_url = require_text(wanted, "url", "Hook")
    app.webhook_secret = wanted.get("secret", app.webhook_secret)
    if app.webhook_url:
        forge().announcer.ping(app)
    return {"app_id": app.id, "url": app.webhook_url}


@blueprint.post("/callbacks")
def set_callbacks() -> Json:
    """Set the callback addresses of an App's sign-in, as on its settings page."""
    wanted = body()
    app = _app(wanted)
    app.callback_urls = tuple(str(url) for url in wanted.get("urls") or ())
    return {"app_id": app.id, "urls": app.callback_urls}


@blueprint.post("/drag")
def drag() -> Json:
    """Drag a card into a column as a person does on the board's page."""
    wanted = body()
    projects = store().projects
    owner = store().users.get(wanted["organization"]) if "organization" in wanted else projects.all()[0].owner
    project = projects.get(owner, wanted.get("project", 1))
    item = _node(wanted["item"]) if wanted.get("item") else None
    if item is None:
        name, _, number = require_text(wanted, "issue", "Drag").partition("#")
        issue = store().issues.get(_repository({"repository": name}), int(number))
        content = issue.pull or issue
        item = next((card for card in project.items if card.content is content), None)
    if item is None:
        raise UnprocessableError("The issue has no card on this board.")
    before = _node(wanted["before"]) if wanted.get("before") else None
    actor = _actor(wanted)
    if actor.login not in project.owner.members:
        raise ForbiddenError(f"{actor.login} does not have permission to change this project.")
    projects.drag(item, wanted.get("column"), actor=actor, before=before)
    return {"item": item.node_id, "column": wanted.get("column")}


def _node(node_id: str) -> Item:
    item = store().nodes.get(node_id)
    if not isinstance(item, Item):
        raise UnprocessableError("There is no such card.")
    return item


@blueprint.post("/check-runs/<int:number>/press")
def press(number: int) -> Json:
    """Press a button of a check run as a person does."""
    wanted = body()
    repo, actor = _repository(wanted), _actor(wanted)
    require_role(store(), repo, actor, Role.WRITE)
    run = store().checks.get(repo, number)
    store().checks.request(run, require_text(wanted, "identifier", "CheckRun"), actor=actor)
    return {}


@blueprint.post("/installation")
def change_installation() -> Json:
    """Suspend, unsuspend, delete, accept an installation or choose its repositories, as an owner can."""
    wanted, access = body(), store().access
    actor = _actor(wanted)
    installation = store().apps.installations(_app(wanted))[0]
    match require_text(wanted, "action", "Installation"):
        case "suspend":
            access.suspend(installation, actor=actor)
        case "unsuspend":
            access.unsuspend(installation, actor=actor)
        case "delete":
            store().apps.uninstall(installation, actor=actor)
        case "accept":
            access.accept(installation, actor=actor)
        case "choose":
            chosen = [_repository({"repository": name}) for name in wanted.get("repositories", [])]
            access.choose(installation, chosen, actor=actor)
        case other:
            raise UnprocessableError(f"Unknown action: {other}")
    return {"installation_id": installation.id}


@blueprint.post("/repository")
def change_repository() -> Json:
    """Change a repository as an admin: its archive, privacy, name, owner, protection or rules."""
    wanted, access = body(), store().access
    actor, repo = _actor(wanted), _repository(wanted)
    match require_text(wanted, "action", "Repository"):
        case "archive" | "unarchive" as action:
            access.archive(repo, action == "archive", actor=actor)
        case "privatize" | "publicize" as action:
            access.set_private(repo, action == "privatize", actor=actor)
        case "rename":
            access.rename(repo, require_text(wanted, "name", "Repository"), actor=actor)
        case "transfer":
            access.transfer(repo, store().users.get(require_text(wanted, "owner", "Repository")), actor=actor)
        case "protect":
            branch = wanted.get("branch", repo.default_branch)
            store().repos.protect(repo, branch, reviews=int(wanted.get("reviews", 0)))
            repo.required_checks[branch] = tuple(wanted.get("checks", ()))
        case "verify":
            store().repos.add_signing_key(*require_texts(wanted, "Repository", "email", "key"))
        case "ruleset":
            branch = require_text(wanted, "branch", "Repository")
            rules, bypass = wanted.get("rules", ()), bool(wanted.get("bypass"))
            store().repos.set_rules(repo, branch, *rules, bypass=bypass)
        case "deploy":
            store().repos.deploy(repo, *require_texts(wanted, "Deployment", "environment", "sha"))
        case other:
            raise UnprocessableError(f"Unknown action: {other}")
    return {"repository": repo.full_name}
