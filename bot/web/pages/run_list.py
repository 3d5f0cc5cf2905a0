"""All runs that a visitor may see, newest first: filtered by the address, page by page, or as CSV."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Response, make_response, render_template, request
from pydantic import ValidationError

from bot.render.run.reasons import explain_run
from bot.state import run_filters
from bot.state.card_filters import MAX_CHARS, FilterError
from bot.web.api.operation import ApiRequest
from bot.web.api.operations import list_runs
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from bot.web.site.visibility import path_of
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import run_list
from ledger.queries.card_filter import MAX_LOOKED_AT
from ledger.queries.run_list import ListedRun, RunChoices
from ledger.queue.sign_ins import SignIn
from ledger.states import RunStatus
from rules.runs.cost import cost_words
from rules.text import brief, plain, sentence, state_word

PAGE, MAX_ROWS = 50, 5 * list_runs.MAX_LISTED  # runs of a page, and of a CSV
MAX_OFFERED = 100  # names that a field suggests; others can be typed
MAX_TITLE, MAX_WHY = 120, 160
DAYS = (1, 7, 30, 90)
RUN = re.compile(r"r[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class RunFilterForm:
    """The filter as the address has it; nothing is listed where it has a `problem`."""

    chosen: Mapping[str, str]
    known: RunChoices
    problem: str = ""

    @property
    def narrows(self) -> bool:
        """Whether any filter is given."""
        return any(self.chosen.values())

    @property
    def narrows_names(self) -> bool:
        """Whether a filter by a name is given: those are folded."""
        return any(self.chosen[name] for name in self.offered)

    @property
    def query(self) -> str:
        """The filter as an address has it, with its question mark; empty for none."""
        given = {name: text for name, text in self.chosen.items() if text}
        return f"?{urlencode(given)}" if given else ""

    @property
    def offered(self) -> Mapping[str, Sequence[str]]:
        """The names that each field of text suggests."""
        known = self.known
        choices = (known.repositories, known.people, known.agents, known.reasons)
        return {name: its[:MAX_OFFERED] for name, its in zip(run_filters.NAMES, choices, strict=True)}


def mount(site: Site) -> None:
    """Mount the list, and the same as CSV."""

    @site.get("/runs")
    def runs_page(visit: SignIn) -> Response:
        form, listed, after = _read(site, visit, PAGE + 1)
        page = listed[:PAGE]
        more = page[-1].run.run_id if len(listed) > PAGE else ""
        shown = render_template(
            "run_list.html",
            title="Runs",
            visit=visit,
            filter=form,
            names_open=form.narrows_names,
            statuses=[(it.value, state_word(it)) for it in RunStatus],
            days=DAYS,
            rows=[_row(site, it) for it in page],
            older=f"/runs{form.query}{'&' if form.query else '?'}after={more}" if more else "",
            newest=f"/runs{form.query}" if after else "",
        )
        return make_response(shown)

    @site.get("/runs.csv")
    def runs_csv(visit: SignIn) -> Response:
        """Return the list as the API's operation writes it."""
        parameters.check_names(*run_filters.FIELDS)
        call, chosen = ApiRequest(site, visit), _read_choices()
        try:
            fields = {**chosen, "days": chosen["days"] or 0, "limit": list_runs.MAX_LISTED}
            given = list_runs.RunQuery.model_validate(fields)
        except ValidationError as error:
            raise FilterError("days", "days must be a number: correct it, or leave it out") from error
        answer = make_response(list_runs.as_csv(call, _all_of(call, given)))
        answer.content_type = "text/csv; charset=utf-8"
        answer.headers["Content-Disposition"] = 'attachment; filename="cardinal-runs.csv"'
        return answer


def _all_of(call: ApiRequest, given: list_runs.RunQuery) -> list_runs.RunList:
    """Return the pages of the list as one, of at most MAX_ROWS."""
    page = list_runs.run(call, given)
    listed = list(page.runs)
    while page.next and len(listed) < MAX_ROWS:
        page = list_runs.run(call, given.model_copy(update={"after": page.next}))
        listed += page.runs
    return page.model_copy(update={"runs": listed})


def _read_choices() -> dict[str, str]:
    return {name: request.args.get(name, "").strip()[:MAX_CHARS] for name in run_filters.FIELDS}


def _read(site: Site, visit: SignIn, limit: int) -> tuple[RunFilterForm, tuple[ListedRun, ...], str]:
    """Return the filter, the runs, and the run after which they begin. Raises BusyError, FilterError."""
    parameters.check_names(*run_filters.FIELDS, "after")
    after = request.args.get("after", "")
    if after and not RUN.fullmatch(after):
        raise FilterError("after", "“after” must be a run, as r12: correct it, or leave it out")
    scopes = [board.scope for board in site.boards_of(visit)]
    chosen = _read_choices()
    with event_store.reading(site.engine) as db:
        named = any(chosen[field] for field in run_filters.NAMES)
        known = run_list.run_choices(db, scopes, None if named else MAX_LOOKED_AT)
        try:
            wanted = run_filters.read(chosen, known, site.clock())
        except FilterError as error:
            return RunFilterForm(chosen, known, sentence(str(error))), (), after
        listed = run_list.newest(db, scopes, wanted, after=RunId(after) if after else None, limit=limit)
    return RunFilterForm(chosen, known), listed, after


def _row(site: Site, it: ListedRun) -> dict[str, object]:
    run = it.run
    return {
        "run": run.run_id,
        "card": run.card_id,
        "name": f"{it.repository}#{it.number}" if it.number else "draft",
        "path": path_of(it.repository, it.number, CardId(run.card_id)),
        "title": plain(it.title, MAX_TITLE),
        "status": state_word(run.status),
        "why": plain(explain_run(run, it.because), MAX_WHY),
        "agent": plain(run.agent),
        "by": plain(run.by),
        "cost": cost_words(run.usd, run.payer) if run.usd else "",
        "took": brief((run.ended_at or site.clock()) - run.claimed_at) if run.claimed_at else "",
        "queued": stamp(run.queued_at),
    }
