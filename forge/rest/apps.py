"""Apps: themselves, their installations, tokens and deliveries, with the App's JWT."""

from flask import Blueprint, Response, request

from forge.errors import ForbiddenError, NotFoundError, UnauthorizedError, UnprocessableError
from forge.payloads import account, application
from forge.rest.context import answer, body, caller, page_of, store, text_of, view
from forge.store.manifests import slug_of
from forge.store.models import UserType
from forge.store.registration import App

blueprint = Blueprint("apps", __name__)


def signed_app() -> App:
    """Return the App whose JWT came; raises UnauthorizedError for any other caller."""
    app = caller().app
    if app is None:
        raise UnauthorizedError("A JSON web token could not be decoded")
    return app


@blueprint.get("/app")
def show_app() -> Response:
    """Answer with the App."""
    return answer(application.app(view(), signed_app()))


@blueprint.get("/apps/<slug>")
def show_app_by_slug(slug: str) -> Response:
    """Answer with an App by its slug."""
    return answer(application.app(view(), store().apps.by_slug(slug)))


@blueprint.get("/app/installations")
def list_installations() -> Response:
    """Answer with the App's installations."""
    found, links = page_of(store().apps.installations(signed_app()))
    return answer([application.installation(view(), one) for one in found], headers=links)


@blueprint.get("/app/installations/<int:number>")
def show_installation(number: int) -> Response:
    """Answer with one installation."""
    return answer(application.installation(view(), store().apps.get_installation(signed_app(), number)))


@blueprint.get("/orgs/<login>/installation")
def organization_installation(login: str) -> Response:
    """Answer with the App's installation in an organisation."""
    account_ = store().users.get(login)
    if account_.type is not UserType.ORGANIZATION:
        raise NotFoundError
    return answer(application.installation(view(), store().apps.installation_of(signed_app(), account_)))


@blueprint.get("/users/<login>/installation")
def user_installation(login: str) -> Response:
    """Answer with the App's installation at an account: a person's, and an organisation's too."""
    found = store().apps.installation_of(signed_app(), store().users.get(login))
    return answer(application.installation(view(), found))


@blueprint.get("/repos/<owner>/<name>/installation")
def repository_installation(owner: str, name: str) -> Response:
    """Answer with the App's installation that covers a repository."""
    repo = store().repos.get(owner, name)
    return answer(application.installation(view(), store().apps.installation_of(signed_app(), repo.owner)))


@blueprint.post("/app/installations/<int:number>/access_tokens")
def create_token(number: int) -> Response:
    """Answer with a new installation token, narrowed as asked."""
    installation = store().apps.get_installation(signed_app(), number)
    wanted = body()
    if installation.suspended_at is not None:
        raise ForbiddenError("This installation has been suspended")
    mine = store().access.repositories(installation)
    repo_ids: set[int] | None = None
    if "repository_ids" in wanted or "repositories" in wanted:
        ids, names = wanted.get("repository_ids") or [], wanted.get("repositories") or []
        repo_ids = {repo.id for repo in mine if repo.id in ids or repo.name in names}
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
    return answer(application.token(view(), token), 201)


@blueprint.get("/installation/repositories")
def installation_repositories() -> Response:
    """Answer with the repositories that a token reaches."""
    token = caller().token
    if token is None:
        raise UnauthorizedError("Requires authentication")
    within = store().access.repositories(token.installation)
    repos = [repo for repo in within if token.repo_ids is None or repo.id in token.repo_ids]
    found, links = page_of(repos)
    return answer(
        {
            "total_count": len(repos),
            "repository_selection": "all" if token.repo_ids is None else "selected",
            "repositories": [account.repository(view(), repo) for repo in found],
        },
        headers=links,
    )


@blueprint.get("/app/hook/deliveries")
def list_deliveries() -> Response:
    """Answer with deliveries, newest first; the cursor is the id of the last one of the page before."""
    found = store().deliveries.all(signed_app())
    found = [one for one in found if one.status != "pending"]
    status = request.args.get("status")
    if status is not None:
        found = [one for one in found if (200 <= one.status_code < 400) is (status == "success")]
    cursor = request.args.get("cursor")
    if cursor is not None:
        found = [one for one in found if one.id < int(cursor.removeprefix("v1_"))]
    per_page = min(100, max(1, request.args.get("per_page", 30, type=int)))
    page, links = found[:per_page], {}
    if len(found) > per_page:
        extra = f"&status={status}" if status else ""
        after = f"{request.base_url}?per_page={per_page}&cursor=v1_{page[-1].id}{extra}"
        links = {"Link": f'<{after}>; rel="next"'}
    return answer([application.delivery_item(one) for one in page], headers=links)


@blueprint.get("/app/hook/deliveries/<int:number>")
def show_delivery(number: int) -> Response:
    """Answer with one delivery, with what was sent and answered."""
    return answer(application.delivery(store().deliveries.get(number, signed_app())))


@blueprint.post("/app/hook/deliveries/<int:number>/attempts")
def redeliver(number: int) -> Response:
    """Send a delivery again, under the same GUID."""
    store().deliveries.repeat(store().deliveries.get(number, signed_app()))
    return answer({}, 202)


@blueprint.post("/app-manifests/<code>/conversions")
def convert_manifest(code: str) -> Response:
    """Register the App of a manifest and answer with its secrets, this once."""
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
    return answer({**application.app(view(), app), **secrets}, 201)


@blueprint.get("/app/hook/config")
def show_hook() -> Response:
    """Answer with where the App's webhooks go."""
    return answer(application.hook_config(signed_app()))


@blueprint.patch("/app/hook/config")
def change_hook() -> Response:
    """Change where the App's webhooks go, or the secret that signs them."""
    app, wanted = signed_app(), body()
    app.webhook_url = text_of(wanted, "url", "Hook") or app.webhook_url
    app.webhook_secret = text_of(wanted, "secret", "Hook") or app.webhook_secret
    return answer(application.hook_config(app))
