"""The forge's own door, /_forge: what tests and the demo switch and watch. Loopback hosts only."""

import json
from typing import Any

from flask import Blueprint, Response, jsonify, request

from forge.access import require_role
from forge.errors import ForbiddenError, UnprocessableError
from forge.gateway import Gateway
from forge.payloads.application import delivery_item
from forge.payloads.webhook import Announcer
from forge.rest.context import answer, body, needed_text
from forge.seed import load
from forge.snapshot import snapshot
from forge.store import Store
from forge.store.board import Item, Project
from forge.store.models import Role
from forge.store.registration import App
from forge.store.settings import DragShape

LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}


def control(store: Store, gateway: Gateway, announcer: Announcer) -> Blueprint:
    """Return the blueprint of the control door."""
    blueprint = Blueprint("control", __name__, url_prefix="/_forge")
    blueprint.before_request(_check_host)
    _add_observation(blueprint, store, gateway)
    _add_logs(blueprint, store)
    _add_faults(blueprint, store)
    _add_worlds(blueprint, store, announcer)
    _add_sign_in(blueprint, store)
    _add_deeds(blueprint, store)
    _add_installations(blueprint, store)
    _add_repositories(blueprint, store)
    return blueprint


def _check_host() -> None:
    # A page of another site must not reach this door through a name that resolves to this machine.
    host = request.host.rsplit(":", 1)[0] if not request.host.endswith("]") else request.host
    if host not in LOOPBACK:
        raise ForbiddenError("The forge answers on this machine only.")
    origin = request.headers.get("Origin")
    if origin is not None and origin != request.host_url.rstrip("/"):
        raise ForbiddenError("The forge is not for other sites.")


def _add_observation(blueprint: Blueprint, store: Store, gateway: Gateway) -> None:
    @blueprint.get("/state")
    def state() -> Response:
        """Answer with everything that can be seen."""
        return answer(snapshot(store))

    @blueprint.get("/deliveries")
    def deliveries() -> Response:
        """Answer with every webhook delivery and its payload, oldest first."""
        records = reversed(store.deliveries.all())
        return answer([{**delivery_item(one), "payload": json.loads(one.body)} for one in records])

    @blueprint.get("/calls")
    def calls() -> Response:
        """Answer with the API calls that Apps made, oldest first."""
        return answer(gateway.recorded())

    @blueprint.delete("/calls")
    def forget_calls() -> Response:
        """Forget the API calls made so far."""
        gateway.calls.clear()
        return answer({})


def _add_logs(blueprint: Blueprint, store: Store) -> None:
    @blueprint.get("/logs/<owner>/<name>/<int:number>")
    def job_log(owner: str, name: str, number: int) -> Response:
        """Answer with the log of a job: the address that GitHub's API redirects to."""
        return Response(store.checks.get(store.repos.get(owner, name), number).log, mimetype="text/plain")


def _add_faults(blueprint: Blueprint, store: Store) -> None:
    @blueprint.get("/faults")
    def show_faults() -> Response:
        """Answer with how many faults still wait to happen."""
        faults = store.faults
        left = {
            name: getattr(faults.deliveries, name) for name in ("duplicate", "lose", "reverse", "delay_s")
        }
        api = [
            {"path": fault.path.pattern, "count": fault.count, "holding": fault.holding}
            for fault in faults.api
            if fault.count or fault.holding
        ]
        return answer({"deliveries": left, "api": api, "secondary": faults.secondary})

    @blueprint.post("/faults")
    def add_faults() -> Response:
        """Let things go wrong."""
        store.faults.load(body())
        return answer({}, 201)

    @blueprint.delete("/faults")
    def clear_faults() -> Response:
        """Let nothing go wrong any more."""
        store.faults.clear()
        return answer({})

    @blueprint.post("/settings")
    def change_settings() -> Response:
        """Change the switches that are named in the body; answer with all of them."""
        for name, value in body().items():
            _change_setting(store, name, value)
        settings = store.settings
        return jsonify({name: getattr(settings, name) for name in settings.__dataclass_fields__})


