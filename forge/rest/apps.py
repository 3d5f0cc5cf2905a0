"""Apps: themselves, their installations, tokens and deliveries, with the App's JWT."""

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, NotFoundError, UnauthorizedError, UnprocessableError
from forge.payloads import account, application
from forge.rest.context import actor, answer_page, body, caller, page_of, store, text_of, view
from forge.store.manifests import slug_of
from forge.store.models import Repo, Role, UserType
from forge.store.registration import App, Installation

blueprint = Blueprint("apps", __name__)


def require_app() -> App:
    """Return the App that signed the request with a JWT; raises UnauthorizedError for any other caller."""
    app = caller().app
    if app is None:
        raise UnauthorizedError("A JSON web token could not be decoded")
    return app


@blueprint.get("/app")
def show_app() -> ResponseReturnValue:
    return application.app(view(), require_app())


@blueprint.get("/apps/<slug>")
def show_app_by_slug(slug: str) -> ResponseReturnValue:
    return application.app(view(), store().apps.by_slug(slug))


@blueprint.get("/app/installations")
def list_installations() -> ResponseReturnValue:
    return answer_page(store().apps.installations(require_app()), application.installation)


@blueprint.get("/app/installations/<int:number>")
def show_installation(number: int) -> ResponseReturnValue:
    return application.installation(view(), store().apps.get_installation(require_app(), number))


@blueprint.get("/orgs/<login>/installation")
def organization_installation(login: str) -> ResponseReturnValue:
    account_ = store().users.get(login)
    if account_.type is not UserType.ORGANIZATION:
        raise NotFoundError
    return application.installation(view(), store().apps.installation_of(require_app(), account_))


@blueprint.get("/users/<login>/installation")
def user_installation(login: str) -> ResponseReturnValue:
    """Answer with the App's installation at an account: a person's, and an organisation's too."""
    installation = store().apps.installation_of(require_app(), store().users.get(login))
    return application.installation(view(), installation)


@blueprint.get("/repos/<owner>/<name>/installation")
def repository_installation(owner: str, name: str) -> ResponseReturnValue:
    repo = store().repos.get(owner, name)
    return application.installation(view(), store().apps.installation_of(require_app(), repo.owner))


@blueprint.post("/app/installations/<int:number>/access_tokens")
def create_token(number: int) -> ResponseReturnValue:
    """Answer with a new installation token, narrowed if the body says so."""
    installation = store().apps.get_installation(require_app(), number)
    wanted = body()
    if installation.suspended_at is not None:
        raise ForbiddenError("This installation has been suspended")
    repos = store().access.repositories(installation)
    repo_ids: set[int] | None = None
    if "repository_ids" in wanted or "repositories" in wanted:
        ids, names = wanted.get("repository_ids") or [], wanted.get("repositories") or []
        repo_ids = {repo.id for repo in repos if repo.id in ids or repo.name in names}
        if len(repo_ids) != len(set(ids)) + len(set(names)):
            raise UnprocessableError(
                "There is at least one repository that does not exist or is not accessible to the parent "
                "installation."
            )
    token = store().apps.issue_token(
        installation,
        permissions=wanted.get("permissions"),
        repo_ids=None if repo_ids is None else frozenset(repo_ids),
    )
    return application.token(view(), token), 201


@blueprint.get("/installation/repositories")
def installation_repositories() -> ResponseReturnValue:
    token = caller().token
    if token is None:
        raise UnauthorizedError("Requires authentication")
    within = store().access.repositories(token.installation)
    repos = [repo for repo in within if token.repo_ids is None or repo.id in token.repo_ids]
    page, links = page_of(repos)
    return {
        "total_count": len(repos),
        "repository_selection": "all" if token.repo_ids is None else "selected",
        "repositories": [account.repository(view(), repo) for repo in page],
    }, links


@blueprint.get("/user/installations")
def person_installations() -> ResponseReturnValue:
    """Answer with the installations where the person was given a role in a repository."""
    app = caller().by_app
    if app is None:
        raise ForbiddenError(
            "You must authenticate with an access token authorized to a GitHub App in order to list "
            "installations"
        )
    listed = [installation for installation in store().apps.installations(app) if _list_given(installation)]
    page, links = page_of(listed)
    shown = [application.installation(view(), installation) for installation in page]
    return {"total_count": len(listed), "installations": shown}, links


