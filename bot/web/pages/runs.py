"""A run from the log, live while it goes on: stages, plan, question, checks, report, cost and activity."""

from collections.abc import Sequence
from datetime import timedelta

from flask import Blueprint, Response, current_app, make_response, render_template
from jinja2 import Environment
from markupsafe import Markup
from sqlalchemy import Connection

from bot.render.markdown import links
from bot.render.run.evidence import LOG
from bot.render.run.stages import describe_usage, stage_names
from bot.state import policies, snapshots
from bot.web import live
from bot.web.acting import offered
from bot.web.acting.offered import FormView
from bot.web.live.response import PageUpdate, StreamResponse, last_seen_event, message
from bot.web.live.terminal import terminal_html
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.lists import fit_rows, newest_fitting
from bot.web.site.times import short_when, when
from bot.web.site.visibility import path_of, run_visible
from ledger.events.run import BY_PUSH, CHECK
from ledger.events.turn import SUBSCRIPTION
from ledger.events.witness import witness_text
from ledger.log import event_store
from ledger.queries import run_lines
from ledger.queries.run_lines import RunLine
from ledger.queries.run_rows import RunRows
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import RunState
from ledger.views import cards, runs
from ledger.views.checks import TierRow
from ledger.views.stages import StageRow
from rules.explain import why
from rules.text import brief, count, kind_of_run, plain, sentence, state_word, usd

MAX_LINE, MAX_TEXT, MAX_ROWS = 500, 4000, 50
MAX_ON_PAGE, MAX_AT_ONCE = 300, 20  # lines of a page when it is loaded, and of one message to it
MAX_BYTES = 40_000  # of such lines as HTML
WAITING = (RunState.QUEUED, RunState.AWAITING_APPROVAL, RunState.PARKED)


def mount(site: Site) -> None:
    """Mount the page, its script, and the stream of later events."""
    site.blueprint.register_blueprint(Blueprint("live", live.__name__, template_folder="."))

    @site.get("/runs/<run>")
    def run_page(visit: SignIn, run: str) -> Response:
        parameters.check_names()
        visible = run_visible(site, visit, run)
        return site.nothing(visit) if visible is None else RunPage(site, *visible).whole(visit)

    @site.get("/runs/<run>/forms")
    def run_forms(visit: SignIn, run: str) -> Response:
        parameters.check_names()
        visible = run_visible(site, visit, run)
        return site.nothing(visit) if visible is None else RunPage(site, *visible).forms(visit)

    @site.get("/live/runs/<run>")
    def run_stream(visit: SignIn, run: str) -> Response:
        visible = run_visible(site, visit, run)
        if visible is None:
            return site.nothing(visit)
        page = RunPage(site, *visible)
        return StreamResponse(
            run_lines.stream_of(page.run.run_id), visit.user_id, last_seen_event(), page.later
        )