def _change_setting(store: Store, name: str, value: Any) -> None:
    kept = getattr(store.settings, name, None)
    if name not in store.settings.__dataclass_fields__:
        raise UnprocessableError(f"Unknown setting: {name}")
    try:
        made = DragShape(value) if name == "drag_shape" else value
    except ValueError as error:
        raise UnprocessableError(f"Bad value for {name}") from error
    if not isinstance(made, type(kept)):
        raise UnprocessableError(f"Bad value for {name}")
    setattr(store.settings, name, made)


def _app(store: Store, wanted: dict[str, Any]) -> App:
    """Return the App that a request means: by slug, or the only one; raises UnprocessableError."""
    if "slug" in wanted:
        return store.apps.by_slug(wanted["slug"])
    apps = store.apps.all()
    if len(apps) != 1:
        raise UnprocessableError("Say which App with `slug`.")
    return apps[0]


def _add_worlds(blueprint: Blueprint, store: Store, announcer: Announcer) -> None:
    @blueprint.post("/seed")
    def seed() -> Response:
        """Fill the forge with a prepared world and answer with what its App needs."""
        wanted = body()
        agent = needed_text(wanted, "agent", "Seed") if "agent" in wanted else "scripted"
        world = load(store, needed_text(wanted, "name", "Seed"), agent=agent)
        return answer(world.registration(), 201)

    @blueprint.post("/app")
    def register() -> Response:
        """Register and install an App in an organisation; answer with its secrets."""
        wanted = body()
        owner = store.users.get(needed_text(wanted, "owner", "App") if "owner" in wanted else "acme")
        name = needed_text(wanted, "name", "App")
        slug = wanted.get("slug") or name.lower().replace(" ", "-")
        app, pem = store.apps.register(
            owner, name, slug, permissions=wanted.get("permissions"), events=wanted.get("events")
        )
        installation = store.apps.install(app, owner, actor=owner)
        secrets = {"pem": pem, "webhook_secret": app.webhook_secret, "client_id": app.client_id}
        return answer({"app_id": app.id, "slug": slug, "installation_id": installation.id, **secrets}, 201)

    @blueprint.post("/webhook")
    def point_webhook() -> Response:
        """Send an App's webhooks to an address, and a ping at once."""
        wanted = body()
        app = _app(store, wanted)
        app.webhook_url = needed_text(wanted, "url", "Hook")
        app.webhook_secret = wanted.get("secret", app.webhook_secret)
        if app.webhook_url:
            announcer.ping(app)
        return answer({"app_id": app.id, "url": app.webhook_url})

    @blueprint.post("/expire-tokens")
    def expire_tokens() -> Response:
        """Let every installation token expire now."""
        return answer({"expired": store.apps.expire_tokens()})


def _add_sign_in(blueprint: Blueprint, store: Store) -> None:
    @blueprint.post("/callbacks")
    def set_callbacks() -> Response:
        """Say where a sign-in with an App may send a browser back to, as on the App's settings page."""
        wanted = body()
        app = _app(store, wanted)
        app.callback_urls = tuple(str(one) for one in wanted.get("urls") or ())
        return answer({"app_id": app.id, "urls": app.callback_urls})


def _add_deeds(blueprint: Blueprint, store: Store) -> None:
    @blueprint.post("/drag")
    def drag() -> Response:
        """Drag a card into a column as a person does on the board's page."""
        wanted = body()
        project = _project(store, wanted)
        item = _item(store, project, wanted)
        before = _node(store, wanted["before"]) if wanted.get("before") else None
        actor = store.users.get(needed_text(wanted, "actor", "Drag"))
        if actor.login not in project.owner.members:
            raise ForbiddenError(f"{actor.login} does not have permission to change this project.")
        store.projects.drag(item, wanted.get("column"), actor=actor, before=before)
        return answer({"item": item.node_id, "column": wanted.get("column")})

    @blueprint.post("/check-runs/<int:number>/press")
    def press(number: int) -> Response:
        """Press a button of a check run as a person does."""
        wanted = body()
        owner, _, name = needed_text(wanted, "repository", "CheckRun").partition("/")
        repo = store.repos.get(owner, name)
        actor = store.users.get(needed_text(wanted, "actor", "CheckRun"))
        require_role(store, repo, actor, Role.WRITE)
        run = store.checks.get(repo, number)
        store.checks.request(run, needed_text(wanted, "identifier", "CheckRun"), actor=actor)
        return answer({})