@blueprint.get("/user/installations/<int:number>/repositories")
def person_repositories(number: int) -> ResponseReturnValue:
    """Answer with the repositories of an installation where the person was given a role, with that role."""
    app = caller().by_app
    if app is None:
        raise NotFoundError
    listed = _list_given(store().apps.get_installation(app, number))
    if not listed:
        raise NotFoundError
    page, links = page_of(listed)
    shown = [
        {**account.repository(view(), repo), "permissions": account.permissions(role)} for repo, role in page
    ]
    return {"total_count": len(listed), "repository_selection": "selected", "repositories": shown}, links


def _list_given(installation: Installation) -> list[tuple[Repo, Role]]:
    """Return where the person who calls was given a role."""
    of_each = [
        (repo, store().repos.direct_role_of(repo, actor()))
        for repo in store().access.repositories(installation)
    ]
    return [(repo, role) for repo, role in of_each if role is not Role.NONE]


@blueprint.get("/app/hook/deliveries")
def list_deliveries() -> ResponseReturnValue:
    """Answer with deliveries, newest first; the cursor is the last id of the page before."""
    status, cursor = request.args.get("status"), request.args.get("cursor")
    before = float("inf") if cursor is None else int(cursor.removeprefix("v1_"))
    deliveries = [
        delivery
        for delivery in store().deliveries.all(require_app())
        if delivery.status != "pending" and delivery.id < before
        if status is None or (200 <= delivery.status_code < 400) is (status == "success")
    ]
    per_page = min(100, max(1, request.args.get("per_page", 30, type=int)))
    page, links = deliveries[:per_page], {}
    if len(deliveries) > per_page:
        extra = f"&status={status}" if status else ""
        after = f"{request.base_url}?per_page={per_page}&cursor=v1_{page[-1].id}{extra}"
        links = {"Link": f'<{after}>; rel="next"'}
    return [application.delivery_item(delivery) for delivery in page], links


@blueprint.get("/app/hook/deliveries/<int:number>")
def show_delivery(number: int) -> ResponseReturnValue:
    return application.delivery(store().deliveries.get(number, require_app()))


@blueprint.post("/app/hook/deliveries/<int:number>/attempts")
def redeliver(number: int) -> ResponseReturnValue:
    """Send a delivery again, under the same GUID."""
    store().deliveries.repeat(store().deliveries.get(number, require_app()))
    return {}, 202


@blueprint.post("/app-manifests/<code>/conversions")
def convert_manifest(code: str) -> ResponseReturnValue:
    """Register the App of a manifest; answer with its secrets, which are not shown again."""
    offer = store().manifests.take(code)
    manifest = offer.manifest
    name = str(manifest["name"])
    store().manifests.check_name(name)
    app, pem = store().apps.register(
        offer.owner,
        name,
        slug_of(name),
        permissions=manifest.get("default_permissions"),
        events=manifest.get("default_events"),
    )
    hook = manifest.get("hook_attributes") or {}
    app.webhook_url, app.webhook_active = hook.get("url", ""), bool(hook) and hook.get("active", True)
    app.callback_urls = tuple(manifest.get("callback_urls") or ())
    if not hook:
        app.webhook_secret = ""
    secrets = {
        "client_secret": app.client_secret,
        "webhook_secret": app.webhook_secret or None,
        "pem": pem,
    }
    return {**application.app(view(), app), **secrets}, 201


@blueprint.get("/app/hook/config")
def show_hook() -> ResponseReturnValue:
    """Answer with the address of the App's webhook."""
    return application.hook_config(require_app())


@blueprint.patch("/app/hook/config")
def change_hook() -> ResponseReturnValue:
    """Change the address of the App's webhook, or the secret that signs it."""
    app, wanted = require_app(), body()
    app.webhook_url = text_of(wanted, "url", "Hook") or app.webhook_url
    app.webhook_secret = text_of(wanted, "secret", "Hook") or app.webhook_secret
    return application.hook_config(app)