class RunPage:
    """A run's page: whole, or the update after an event, which is made without a request."""

    def __init__(self, site: Site, run: RunRow, card: CardRow) -> None:
        self._site, self.run, self._card = site, run, card
        self._templates: Environment = current_app.jinja_env

    def whole(self, visit: SignIn) -> Response:
        """Return the page with the newest lines; while the run goes on, a script adds new ones."""
        with event_store.reading(self._site.engine) as db:
            fresh = run_lines.later_lines(db, self.run.run_id, 0, MAX_ON_PAGE, behind=MAX_ON_PAGE)
            now = self._now(db, self.run, self._card)
        lines = fit_rows(map(self._line, reversed(fresh.lines)), MAX_BYTES)
        omitted = self._omitted_line(fresh.omitted + len(fresh.lines) - len(lines), 0)
        values = {"after": fresh.last, "visit": visit, "title": f"Run {self.run.run_id}"}
        activity = [omitted, *reversed(lines)]
        return make_response(
            render_template("run.html", activity=activity, forms=self._forms(visit), **values, **now)
        )

    def forms(self, visit: SignIn) -> Response:
        """Return the part of the page that is its reader's own: no stream has it, all readers share those."""
        return make_response(render_template("run_forms.html", run=self.run, forms=self._forms(visit)))

    def _forms(self, visit: SignIn) -> tuple[FormView, ...]:
        newest = self._card.run_id == self.run.run_id
        return offered.for_card(self._site, visit, self._card.card_id) if newest else ()

    def later(self, after: int) -> PageUpdate:
        """Return the lines after that event; where they are very many, the first of them."""
        with event_store.reading(self._site.engine) as db:
            run, card = runs.get(db, self.run.run_id), cards.get(db, self.run.card_id)
            if run is None or card is None:  # the views are being made anew
                return PageUpdate(b"", b"", after)
            fresh = run_lines.later_lines(db, run.run_id, after, MAX_AT_ONCE)
            lines = fit_rows(map(self._line, fresh.lines), MAX_BYTES)
            cut = len(lines) < len(fresh.lines)
            last = fresh.lines[len(lines) - 1].seq if cut else fresh.last
            text = "".join([self._omitted_line(fresh.omitted, after), *lines])
            added = message("lines", text, last)
            if cut or fresh.more:
                return PageUpdate(added, b"", last, more=True)
            now = self._now(db, run, card)
        shown = message("now", self._html("run_now.html", **now) + self._html("run_work.html", **now), last)
        return PageUpdate(added, shown, last, ended=run.ended_at is not None)

    def _html(self, template: str, **values: object) -> str:
        return self._templates.get_template(template).render(values)

    def _line(self, line: RunLine) -> Markup:
        shown = {"seq": line.seq, "at": short_when(line.at), "text": line.text}
        # The template has escaped it: autoescape is on for every .html.
        return Markup(self._html("run_line.html", **shown, output=terminal_html(line.output)))  # noqa: S704

    def _omitted_line(self, count: int, after: int) -> Markup:
        """Return the line that says where the omitted lines are; empty for none."""
        if not count:
            return Markup("")
        card = f"{self._card.repository}#{self._card.number} " if self._card.number else ""
        return Markup(
            '<li class="quiet">{:,} events are not shown. The operator can read them all with'
            " <code>cardinal watch {}--zoom debug --from {} --once</code></li>\n"
        ).format(count, card, after)

    def _now(self, db: Connection, run: RunRow, card: CardRow) -> dict[str, object]:
        """Return the values of the part that each message replaces."""
        rows = RunRows.read(db, run)
        plan, report = rows.plan, rows.report
        return {
            "run": run,
            "offers": _offers(rows),
            "lines": [sentence(plain(text, MAX_LINE)) for text in (run.detail, self._waits(db, run)) if text],
            "state": state_word(run.ending or run.state),
            "facts": facts_of(run),
            "elapsed": brief((run.ended_at or self._site.clock()) - run.queued_at),
            "stages": newest_fitting(_crumbs(run, rows.stages)),
            "changed": _describe_change(run),
            "plan": None if plan is None else (plan.revision, plan.state, plain(plan.summary, MAX_LINE)),
            "steps": fit_rows(
                (
                    (plain(step, MAX_LINE), place < run.plan_done)
                    for place, step in enumerate(run.plan_steps[:MAX_ROWS])
                )
            ),
            "questions": newest_fitting(
                (
                    plain(row.text, MAX_LINE),
                    plain(row.answer, MAX_LINE),
                    plain(row.answered_by),
                    row.withdrawn,
                )
                for row in rows.questions[-MAX_ROWS:]
            ),
            "checks": newest_fitting(
                {
                    "tier": row.tier,
                    "command": plain(row.command, MAX_LINE),
                    "exit_code": row.exit_code,
                    "witnesses": plain(witness_text(row), MAX_LINE),
                    "time": f"{row.duration_s:.1f} s",
                    "head": row.head,
                    "digest": row.log_digest,
                    "log": row.log_digest and links.of_file("", run.run_id, row.log_digest, LOG),
                }
                for row in rows.checks[-MAX_ROWS:]
            ),
            "evidence": _evidence(rows.gate),
            "report": None if report is None else terminal_html(report.done[:MAX_TEXT]),
            "card_name": f"{card.repository}#{card.number}" if card.number else "a draft",
            "card_title": plain(card.title),
            "card_path": path_of(card.repository, card.number, card.card_id),
        }

    def _waits(self, db: Connection, run: RunRow) -> str:
        """Return the subject of the run's wait, and for whom it waits; empty while it does not."""
        snapshot = snapshots.of_card(db, run.card_id) if run.state in WAITING else None
        if snapshot is None:
            return ""
        in_force = policies.in_force(db, run.board_id)
        return why(in_force, snapshots.with_place(db, snapshot), quotes=False)  # the page has the question


def _offers(rows: RunRows) -> str:
    """Return a word that is another one when other forms may be offered; an open page then asks for them."""
    run = rows.run
    unanswered = (it.question_id for it in rows.questions if it.answered_at is None and not it.withdrawn)
    return " ".join((run.state, f"{run.plan_revision}{run.plan_approved:d}", *unanswered))


def _crumbs(run: RunRow, entered: Sequence[StageRow]) -> list[tuple[str, str, str]]:
    """Return a name, a mark and the usage of each stage that was entered, then for those to come."""
    crumbs = [
        (plain(row.stage), "●" if row.left_at is None else "✓", describe_usage([row]))
        for row in entered[-MAX_ROWS:]
    ]
    known = {row.stage for row in entered}
    to_come = () if run.ended_at else (name for name in stage_names(run) if name not in known)
    return [*crumbs, *((name, "○", "") for name in to_come)]


def _describe_change(run: RunRow) -> str:
    sizes = ((run.files_changed, "file"), (run.lines_changed, "line"))
    return ", ".join(count(size, word) for size, word in sizes if size)


def _evidence(gate: TierRow | None) -> dict[str, object] | None:
    """Return the gate's last result, as the check on its commit says it; None where it never ran."""
    if gate is None:
        return None
    image = "" if gate.image == "local" else gate.image
    facts = (
        ("head", gate.head),
        ("base", gate.base),
        ("image", plain(image)),
        ("definition of the checks, SHA-256", gate.definition),
        ("paths", plain(", ".join(gate.paths))),
    )
    result = "passed" if gate.passed else "failed"
    return {"result": f"the gate {result} on a clean checkout, on {when(gate.at)}", "facts": facts}


def facts_of(run: RunRow) -> tuple[tuple[str, str], ...]:
    """Return the facts of a run, as pairs of a name and a value."""
    by = "a push" if (run.kind, run.by) == (CHECK, BY_PUSH) else run.by
    estimate = " (an estimate: a subscription pays)" if run.payer == SUBSCRIPTION else ""
    return (
        ("agent", plain(f"{run.agent} {run.agent_version}".strip())),
        ("asked by", plain(f"{by}{f' ({run.door})' if run.door else ''}")),
        ("repository", plain(run.repository)),
        ("branch", plain(run.branch)),
        ("kind", kind_of_run(run.attempt, run.kind)),
        ("cost", f"{usd(run.usd)}{estimate}"),
        ("time at work", brief(timedelta(seconds=run.active_s))),
        ("queued", when(run.queued_at)),
        ("ended", when(run.ended_at) if run.ended_at else ""),
    )
