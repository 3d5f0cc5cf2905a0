"""Registering an App from a manifest, and installing it."""

import json
from urllib.parse import urlencode

from flask import redirect, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, NotFoundError
from forge.pages.site import Site, way_out
from forge.store.models import User, UserType


def mount(site: Site) -> None:
    """Mount the pages that GitHub has under an organisation's settings and under /apps."""

    @site.route("/organizations/<login>/settings/apps/new", post=True, abroad=True)
    def propose_app(login: str) -> ResponseReturnValue:
        """Show what the manifest asks for; nothing happens before a person agrees on this page."""
        owner = _owned(site, login)
        text = request.form.get("manifest", "")
        manifest = site.store.manifests.check(text)
        way_out(manifest["redirect_url"])
        state = request.args.get("state", "")
        return render_template(
            "new_app.html", owner=owner, manifest=manifest, manifest_text=text, state=state
        )

    @site.route("/organizations/<login>/settings/apps", post=True)
    def create_app(login: str) -> ResponseReturnValue:
        """Go back to where the manifest came from, with a code that gives the App's secrets."""
        owner = _owned(site, login)
        manifest = json.loads(request.form.get("manifest", "{}"))
        manifest["name"] = request.form.get("name") or manifest.get("name")
        manifest = site.store.manifests.check(json.dumps(manifest))
        code = site.store.manifests.offer(manifest, owner)
        found = {"code": code, "state": request.form.get("state", "")}
        way_out(manifest["redirect_url"])
        joint = "&" if "?" in manifest["redirect_url"] else "?"
        return redirect(f"{manifest['redirect_url']}{joint}{urlencode(found)}", 302)

    @site.route("/apps/<slug>/installations/new")
    def choose_account(slug: str) -> ResponseReturnValue:
        """Show where the App can be installed."""
        app = site.store.apps.by_slug(slug)
        mine = [one for one in site.store.users.all() if site.person().login in one.members]
        return render_template("install_app.html", app=app, accounts=mine)

    @site.route("/apps/<slug>/installations", post=True)
    def install_app(slug: str) -> ResponseReturnValue:
        """Install the App; one that is there stays."""
        app, owner = site.store.apps.by_slug(slug), _owned(site, request.form.get("account", ""))
        if all(one.account is not owner for one in site.store.apps.installations(app)):
            site.store.apps.install(app, owner, actor=site.person())
        return redirect("/", 303)


def _owned(site: Site, login: str) -> User:
    owner = site.store.users.get(login)
    if owner.type is not UserType.ORGANIZATION:
        raise NotFoundError("There is no such organization.")
    if site.person().login not in owner.members:
        raise ForbiddenError(f"You must own {owner.login} to change its Apps.")
    return owner
