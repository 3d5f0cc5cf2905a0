"""List the newest runs, or those of one job."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from pydantic import Field
from sqlalchemy import Connection

from bot.render.run.reasons import REASONS
from bot.web.api import jobs
from bot.web.api.jobs import MAX_TEXT, NAME, JobName, JobRun, run_summary
from bot.web.api.operation import ApiModel, ApiRequest
from bot.web.site.visibility import VisibleBoard
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState
from ledger.views import cards, runs
from runner.text.untrusted import without_invisible as clean

PATH = "/runs"
EXAMPLE: Mapping[str, Any] = {"limit": 10}
COLUMNS = ("run", "state", "job", "title", "by", "queued_at", "took_s", "usd", "why")
MAX_LISTED = 1000


class RunQuery(ApiModel):
    """Of which job, and how many."""

    issue: str = Field(
        "",
        pattern=f"^({NAME}/{NAME}#[1-9][0-9]{{0,8}})?$",
        description="owner/repository#number of a job; empty for all",
    )
    limit: int = Field(20, ge=1, le=MAX_LISTED)


class ListedRun(JobRun):
    """A run in a list, with its job."""

    repository: str = Field(description="owner/name of the issue's repository; empty for a draft")
    number: int = Field(description="The issue's number; 0 for a draft")
    title: str
    took_s: float | None = Field(description="Seconds since a worker took it, until it ended or until now")
    why: str = Field(description="Why it ended, what it does, or what it is waiting for")


class RunList(ApiModel):
    """The newest runs."""

    runs: list[ListedRun] = Field(description=f"Newest first; of many jobs, among the newest {MAX_LISTED}")


Input, Output = RunQuery, RunList


def run(call: ApiRequest, given: RunQuery) -> RunList:
    """Return them. Raises ApiError, BusyError."""
    if given.issue:
        repository, _, number = given.issue.partition("#")
        owner, _, name = repository.partition("/")
        card = jobs.card_of(call, JobName(owner=owner, repository=name, number=int(number), board=""))
        return list_of_card(call, card, given.limit)
    boards, now = {board.board_id: board for board in call.boards}, call.site.clock()
    with event_store.reading(call.site.engine) as db:
        newest = _with_cards(db, runs.newest(db, MAX_LISTED))
        listed = list(islice((it for it in newest if _is_seen(boards, *it)), given.limit))
    return RunList(runs=[_listed(it, card, now) for it, card in listed])


def list_of_card(call: ApiRequest, card: CardRow, limit: int) -> RunList:
    """Return the runs of a card that the account may see."""
    with event_store.reading(call.site.engine) as db:
        listed = runs.of_card(db, card.card_id, limit)
    return RunList(runs=[_listed(it, card, call.site.clock()) for it in listed])


def _with_cards(db: Connection, newest: Iterable[RunRow]) -> Iterable[tuple[RunRow, CardRow]]:
    for it in newest:
        card = cards.get(db, it.card_id)
        if card is not None:
            yield it, card


def _is_seen(boards: Mapping[BoardId, VisibleBoard], it: RunRow, card: CardRow) -> bool:
    """Tell whether the account may read the repositories of the run and of its card."""
    board = boards.get(card.board_id)
    seen = board.scope.seen if board else frozenset[str]()
    about = {*filter(None, (it.repository, card.repository))}
    return seen is None or (bool(about) and about <= seen)


def _listed(it: RunRow, card: CardRow, now: datetime) -> ListedRun:
    return ListedRun(
        **run_summary(it).model_dump(),
        repository=card.repository or "",
        number=card.number or 0,
        title=clean(card.title),
        took_s=None if it.claimed_at is None else ((it.ended_at or now) - it.claimed_at).total_seconds(),
        why=clean(_why(it, card))[:MAX_TEXT],
    )


def _why(it: RunRow, card: CardRow) -> str:
    """Return the reason of the run's ending, or its present work or wait."""
    if it.ending is Ending.SUCCEEDED:
        return ""
    if it.ending is not None:
        known = REASONS.get(it.reason, it.reason)
        return ": ".join(part for part in (known, it.stop_why or it.detail) if part)
    return card.because if it.state is RunState.QUEUED else it.parked_why or it.last_line
