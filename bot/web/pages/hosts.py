"""The hosts: their states, places, labels and versions, and the runs at work on each."""

from flask import Response, make_response, render_template

from bot.state import served_boards
from bot.system import program
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from ledger.log import event_store
from ledger.queries.hosts import statuses
from ledger.queue.sign_ins import SignIn
from ledger.views import runs
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
            listed = statuses(db)
            run_ids = {run.run_id for run in runs.list_held(db) if run.board_id in mine}
            whole = mine >= {board.board_id for board in served_boards.all_served(db, site.config)}
        at_work = [[run for run in host.runs if run in run_ids] for host in listed]
        shown = render_template(
            "hosts.html",
            title="Hosts",
            lines=()
            if listed
            else (f"No hosts yet. Start {program.of_home(site.config.home)} to add this one.",),
            hosts=[
                {
                    "name": plain(host.row.name),
                    "state": host.state,
                    "heartbeat": f"{brief(host.silence)} ago",
                    "runs": its,
                    "used": host.used if whole else len(its),
                    "labels": plain(" ".join(host.row.labels), MAX_LABELS),
                    "version": plain(host.row.version),
                }
                for host, its in zip(listed, at_work, strict=True)
            ],
            whole=whole,
            read_at=stamp(listed[0].at) if listed else "",
            visit=visit,
        )
        return make_response(shown)
