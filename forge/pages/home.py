"""The front page: what there is on this forge."""

from flask import render_template
from flask.typing import ResponseReturnValue

from forge.pages.site import Site
from forge.store.models import Role


def mount(site: Site) -> None:
    """Mount the front page."""

    @site.route("/")
    def home() -> ResponseReturnValue:
        store = site.store
        visible = [repo for repo in store.repos.all() if site.reaches(repo, Role.READ)]
        counts = {
            repo.id: (
                sum(one.state == "open" and one.pull is None for one in repo.issues.values()),
                sum(one.state == "open" and one.pull is not None for one in repo.issues.values()),
            )
            for repo in visible
        }
        apps = [(one.app, one.account) for one in store.apps.installations()]
        projects = store.projects.all()
        return render_template("home.html", projects=projects, repos=visible, counts=counts, apps=apps)
