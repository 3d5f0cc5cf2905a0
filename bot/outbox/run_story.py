"""The rows of one run that its comments, report and pull request are written from."""

from sqlalchemy import Connection

from bot.outbox import handlers
from bot.outbox.targets import MAX_RUNS, card_of, run_of, talks_on_pull
from bot.render.run.story import Story
from ledger.ids import RunId
from ledger.queue import outbox
from ledger.states import Ending
from ledger.views import (
    artifacts,
    budgets,
    checks,
    observations,
    questions,
    remotes,
    reports,
    reproductions,
    runs,
    spend,
    stages,
    threads,
    timeline,
    verdicts,
    waivers,
)
from ledger.views.cards import CardRow
from ledger.views.reports import ReportRow
from ledger.views.runs import RunRow
from ledger.views.timeline import Zoom
from rules.intents.outbound import PostReport
from rules.runs.mode import INVESTIGATE

MAX_ACTIVITY = 30
MAX_REPORTS = 200  # runs of a card, searched for those that made its change
MAX_TIMELINE = 200  # lines of the card, searched for those of the run


def story_of(db: Connection, run_id: RunId, site: str = "") -> Story:
    """Return the rows of one run; raises GivenUpError for an unknown one. `site`: the pages' address."""
    run = run_of(db, run_id)
    card = card_of(db, run.card_id)
    rows = timeline.of_card(db, card.card_id, Zoom.ACTIVITY, MAX_TIMELINE)
    mine = tuple(row for row in reversed(rows) if row.run_id == run_id)
    return Story(
        card=card,
        run=run,
        report=reports.get(db, run_id),
        checks=checks.of_run(db, run_id),
        activity=mine[:MAX_ACTIVITY],
        stop_asked_at=next((row.at for row in mine if row.kind == "RunStopAsked"), None),
        card_usd=spend.of_card(db, card.card_id).usd,
        on_pull=talks_on_pull(db, card, run),
        dollars=budgets.get(db, run_id),
        asker=next((asked.asker for asked in questions.open_of_run(db, run_id)), ""),
        seen=observations.get(db, run_id),
        waived=_waived(db, card, run),
        stages=stages.of_run(db, run_id),
        left=artifacts.of_run(db, run_id),
        site=site,
        played=reproductions.of_run(db, run_id),
        reports=_reports(db, run),
        threads=threads.pending(db, card.card_id) if card.pull_state == "open" else (),
        asking=verdicts.asking(db, card.card_id) if card.pull_state == "open" else (),
        reported=_reported(db, run),
    )


def _reported(db: Connection, run: RunRow) -> str | None:
    key = handlers.key(PostReport(run.card_id, run.run_id))
    posted = remotes.get(db, key)
    if posted is not None:
        return posted.remote_id
    waits = run.ending is not None and any(entry.key == key for entry in outbox.open_of_card(db, run.card_id))
    return "" if waits else None


def _reports(db: Connection, run: RunRow) -> tuple[ReportRow, ...]:
    """Return the run's report and those of successful runs on its branch, oldest first; no investigations."""
    place = (run.repository, run.branch, Ending.SUCCEEDED)
    made = [
        past.run_id
        for past in reversed(runs.of_card(db, run.card_id, limit=MAX_REPORTS))
        if past.mode != INVESTIGATE
        and (past.run_id == run.run_id or (past.repository, past.branch, past.ending) == place)
    ]
    by_run = reports.of_runs(db, made)
    return tuple(by_run[run_id] for run_id in made if run_id in by_run)


def _waived(db: Connection, card: CardRow, run: RunRow) -> bool:
    """Tell whether the checks of this run's push, or else of the card's pull request, were waived."""
    head = run.pushed_head or card.pull_head
    of_card = runs.of_card(db, card.card_id, limit=MAX_RUNS)
    pusher = next((one for one in of_card if head and one.pushed_head == head), None)
    return pusher is not None and waivers.covers(db, pusher.run_id, head)
