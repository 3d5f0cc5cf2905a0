"""Two runs of one card side by side."""

from flask import Response, make_response, render_template
from pydantic import ValidationError

from bot.render.run.reasons import REASONS
from bot.state import policies, snapshots
from bot.web.acting import offered
from bot.web.acting.offered import FormView
from bot.web.api.operation import ApiError, ApiRequest
from bot.web.api.operations import compare_runs
from bot.web.api.operations.compare_runs import ComparedSide, TwoRuns
from bot.web.site import parameters
from bot.web.site.layout import Site
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.views import runs
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import Parsed, Permitted, permit
from rules.commands.choose import find_choice_obstacle
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
        values |= {"diff_url": compared.diff_url, "forms": _choices(site, visit, run, other)}
        return make_response(render_template("compare.html", rows=rows, compared=compared, **values))


def _choices(site: Site, visit: SignIn, *names: str) -> tuple[FormView, ...]:
    """Return the form by which the visitor makes one of these runs the card's; none where nobody may, or none
    can be. Raises BusyError.
    """
    with event_store.reading(site.engine) as db:
        rows = [row for name in names if (row := runs.get(db, RunId(name)))]
        snapshot = snapshots.of_card(db, rows[0].card_id) if rows else None
        if snapshot is None or not snapshot.repository:
            return ()
        policy = policies.in_force(db, snapshot.board_id)
    free = [row.run_id for row in rows if not find_choice_obstacle(snapshot, row)]
    fitting = [name for name in free if name != snapshot.run_id]
    role = site.readers.role(visit, snapshot.repository) if fitting else ""
    may = isinstance(permit(policy, Parsed("choose", ""), role=role, login=visit.login), Permitted)
    if not (fitting and may):
        return ()
    words = tuple((name, f"Choose {name}") for name in fitting)
    hint = "It becomes the card's own run, with a pull request of its branch."
    offer = CommandOffer("choose", "Choose", hint, Urgency.RUN, choices=words)
    return (offered.form_view(site, snapshot.card_id, offer),)


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
