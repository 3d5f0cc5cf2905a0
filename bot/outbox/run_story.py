"""Reads everything that the texts about one run need, in one look at the ledger."""

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
MAX_REPORTS = 200  # runs of a card among which those are looked for that made its change
MAX_TIMELINE = 200  # of the card, among which the run's own are looked for


def story_of(db: Connection, run_id: RunId, site: str = "") -> Story:
    """Return the rows of one run; raises GivenUpError for an unknown one. `site`: where the pages are."""
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
    waits = run.ending is not None and any(one.key == key for one in outbox.open_of_card(db, run.card_id))
    return "" if waits else None


def _reports(db: Connection, run: RunRow) -> tuple[ReportRow, ...]:
    """Return the reports of the runs that succeeded on the run's branch, and its own, the oldest first.

    Those that only looked into it made nothing of the change.
    """
    made = [
        one.run_id
        for one in reversed(runs.of_card(db, run.card_id, limit=MAX_REPORTS))
        if one.mode != INVESTIGATE
        and (
            one.run_id == run.run_id
            or (
                (one.repository, one.branch) == (run.repository, run.branch)
                and one.ending is Ending.SUCCEEDED
            )
        )
    ]
    found = reports.of_runs(db, made)
    return tuple(found[run_id] for run_id in made if run_id in found)


def _waived(db: Connection, card: CardRow, run: RunRow) -> bool:
    """Whether nothing checked what this run pushed, or else what stands on the card's pull request."""
    head = run.pushed_head or card.pull_head
    of_card = runs.of_card(db, card.card_id, limit=MAX_RUNS)
    pusher = next((one for one in of_card if head and one.pushed_head == head), None)
    return pusher is not None and waivers.covers(db, pusher.run_id, head)
