"""The front page: who is signed in."""

from flask import Response

from bot.web.pages._site import SIGN_IN, TITLE, Site, when


def mount(site: Site) -> None:
    """Mount the page."""

    @site.blueprint.get("/")
    def front() -> Response:
        visit = site.visit()
        if visit is None:
            return site.page(TITLE, SIGN_IN, sign_in="/")
        text = f"You are signed in as {visit.login} until {when(visit.until)}."
        return site.page(
            TITLE, text, "The files of a run are linked from its check and its report.", visit=visit
        )
