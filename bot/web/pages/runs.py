"""A run: its stages, plan, question, checks, report and cost, from the log."""

from datetime import timedelta

from flask import Response, make_response, render_template

from bot.web.pages._lists import path_of
from bot.web.pages._site import Site, run_visible, when
from ledger.log import event_store
from ledger.queries import timeline
from ledger.queries.timeline import Zoom
from ledger.queue.sign_ins import SignIn
from ledger.views import checks, plans, questions, reports, stages
from ledger.views.cards import CardRow
from ledger.views.runs import RunRow
from rules.text import brief, plain, sentence, state_word, usd

MAX_LINES, MAX_LINE, MAX_TEXT = 200, 500, 4000


def mount(site: Site) -> None:
    """Mount the page."""

    @site.blueprint.get("/runs/<run>")
    def run_page(run: str) -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        visible = run_visible(site, visit, run)
        return site.nothing(visit) if visible is None else make_response(_page(site, visit, *visible))


def _page(site: Site, visit: SignIn, run: RunRow, card: CardRow) -> str:
    with event_store.reading(site.engine) as db:
        path = stages.of_run(db, run.run_id)
        plan = plans.newest(db, run.run_id)
        question_rows = questions.of_run(db, run.run_id)
        checked = checks.of_run(db, run.run_id)
        report = reports.get(db, run.run_id)
        lines = [
            line
            for line in timeline.of_card(db, card.card_id, Zoom.ACTIVITY, MAX_LINES)
            if line.run_id == run.run_id
        ]
    return render_template(
        "run.html",
        title=f"Run {run.run_id}",
        lines=[sentence(plain(run.detail, MAX_LINE))] if run.detail else (),
        run=run,
        state=state_word(run.ending or run.state),
        facts=_facts(run),
        stages=[(plain(row.stage), row.left_at is not None, usd(row.usd)) for row in path],
        plan=None if plan is None else (plan.revision, plan.state, plain(plan.summary, MAX_LINE)),
        steps=[(plain(step, MAX_LINE), place < run.plan_done) for place, step in enumerate(run.plan_steps)],
        questions=[
            (plain(row.text, MAX_LINE), plain(row.answer, MAX_LINE), plain(row.answered_by), row.withdrawn)
            for row in question_rows
        ],
        checks=[
            (row.tier, plain(row.command, MAX_LINE), row.exit_code, f"{row.duration_s:.1f} s", row.head[:10])
            for row in checked
        ],
        report=None if report is None else report.done[:MAX_TEXT],
        activity=[(when(line.at), plain(line.text, MAX_LINE)) for line in lines],
        card_name=f"{card.repository}#{card.number}" if card.number else "a draft",
        card_title=plain(card.title),
        card_path=path_of(card.repository, card.number),
        visit=visit,
    )


def _facts(run: RunRow) -> tuple[tuple[str, str], ...]:
    """Return what a run is known by, as pairs of a name and a value."""
    return (
        ("agent", plain(f"{run.agent} {run.agent_version}".strip())),
        ("asked by", plain(f"{run.by}{f' ({run.door})' if run.door else ''}")),
        ("repository", plain(run.repository)),
        ("branch", plain(run.branch)),
        ("attempt", f"{run.attempt} ({run.kind})"),
        ("cost", usd(run.usd)),
        ("time at work", brief(timedelta(seconds=run.active_s))),
        ("queued", when(run.queued_at)),
        ("ended", when(run.ended_at) if run.ended_at else "not yet"),
    )
