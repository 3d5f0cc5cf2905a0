"""The front page: who is signed in, and where operators look."""

from flask import Response

from bot.web.pages._site import SIGN_IN, TITLE, Site, when

LINKS = (("/hosts", "The hosts", "for whoever may write to the repository of the policy"),)


def mount(site: Site) -> None:
    """Mount the page."""

    @site.blueprint.get("/")
    def front() -> Response:
        visit = site.visit()
        if visit is None:
            return site.page(TITLE, SIGN_IN, sign_in="/")
        text = f"You are signed in as {visit.login} until {when(visit.until)}."
        files = "The files of a run are linked from its check and its report."
        return site.page(TITLE, text, files, visit=visit, links=LINKS)
