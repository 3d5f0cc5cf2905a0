"""The hosts: their states, places, labels and versions, and the runs at work on each."""

from flask import Response, make_response, render_template

from bot.web.pages._site import Site, when
from ledger.log import event_store
from ledger.queries.hosts import statuses
from rules.text import brief


def mount(site: Site) -> None:
    """Mount the page. It is for operators: people who may write to the repository of the board's policy."""

    @site.blueprint.get("/hosts")
    def hosts() -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        if not site.readers.writes(visit, site.config.home_repository):
            return site.nothing(visit)
        with event_store.reading(site.engine) as db:
            listed = statuses(db)
        shown = render_template(
            "hosts.html",
            title="Hosts",
            lines=() if listed else ("No host was seen yet: `cardinal up` makes this one known.",),
            hosts=[(host, f"{brief(host.silence)} ago") for host in listed],
            read_at=when(listed[0].at) if listed else "",
            visit=visit,
        )
        return make_response(shown)
