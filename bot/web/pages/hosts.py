"""The hosts: their states, places, labels and versions, and the runs at work on each."""

from flask import Response, make_response, render_template

from bot.state import served_boards
from bot.system import program
from bot.web.api.operations import list_hosts
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from ledger.db.clock import database_now
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from rules.text import brief, plain

MAX_LABELS = 400  # characters


def mount(site: Site) -> None:
    """Mount the page, for people who may write to a board's policy: they see and count its runs alone."""

    @site.get("/hosts")
    def hosts(visit: SignIn) -> Response:
        parameters.check_names()
        mine = {board.board_id for board in site.list_operated_boards(visit)}
        if not mine:
            return site.nothing(visit)
        with event_store.reading(site.engine) as db:
            listed, at = list_hosts.describe_hosts(db, mine), database_now(db)
            whole = mine >= {board.board_id for board in served_boards.all_served(db, site.config)}
        shown = render_template(
            "hosts.html",
            title="Hosts",
            lines=()
            if listed
            else (f"No hosts yet. Start {program.of_home(site.config.home)} to add this one.",),
            hosts=[
                {
                    "name": plain(it.host),
                    "state": it.state,
                    "heartbeat": f"{brief(at - it.seen_at)} ago",
                    "runs": it.runs,
                    "used": f"{len(it.runs)} of {it.slots}" if whole else len(it.runs),
                    "labels": plain(" ".join(it.labels), MAX_LABELS),
                    "version": plain(it.version),
                }
                for it in listed
            ],
            whole=whole,
            read_at=stamp(at) if listed else "",
            visit=visit,
        )
        return make_response(shown)
