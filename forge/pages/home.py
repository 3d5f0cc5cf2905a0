"""The front page, and what every page's head offers: the visitor's person, settings, deliveries."""

from flask import make_response, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import UnprocessableError
from forge.pages.site import PERSON_COOKIE, answer_change, local_path, pages, people, reaches
from forge.rest.context import store
from forge.store.models import Role
from forge.store.settings import DragShape

SHOWN_DELIVERIES = 100


@pages.on("/")
def home() -> ResponseReturnValue:
    visible = [repo for repo in store().repos.all() if reaches(repo, Role.READ)]
    counts = {
        repo.id: (
            sum(issue.state == "open" and issue.pull is None for issue in repo.issues.values()),
            sum(issue.state == "open" and issue.pull is not None for issue in repo.issues.values()),
        )
        for repo in visible
    }
    apps = [(installation.app, installation.account) for installation in store().apps.installations()]
    projects = store().projects.all()
    return render_template("home.html", projects=projects, repos=visible, counts=counts, apps=apps)


@pages.on("/-/person", post=True)
def become() -> ResponseReturnValue:
    login = request.form.get("login", "")
    if login not in {person.login for person in people()}:
        raise UnprocessableError(f"Nobody here is called {login}.")
    answer = make_response(answer_change(local_path(request.form.get("next", "/"))))
    answer.set_cookie(PERSON_COOKIE, login, httponly=True, samesite="Strict")
    return answer


@pages.on("/-/settings", post=True)
def set_behaviour() -> ResponseReturnValue:
    """Change the shape of a drag's webhooks."""
    shape = request.form.get("drag_shape", "")
    if shape not in set(DragShape):
        raise UnprocessableError("There is no such drag shape.")
    store().settings.drag_shape = DragShape(shape)
    return answer_change(local_path(request.form.get("next", "/")))


@pages.on("/-/deliveries")
def deliveries() -> ResponseReturnValue:
    return render_template("deliveries.html", deliveries=store().deliveries.all()[:SHOWN_DELIVERIES])


@pages.on("/-/deliveries/<int:delivery_id>/attempts", post=True)
def redeliver(delivery_id: int) -> ResponseReturnValue:
    store().deliveries.repeat(store().deliveries.get(delivery_id))
    return answer_change("/-/deliveries")
