"""A run as a story, live while it lasts: what needs you, its report, plan, changes, checks and activity."""

import json
from collections.abc import Callable, Sequence
from itertools import groupby

from flask import Response, current_app, get_template_attribute, make_response, render_template
from jinja2 import Environment
from markupsafe import Markup
from sqlalchemy import Connection

from bot.state import policies, snapshots
from bot.web.acting import offered
from bot.web.acting.offered import FormView
from bot.web.live import run_parts
from bot.web.live.response import PageUpdate, StreamResponse, last_seen_event, message
from bot.web.live.run_parts import MAX_LINE, MAX_ROWS
from bot.web.live.terminal import terminal_html
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.lists import fit_rows, newest_fitting
from bot.web.site.report import report_view
from bot.web.site.times import short_when, stamp
from bot.web.site.visibility import path_of, run_visible
from ledger.events.run import ToolUsed
from ledger.log import event_store
from ledger.queries import run_lines
from ledger.queries.run_lines import RunLine
from ledger.queries.run_rows import MAX_STEPS, RunRows
from ledger.queries.run_spans import RunSpan, RunStory, chapter_of
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState, RunStatus
from ledger.views import cards, runs
from rules.chatops.offers import Urgency
from rules.explain import why
from rules.text import brief, plain, sentence, state_word

MAX_ON_PAGE, MAX_AT_ONCE = 300, 20  # lines of a page when it is loaded, and of one message to it
MAX_BYTES = 40_000  # of such lines as HTML
WAITING = (RunState.QUEUED, RunState.AWAITING_APPROVAL, RunState.PARKED)
# The parts that each message replaces, each an element with the id of its name.
PARTS = ("state", "bar", "now", "report", "work", "facts")


