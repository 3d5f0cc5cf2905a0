"""Signing in with an App: the page on which a person agrees."""

import re
from urllib.parse import urlencode

from flask import redirect, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import UnprocessableError
from forge.pages.site import Site, way_out
from forge.store.authorizations import AuthorizationError
from forge.store.registration import App

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}|")


def mount(site: Site) -> None:
    """Mount the page that GitHub has at /login/oauth/authorize."""

    @site.route("/login/oauth/authorize")
    def authorize() -> ResponseReturnValue:
        """Ask the visitor; nothing is given before a click."""
        asked = request.args
        app = site.store.authorizations.app(asked.get("client_id", ""))
        try:
            back = site.store.authorizations.callback(app, asked.get("redirect_uri", ""))
        except AuthorizationError as error:  # told to the App, at the address that it registered
            return _back(app.callback_urls[0], asked.get("state", ""), error.fields())
        challenge = asked.get("code_challenge", "")
        method = asked.get("code_challenge_method", "S256" if not challenge else "")
        if not CHALLENGE.fullmatch(challenge) or method != "S256":
            raise UnprocessableError("Only code challenges by S256 are accepted.")
        way_out(back)
        return render_template("authorize.html", app=app, asked=asked, back=back)

    @site.route("/login/oauth/authorize", post=True)
    def answer() -> ResponseReturnValue:
        """Go back to the App with a code, or with the word that the visitor does not want to."""
        form = request.form
        app = site.store.authorizations.app(form.get("client_id", ""))
        back = _registered(site, app, form.get("redirect_uri", ""))
        if form.get("agreed") != "1":
            return _back(back, form.get("state", ""), AuthorizationError("access_denied").fields())
        challenge = form.get("code_challenge", "")
        code = site.store.authorizations.grant(app, site.person(), back, challenge)
        return _back(back, form.get("state", ""), {"code": code})


def _registered(site: Site, app: App, wanted: str) -> str:
    try:
        return site.store.authorizations.callback(app, wanted)
    except AuthorizationError as error:
        raise UnprocessableError(str(error)) from error


def _back(where: str, state: str, found: dict[str, str]) -> ResponseReturnValue:
    way_out(where)
    said = {**found, **({"state": state} if state else {})}
    return redirect(f"{where}{'&' if '?' in where else '?'}{urlencode(said)}", 302)
