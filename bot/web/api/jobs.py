"""Jobs: cards as programs see them, runs among them; outside text without its hidden parts."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection

from bot.state import card_filters
from bot.web.api.clean_rows import copy_fields
from bot.web.api.operation import ApiError, ApiModel, ApiRequest, not_found
from bot.web.site.visibility import VisibleBoard, may_see, run_visible
from ledger.log import event_store
from ledger.queries.card_filter import CardFilter, CardScope
from ledger.queries.lanes import ListedCard
from ledger.rows.cards import CardRow
from ledger.rows.jobs import JobRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, RunStatus
from ledger.views import boards, cards, jobs
from runner.text.untrusted import without_invisible as clean

NOT_MADE = "its issue is not made yet: GET /api/v1/requests/<request> has its number then"
MAX_TEXT = 4_000
LATE = timedelta(hours=1)  # after this long a card that was made is not on its way any more
SOON_S = 2
NAME = r"\.{0,9}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}"  # never `.` or `..`, which are steps of a path


class PendingJobError(ApiError):
    """The account asked for this job, and its card is not in the ledger yet."""

    def __init__(self, row: JobRow) -> None:
        self.row = row
        because = f"the card of {row.repository}#{row.number} is being made"
        super().__init__(
            HTTPStatus.SERVICE_UNAVAILABLE, "pending", because, "send it again in a few seconds", SOON_S
        )


class JobName(ApiModel):
    """A job by its issue."""

    owner: str = Field(pattern=f"^{NAME}$", description="Owner of the repository")
    repository: str = Field(pattern=f"^{NAME}$", description="The repository's name")
    number: int = Field(ge=1, le=999_999_999, description="The issue's number")
    board: str = Field("", max_length=200, description="owner/number of its board, for an issue on several")

    @field_validator("number", mode="before")
    @classmethod
    def _require_made(cls, number: object) -> object:
        if number in (0, "0"):
            raise PydanticCustomError("not_made", NOT_MADE)
        return number


class JobFilter(ApiModel):
    """Conditions on jobs: all that are given must hold."""

    state: str = Field("", max_length=200, description=f"One of {', '.join(CardState)}")
    repository: str = Field("", max_length=200, description="owner/name")
    person: str = Field(
        "", max_length=200, description="Someone who moved it, requested its run, or is assigned"
    )
    label: str = Field("", max_length=200, description="One of its labels")
    agent: str = Field("", max_length=200, description="The agent or specialist of its newest run")
    search: str = Field("", max_length=200, description="Words in its title, or its number")

    def read_filter(
        self, db: Connection, scopes: Sequence[CardScope], states: Collection[CardState] = tuple(CardState)
    ) -> CardFilter:
        """Return the filter of cards in these states. Raises FilterError."""
        given = {field: getattr(self, field) for field in card_filters.FIELDS}
        return card_filters.read(given, card_filters.choices_for(db, scopes, given), states)


class RunName(ApiModel):
    """A run."""

    run: str = Field(pattern=r"^r[1-9][0-9]{0,17}$", description="The run's name, such as r12")


class JobSummary(ApiModel):
    """A job in a list."""

    repository: str = Field(description="owner/name of the issue's repository; empty for a draft")
    number: int = Field(description="The issue's number; 0 for a draft")
    card: str = Field(description="Its card's id: the only name of a draft")
    title: str
    board: str = Field(description="owner/number of its board")
    column: str = Field(description="The board's column; empty for none")
    state: CardState
    since: datetime = Field(description="When it entered that state")
    why: str = Field(description="What its agent said last, or why it waits")
    run: str = Field(description="Its newest run; empty before the first")
    usd: float = Field(description="Cost of the newest run in dollars")


class JobRun(ApiModel):
    """A run of a job."""

    run: str
    status: RunStatus = Field(description="What it does or how it ended, as on the board")
    state: str = Field(description="Its step: queued, planning, working, parked and so on")
    ending: str = Field(description="succeeded, failed and so on; empty until it ends")
    reason: str = Field(description="Why it ended that way; empty on success")
    attempt: int
    mode: str
    agent: str
    effort: str = Field(description="How much the agent's model is told to think; empty for its own")
    by: str = Field(description="The account that requested it")
    branch: str = Field(description="Empty where the run has none")
    usd: float
    cost_is_reported: bool = Field(description="The cost is the agent's own word: nothing else counted it")
    active_s: float = Field(description="Seconds of work")
    queued_at: datetime
    ended_at: datetime | None


def job_summary(card: ListedCard, among: Iterable[VisibleBoard]) -> JobSummary:
    """Return a card of a list over these boards."""
    return JobSummary(
        repository=card.repository or "",
        number=card.number or 0,
        card=card.card_id,
        title=clean(card.title),
        board=next(f"{it.owner}/{it.number}" for it in among if it.board_id == card.board_id),
        column=clean(card.column or ""),
        state=CardState(card.state),
        since=card.state_at,
        why=clean(card.why),
        run=card.run_id or "",
        usd=card.usd or 0.0,
    )


def _require_known(call: ApiRequest, repository: str, number: int) -> None:
    """Raise PendingJobError where the account asked for that job a moment ago."""
    with event_store.reading(call.site.engine) as db:
        mine = jobs.list_requested_since(db, call.visit.user_id, call.site.clock() - LATE)
    for row in mine:
        if (row.repository.casefold(), row.number) == (repository.casefold(), number):
            raise PendingJobError(row)


def card_of(call: ApiRequest, name: JobName, *, acts: bool = False) -> CardRow:
    """Return the card of an issue or a pull request, on whichever board unless one is named; where it is on
    none, one that left its board.

    Raises ApiError, PendingJobError, BusyError; also where somebody who `acts` names none of several boards.
    """
    with event_store.reading(call.site.engine) as db:
        repository = cards.canonical_name(db, f"{name.owner}/{name.repository}")
        known = cards.of_issue(db, repository, name.number) or cards.of_pull(db, repository, name.number)
        places = [(address_of_board(db, it), it) for it in known]
    named = (it for it in places if not name.board or it[0].casefold() == name.board.casefold())
    seen = [it for it in named if may_see(call.site, call.visit, it[1])]
    if not seen:
        call.site.readers.must_be_able_to_ask(call.visit)
        _require_known(call, f"{name.owner}/{name.repository}", name.number)
        raise not_found()
    live = [board for board, card in seen if not card.archived]
    if acts and len(live) > 1:
        because = f"the issue is on {' and '.join(live)}"
        raise ApiError(HTTPStatus.CONFLICT, "several_boards", because, "send `board`, too")
    return seen[0][1]


def address_of_board(db: Connection, card: CardRow) -> str:
    board = boards.get(db, card.board_id)
    return f"{board.owner}/{board.number}" if board else ""


def require_run(call: ApiRequest, name: str) -> RunRow:
    """Return the run of that name. Raises ApiError, BusyError."""
    known = run_visible(call.site, call.visit, name)
    if known is None:
        call.site.readers.must_be_able_to_ask(call.visit)
        raise not_found()
    return known[0]


def run_summary(run: RunRow) -> JobRun:
    """Return a run in a list."""
    facts = {
        "run": run.run_id,
        "ending": run.ending or "",
        "reason": clean(": ".join(filter(None, (run.reason, run.detail))))[:MAX_TEXT],
        "branch": run.own_branch,
        "cost_is_reported": run.is_reported,
        "active_s": round(run.active_s, 3),
    }
    return JobRun(**{**copy_fields(JobRun, run), **facts})