def mount(site: Site) -> None:
    """Mount the page, its forms, and the stream of later events."""
    site.blueprint.register_blueprint(run_parts.live_templates())

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
        self._line_html: Callable[..., Markup] = get_template_attribute("run_line.html", "run_line")
        self._story, self._stream = RunStory(), run_lines.stream_of(run.run_id)

    def whole(self, visit: SignIn) -> Response:
        """Return the page with the newest lines; while the run goes on, a script adds new ones."""
        with event_store.reading(self._site.engine) as db:
            spans = self._story.read_more(db, self._stream)
            fresh = run_lines.later_lines(db, self.run.run_id, 0, MAX_ON_PAGE, behind=MAX_ON_PAGE)
            now = self._now(db, self.run, self._card, spans)
        newest = fresh.lines[::-1]
        lines = fit_rows((self._line(line, spans) for line in newest), MAX_BYTES)
        shown = zip(lines, (chapter_of(spans, line.seq) for line in newest), strict=False)
        chapters = [
            (0 if span is None else span.seq, self._chapter_name(span), [html for html, _ in group])
            for span, group in groupby(shown, lambda line: line[1])
        ]
        omitted = self._describe_omitted(fresh.omitted + len(fresh.lines) - len(lines), 0)
        values = {"after": fresh.last, "visit": visit, "title": plain(self._card.title) or "A draft"}
        return make_response(
            render_template(
                "run.html", chapters=chapters, omitted=omitted, **self._forms(visit), **values, **now
            )
        )

    def forms(self, visit: SignIn) -> Response:
        """Return the part of the page that is its reader's own: no stream has it, all readers share those."""
        return make_response(render_template("run_forms.html", run=self.run, **self._forms(visit)))

    def _forms(self, visit: SignIn) -> dict[str, list[FormView]]:
        """Return the forms by their places: what the run waits for, words to its agent, and all others."""
        places: dict[str, list[FormView]] = {"decisions": [], "words": [], "others": []}
        if self._card.run_id != self.run.run_id:
            return places
        for form in offered.for_card(self._site, visit, self._card.card_id):
            places[self._place_of(form)].append(form)
        return places

    def _place_of(self, form: FormView) -> str:
        offer, run = form.offer, self.run
        if offer.command == "redirect":
            return "decisions" if run.state is RunState.AWAITING_APPROVAL else "words"
        failed = run.ending not in (None, Ending.SUCCEEDED)
        acts = offer.urgency is Urgency.WAITED_FOR or offer.command in ("approve", "resume")
        return "decisions" if acts or (offer.command == "retry" and failed) else "others"

    def later(self, after: int) -> PageUpdate:
        """Return the lines after that event; where they are very many, the first of them."""
        with event_store.reading(self._site.engine) as db:
            run, card = runs.get(db, self.run.run_id), cards.get(db, self.run.card_id)
            if run is None or card is None:  # the views are being made anew
                return PageUpdate(b"", b"", after)
            spans = self._story.read_more(db, self._stream)
            fresh = run_lines.later_lines(db, run.run_id, after, MAX_AT_ONCE)
            lines = fit_rows((self._line(line, spans) for line in fresh.lines), MAX_BYTES)
            cut = len(lines) < len(fresh.lines)
            last = fresh.lines[len(lines) - 1].seq if cut else fresh.last
            text = "".join([self._describe_omitted(fresh.omitted, after), *lines])
            added = message("lines", text, last)
            if cut or fresh.more:
                return PageUpdate(added, b"", last, more=True)
            now = self._now(db, run, card, spans)
        shown = message("now", "".join(self._html(f"run_{part}.html", **now) for part in PARTS), last)
        return PageUpdate(added, shown, last, ended=run.ended_at is not None)

    def _html(self, template: str, **values: object) -> str:
        return self._templates.get_template(template).render(values)

    def _line(self, line: RunLine, spans: Sequence[RunSpan]) -> Markup:
        span = chapter_of(spans, line.seq)
        chapter, name = (0 if span is None else span.seq), self._chapter_name(span)
        picture, output = run_parts.icon_of(line), terminal_html(line.output)
        return self._line_html(line, short_when(line.at), picture, output, chapter, name)

    def _chapter_name(self, span: RunSpan | None) -> str:
        return "start" if span is None else run_parts.describe_span(span)

    def _describe_omitted(self, count: int, after: int) -> Markup:
        """Return the line that says where the omitted lines are; empty for none."""
        if not count:
            return Markup("")
        card = f"{self._card.repository}#{self._card.number} " if self._card.number else ""
        return Markup(
            '<li class="quiet">{:,} events are not shown. The operator can read them all with'
            " <code>cardinal watch {}--zoom debug --from {} --once</code></li>\n"
        ).format(count, card, after)

    def _now(self, db: Connection, run: RunRow, card: CardRow, spans: Sequence[RunSpan]) -> dict[str, object]:
        """Return the values of the parts that each message replaces."""
        rows, now = RunRows.read(db, run), self._site.clock()
        plan, asked, waits = rows.plan, rows.open_question, self._waits(db, run)
        steps = event_store.newest_of(db, self._stream, ToolUsed, MAX_STEPS)
        pull = run_parts.address_of_pull(self._site.config.git_url, card)
        return {
            "run": run,
            "offers": _offers(rows),
            "state": state_word(run.state if run.status is RunStatus.WORKING else run.status),
            "segments": run_parts.bar(spans, run, card, pull, now),
            "waits": sentence(plain(waits, MAX_LINE)) if waits else "",
            "detail": sentence(plain(run.detail, MAX_LINE)) if run.detail and run.alive else "",
            "asked": "" if asked is None else plain(asked.text, MAX_LINE),
            "asks_plan": run.state is RunState.AWAITING_APPROVAL,
            "failure": run_parts.explain_failure(rows),
            "facts": run_parts.facts_of(run),
            "spending": run_parts.spending_of(rows, json.loads(run.settings or "{}")),
            "usage": run_parts.usage_by_stage(rows, spans, now),
            "elapsed": brief((run.ended_at or now) - run.queued_at),
            "queued": stamp(run.queued_at),
            "ended": stamp(run.ended_at) if run.ended_at else "",
            "changed": run_parts.describe_change(run),
            "touched": run_parts.list_touched_files(rows, spans, steps),
            "plan": None if plan is None else (plan.revision, plan.state, plain(plan.summary, MAX_LINE)),
            "steps": fit_rows(
                (
                    (plain(step, MAX_LINE), place < run.plan_done)
                    for place, step in enumerate(run.plan_steps[:MAX_ROWS])
                )
            ),
            "plan_by": plain(plan.by) if plan is not None else "",
            "questions": newest_fitting(
                (
                    plain(row.text, MAX_LINE),
                    plain(row.answer, MAX_LINE),
                    plain(row.answered_by),
                    row.withdrawn,
                )
                for row in rows.questions[-MAX_ROWS:]
                if row is not asked
            ),
            "checks": run_parts.list_checks(rows),
            "evidence": run_parts.evidence_of(rows.gate),
            "report": report_view(rows.report, card.brief, rows.checks),
            "pull": pull,
            "pull_number": card.pull_number,
            "ready": run.ending is Ending.SUCCEEDED and bool(pull),
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
