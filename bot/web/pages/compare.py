"""Two runs of one card side by side."""

from flask import Response, make_response, render_template
from pydantic import ValidationError

from bot.render.run.reasons import REASONS
from bot.web.api.operation import ApiError, ApiRequest
from bot.web.api.operations import compare_runs
from bot.web.api.operations.compare_runs import ComparedSide, TwoRuns
from bot.web.site import parameters
from bot.web.site.layout import Site
from ledger.queue.sign_ins import SignIn
from rules.text import count, usd


def mount(site: Site) -> None:
    """Mount the page."""

    @site.get("/runs/<run>/compare/<other>")
    def compare(visit: SignIn, run: str, other: str) -> Response:
        parameters.check_names()
        try:
            compared = compare_runs.run(ApiRequest(site, visit), TwoRuns(run=run, other=other))
        except (ApiError, ValidationError):
            return site.nothing(visit)
        rows = [[name, *map(text, compared.runs)] for name, text in _ROWS]
        unread = [side.run for side in compared.runs if not side.files_known]
        values = {"title": f"{run} and {other}", "run_id": run, "visit": visit, "unread": unread}
        values["diff_url"] = compared.diff_url
        return make_response(render_template("compare.html", rows=rows, compared=compared, **values))


def _end(side: ComparedSide) -> str:
    reason = side.reason.partition(":")[0]
    return ": ".join(filter(None, (side.status, REASONS.get(reason, reason))))


def _origin(side: ComparedSide) -> str:
    return f"{side.again_of}, at its {side.forked_at}" if side.forked_at else side.again_of


def _change(side: ComparedSide) -> str:
    sizes = (
        count(side.files_changed, "file"),
        count(side.lines_changed, "line"),
        count(side.commits, "commit"),
    )
    return ", ".join(sizes)


_ROWS = (
    ("State", _end),
    ("Agent", lambda side: side.agent),
    ("From", _origin),
    ("Checks", lambda side: side.gate or "none yet"),
    ("Change", _change),
    ("Cost", lambda side: f"{usd(side.usd)}, {count(side.turns, 'turn')}"),
    ("Time at work", lambda side: f"{side.active_s / 60:,.1f} min"),
    ("Branch", lambda side: side.branch if side.head else "not published"),
    ("Report", lambda side: side.done),
)
