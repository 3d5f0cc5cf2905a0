"""Who the visitor is, how the forge behaves, and what it told the Apps."""

from flask import make_response, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import UnprocessableError
from forge.pages.site import PERSON_COOKIE, Site, done, local_path
from forge.store.settings import DragShape

SHOWN_DELIVERIES = 100


def mount(site: Site) -> None:
    """Mount the switches."""

    @site.route("/-/person", post=True)
    def become() -> ResponseReturnValue:
        login = request.form.get("login", "")
        if login not in {person.login for person in site.people()}:
            raise UnprocessableError(f"Nobody here is called {login}.")
        answer = make_response(done(local_path(request.form.get("next", "/"))))
        answer.set_cookie(PERSON_COOKIE, login, httponly=True, samesite="Strict")
        return answer

    @site.route("/-/settings", post=True)
    def set_behaviour() -> ResponseReturnValue:
        shape = request.form.get("drag_shape", "")
        if shape not in set(DragShape):
            raise UnprocessableError("There is no such drag shape.")
        site.store.settings.drag_shape = DragShape(shape)
        return done(local_path(request.form.get("next", "/")))

    @site.route("/-/deliveries")
    def deliveries() -> ResponseReturnValue:
        recent = site.store.deliveries.all()[:SHOWN_DELIVERIES]
        return render_template("deliveries.html", deliveries=recent)

    @site.route("/-/deliveries/<int:delivery_id>/attempts", post=True)
    def redeliver(delivery_id: int) -> ResponseReturnValue:
        site.store.deliveries.repeat(site.store.deliveries.get(delivery_id))
        return done("/-/deliveries")
