"""List who works on what on a board: each agent and specialist with its load and recent work."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.web.api.operation import ApiModel, ApiRequest
from bot.web.site import specialists
from bot.web.site.specialists import AgentLoad
from ledger.log import event_store
from ledger.queries.agents import AgentRun
from ledger.states import Ending, RunState
from runner.text.untrusted import without_invisible as clean

PATH = "/boards/{owner}/{number}/specialists"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "number": 1}
COLUMNS = {"specialists": ("name", "agent", "model", "working", "waiting", "queued", "assigned")}
MAX_WORDS = 300


class BoardName(ApiModel):
    """The board."""

    owner: str = Field(max_length=100)
    number: int = Field(ge=1, le=999_999_999)


class SpecialistRun(ApiModel):
    """A run of a specialist."""

    run: str
    job: str = Field(description="owner/name#number")
    title: str
    state: RunState
    ending: Ending | None = Field(description="Null until it ends")
    since: datetime | None = Field(description="When it began, or ended")
    line: str = Field(description="Its latest progress")


class SpecialistLoad(ApiModel):
    """An agent or specialist. Only runs and jobs that the account may see count."""

    name: str
    agent: str
    model: str = Field(description="Empty for that of the column")
    working: int = Field(description="Runs at work")
    waiting: int = Field(description="Runs that wait for a person")
    queued: int
    assigned: int = Field(description="Open jobs that a command or a label gives to it")
    at_work: list[SpecialistRun]
    recent: list[SpecialistRun] = Field(description="Its newest runs that ended")


class SpecialistList(ApiModel):
    """All of them; those without a run only for an account that may read the policy."""

    specialists: list[SpecialistLoad]


Input, Output = BoardName, SpecialistList


def run(call: ApiRequest, given: BoardName) -> SpecialistList:
    """Return them. Raises ApiError, BusyError."""
    board = call.board(f"{given.owner}/{given.number}")
    with event_store.reading(call.site.engine) as db:
        loads = specialists.list_loads(db, board)
    return SpecialistList(specialists=[_load(it) for it in loads])


def _load(it: AgentLoad) -> SpecialistLoad:
    return SpecialistLoad(
        name=clean(it.name)[:MAX_WORDS],
        agent=clean(it.agent)[:MAX_WORDS],
        model=clean(it.model)[:MAX_WORDS],
        working=len(it.at_work),
        waiting=it.waiting,
        queued=it.queued,
        assigned=it.assigned,
        at_work=[_run(run) for run in it.at_work],
        recent=[_run(run) for run in it.recent],
    )


def _run(run: AgentRun) -> SpecialistRun:
    return SpecialistRun(
        run=run.run_id,
        job=specialists.name_of_card(run),
        title=clean(run.title)[:MAX_WORDS],
        state=run.state,
        ending=run.ending,
        since=run.ended_at or run.claimed_at,
        line=clean(run.last_line)[:MAX_WORDS],
    )