def _add_installations(blueprint: Blueprint, store: Store) -> None:
    @blueprint.post("/installation")
    def change_installation() -> Response:
        """Do with an App's installation what an owner can: suspend, unsuspend, delete, accept, choose."""
        wanted = body()
        actor = store.users.get(needed_text(wanted, "actor", "Installation"))
        installation = store.apps.installations(_app(store, wanted))[0]
        match needed_text(wanted, "action", "Installation"):
            case "suspend":
                store.access.suspend(installation, actor=actor)
            case "unsuspend":
                store.access.unsuspend(installation, actor=actor)
            case "delete":
                store.apps.uninstall(installation, actor=actor)
            case "accept":
                store.access.accept(installation, actor=actor)
            case "choose":
                chosen = [store.repos.get(*name.split("/")) for name in wanted.get("repositories", [])]
                store.access.choose(installation, chosen, actor=actor)
            case other:
                raise UnprocessableError(f"Unknown action: {other}")
        return answer({"installation_id": installation.id})


def _add_repositories(blueprint: Blueprint, store: Store) -> None:
    @blueprint.post("/repository")
    def change_repository() -> Response:
        """Do with a repository what its admin can: archive, unarchive, privatize, publicize, "
        "rename, transfer, protect."""
        wanted = body()
        actor = store.users.get(needed_text(wanted, "actor", "Repository"))
        owner, _, name = needed_text(wanted, "repository", "Repository").partition("/")
        repo = store.repos.get(owner, name)
        match needed_text(wanted, "action", "Repository"):
            case "archive" | "unarchive" as action:
                store.access.archive(repo, action == "archive", actor=actor)
            case "privatize" | "publicize" as action:
                store.access.set_private(repo, action == "privatize", actor=actor)
            case "rename":
                store.access.rename(repo, needed_text(wanted, "name", "Repository"), actor=actor)
            case "transfer":
                to = store.users.get(needed_text(wanted, "owner", "Repository"))
                store.access.transfer(repo, to, actor=actor)
            case "protect":
                branch = wanted.get("branch", repo.default_branch)
                store.repos.protect(repo, branch, reviews=int(wanted.get("reviews", 0)))
                repo.required_checks[branch] = tuple(wanted.get("checks", ()))
            case other:
                raise UnprocessableError(f"Unknown action: {other}")
        return answer({"repository": repo.full_name})


def _project(store: Store, wanted: dict[str, Any]) -> Project:
    number = wanted.get("project", 1)
    owner = (
        store.users.get(wanted["organization"]) if "organization" in wanted else store.projects.all()[0].owner
    )
    return store.projects.get(owner, number)


def _item(store: Store, project: Project, wanted: dict[str, Any]) -> Item:
    if wanted.get("item"):
        return _node(store, wanted["item"])
    name, _, number = needed_text(wanted, "issue", "Drag").partition("#")
    owner, _, repo_name = name.partition("/")
    issue = store.issues.get(store.repos.get(owner, repo_name), int(number))
    content = issue.pull or issue
    found = next((item for item in project.items if item.content is content), None)
    if found is None:
        raise UnprocessableError("The issue has no card on this board.")
    return found


def _node(store: Store, node_id: str) -> Item:
    found = store.nodes.get(node_id)
    if not isinstance(found, Item):
        raise UnprocessableError("There is no such card.")
    return found
