"""Apps: registration from a manifest, installation, and sign-in with an App."""

import json
import re

from flask import redirect, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, NotFoundError, UnprocessableError
from forge.pages.site import allow_leaving_for, leave_for, pages, person
from forge.rest.context import store
from forge.store.authorizations import AuthorizationError
from forge.store.models import User, UserType

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}|")


def _require_owner(login: str) -> User:
    owner = store().users.get(login)
    if owner.type is not UserType.ORGANIZATION:
        raise NotFoundError("There is no such organization.")
    if person().login not in owner.members:
        raise ForbiddenError(f"You must own {owner.login} to change its Apps.")
    return owner


@pages.on("/organizations/<login>/settings/apps/new", post=True, abroad=True)
def propose_app(login: str) -> ResponseReturnValue:
    """Show a manifest; the App is registered after a person agrees on this page."""
    owner, text = _require_owner(login), request.form.get("manifest", "")
    manifest = store().manifests.check(text)
    allow_leaving_for(manifest["redirect_url"])
    state = request.args.get("state", "")
    return render_template("new_app.html", owner=owner, manifest=manifest, manifest_text=text, state=state)


@pages.on("/organizations/<login>/settings/apps", post=True)
def create_app(login: str) -> ResponseReturnValue:
    """Go back to the manifest's site with a code that gives the App's secrets."""
    owner = _require_owner(login)
    manifest = json.loads(request.form.get("manifest", "{}"))
    manifest["name"] = request.form.get("name") or manifest.get("name")
    manifest = store().manifests.check(json.dumps(manifest))
    fields = {"code": store().manifests.offer(manifest, owner), "state": request.form.get("state", "")}
    return leave_for(manifest["redirect_url"], fields)


@pages.on("/<any('apps', 'github-apps'):place>/<slug>/installations/new")
def choose_account(place: str, slug: str) -> ResponseReturnValue:
    """Show the accounts that the App can be installed in; an Enterprise Server has Apps at another place."""
    if f"/{place}" != store().settings.apps_path:
        raise NotFoundError
    users = [user for user in store().users.all() if person().login in user.members]
    return render_template("install_app.html", app=store().apps.by_slug(slug), accounts=users)


@pages.on("/apps/<slug>/installations", post=True)
def install_app(slug: str) -> ResponseReturnValue:
    """Install the App, if it is not installed there."""
    app, owner = store().apps.by_slug(slug), _require_owner(request.form.get("account", ""))
    if all(installation.account is not owner for installation in store().apps.installations(app)):
        store().apps.install(app, owner, actor=person())
    return redirect("/", 303)


@pages.on("/login/oauth/authorize")
def authorize() -> ResponseReturnValue:
    """Ask the visitor for consent to a sign-in."""
    query = request.args
    app = store().authorizations.app(query.get("client_id", ""))
    try:
        back = store().authorizations.callback(app, query.get("redirect_uri", ""))
    except AuthorizationError as error:  # reported to the App, at the address that it registered
        return leave_for(app.callback_urls[0], {**error.fields(), "state": query.get("state", "")})
    challenge = query.get("code_challenge", "")
    method = query.get("code_challenge_method", "S256" if not challenge else "")
    if not CHALLENGE.fullmatch(challenge) or method != "S256":
        raise UnprocessableError("Only code challenges by S256 are accepted.")
    allow_leaving_for(back)
    return render_template("authorize.html", app=app, asked=query, back=back)


@pages.on("/login/oauth/authorize", post=True)
def answer() -> ResponseReturnValue:
    """Go back to the App with a code, or with the visitor's refusal."""
    form = request.form
    app = store().authorizations.app(form.get("client_id", ""))
    try:
        back = store().authorizations.callback(app, form.get("redirect_uri", ""))
    except AuthorizationError as error:
        raise UnprocessableError(str(error)) from error
    fields = AuthorizationError("access_denied").fields()
    if form.get("agreed") == "1":
        challenge = form.get("code_challenge", "")
        fields = {"code": store().authorizations.grant(app, person(), back, challenge)}
    return leave_for(back, {**fields, "state": form.get("state", "")})
