"""The ledger's rows for an act: the card, its run with all that its texts show, the place of comments."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from bot.outbox import handlers
from bot.outbox.contract import BehindError, DeclinedError, GivenUpError
from bot.render.run.story import Story
from bot.state import policies
from bot.state.outbox_context import OutboxContext
from ledger.event import Zoom
from ledger.events.run import RERUN
from ledger.ids import CardId, RunId
from ledger.model.run_modes import FIX
from ledger.queries import timeline
from ledger.queue import outbox
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Ending, PullState
from ledger.views import (
    cards,
    checks,
    remotes,
    reports,
    runs,
    signed_commits,
    spend,
    threads,
    verdicts,
)
from ledger.views.checks import CheckRow
from ledger.views.reports import ReportRow
from rules.card.routes import find_route
from rules.intents.outbound import PostReport

MAX_ACTIVITY = 30
MAX_REPORTS = 200  # runs of a card, searched for those that made its change
MAX_TIMELINE = 200  # lines of the card, searched for those of the run
MAX_RUNS = 50  # of a card, newest first, that are searched for one that pushed
CONVERSION = "convert_draft"  # a draft issue is being converted by an entry of its own


@dataclass(frozen=True, slots=True)
class CommentThread:
    """A place for comments on GitHub: an issue or a pull request, which share this API."""

    repository: str
    number: int


def read_row(db: Connection, card_id: CardId) -> CardRow:
    """Return the card; raises GivenUpError for an unknown one."""
    card = cards.get(db, card_id)
    if card is None:
        raise DeclinedError("the card is unknown: it was deleted before it was seen")
    return card


def current_card(context: OutboxContext, card_id: CardId) -> CardRow:
    """Return the card as it is now; raises GivenUpError for an unknown one."""
    with context.reading() as db:
        return read_row(db, card_id)


def run_of(db: Connection, run_id: RunId) -> RunRow:
    """Return the run; raises GivenUpError for an unknown one."""
    run = runs.get(db, run_id)
    if run is None:
        raise GivenUpError(f"run {run_id} is unknown")
    return run


def issue_of(card: CardRow, context: OutboxContext) -> CommentThread:
    """Return the card's issue; raises BehindError while it is a draft issue that is being converted.

    Raises GivenUpError for a draft whose conversion was given up.
    """
    if card.repository is not None and card.number is not None:
        return CommentThread(card.repository, card.number)
    with context.reading() as db:
        waiting = outbox.open_of_card(db, card.card_id)
    conversion = next((entry for entry in waiting if entry.act == CONVERSION), None)
    if conversion is None:
        raise GivenUpError("the card is a draft issue, which has no comments: convert it to an issue")
    raise BehindError(context.clock(), conversion, "the card is a draft issue still")


def pull_of(card: CardRow) -> CommentThread | None:
    """Return the card's pull request in any state, or None."""
    if card.pull_repository is None or card.pull_number is None:
        return None
    return CommentThread(card.pull_repository, card.pull_number)


def place_of(card: CardRow, place: str, context: OutboxContext) -> CommentThread:
    """Return the place named issue, pull or review; the pull request may be in another repository."""
    pull = None if place == "issue" else pull_of(card)
    return pull or issue_of(card, context)


def thread_of_run(db: Connection, run_id: RunId, context: OutboxContext) -> CommentThread:
    """Return the place of the run's comments: the pull request if there was one before it, else the issue."""
    run = run_of(db, run_id)
    card = _card_of(db, run)
    pull = pull_of(card)
    return pull if pull is not None and talks_on_pull(db, card, run) else issue_of(card, context)


def _card_of(db: Connection, run: RunRow) -> CardRow:
    """Return the run's card; without its pull request for a run beside the card's own."""
    card = read_row(db, run.card_id)
    if not run.again_of:
        return card
    return replace(card, pull_repository=None, pull_number=None, pull_state=PullState.NONE, pull_head="")


def talks_on_pull(db: Connection, card: CardRow, run: RunRow) -> bool:
    """Tell whether an earlier run pushed to the card's pull request.

    Only the past counts, so that all comments of one run are in one place.
    """
    return card.pull_number is not None and any(
        earlier.attempt < run.attempt and earlier.pushed_head and earlier.kind != RERUN
        for earlier in runs.of_card(db, card.card_id, limit=MAX_RUNS)
    )


def story_of(db: Connection, run_id: RunId, site: str) -> Story:
    """Return the rows of one run; raises GivenUpError for an unknown one. `site`: the pages' address."""
    run = run_of(db, run_id)
    card = _card_of(db, run)
    rows = timeline.of_card(db, card.card_id, Zoom.ACTIVITY, MAX_TIMELINE)
    lines = tuple(row for row in reversed(rows) if row.run_id == run_id)
    story = Story.read(
        db,
        run,
        card=card,
        activity=lines[:MAX_ACTIVITY],
        stop_asked_at=next((row.at for row in lines if row.kind == "RunStopAsked"), None),
        card_usd=spend.of_card(db, card.card_id).usd,
        on_pull=talks_on_pull(db, card, run),
        waived=_is_waived(db, card, run),
        restarts=_restarts(db, card, run),
        site=site,
        reports=_reports(db, run),
        threads=threads.pending(db, card.card_id) if card.has_open_pull else (),
        asking=verdicts.change_requesters(db, card.card_id) if card.has_open_pull else (),
        reported=_find_report(db, run),
    )
    return replace(story, checks=_as_on_github(db, story))


def _restarts(db: Connection, card: CardRow, run: RunRow) -> bool:
    policy, goes = policies.in_force(db, card.board_id), ""
    if run.ending in (Ending.FAILED, Ending.LOST):
        goes = find_route(policy, run, "on_failure", card.column, run.column)
    return policy.archetype(goes or card.column).STARTS_RUNS


def _as_on_github(db: Connection, story: Story) -> tuple[CheckRow, ...]:
    """Return the run's checks, each of the commit as it is on GitHub, which may have signed it anew."""
    pushed = story.run.pushed_head
    judged = signed_commits.find_judged_commit(db, pushed) if pushed else ""
    return tuple(replace(check, head=pushed) if check.head == judged else check for check in story.checks)


def _find_report(db: Connection, run: RunRow) -> str | None:
    key = handlers.key(PostReport(run.card_id, run.run_id))
    posted = remotes.get(db, key)
    if posted is not None:
        return posted.remote_id
    waits = run.ending is not None and any(entry.key == key for entry in outbox.open_of_card(db, run.card_id))
    return "" if waits else None


def _reports(db: Connection, run: RunRow) -> tuple[ReportRow, ...]:
    """Return the reports of the run and of others that pushed to its branch, oldest first; none of a failed
    one.
    """
    place = (FIX, run.repository, run.branch)
    run_ids = [
        past.run_id
        for past in reversed(runs.of_card(db, run.card_id, limit=MAX_REPORTS))
        if past.ending in (None, Ending.SUCCEEDED)
        and (past.run_id == run.run_id or (past.mode, past.repository, past.branch) == place)
    ]
    by_run = reports.of_runs(db, run_ids)
    return tuple(by_run[run_id] for run_id in run_ids if run_id in by_run)


def _is_waived(db: Connection, card: CardRow, run: RunRow) -> bool:
    """Tell whether the checks of this run's push, or else of the card's pull request, were waived."""
    head = run.pushed_head or card.pull_head
    of_card = runs.of_card(db, card.card_id, limit=MAX_RUNS)
    pusher = next((past for past in of_card if head and past.pushed_head == head), None)
    return pusher is not None and checks.covers(db, pusher.run_id, head)
