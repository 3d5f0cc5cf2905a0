"""Create a job: an issue and its card, with its column, parents, labels, skills and workflow."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlalchemy import Connection

from bot.github.api import roles
from bot.outbox import handlers
from bot.scheduler.wakeups import wake
from bot.state import policies
from bot.system.clock import ledger_clock
from bot.web.api.jobs import NAME
from bot.web.api.operation import KEPT, ApiError, ApiModel, SiteRequest, not_found
from bot.web.api.operations.get_request import JobRequest, request_of
from bot.web.site.visibility import VisibleBoard
from ledger.events.job import JobRequested
from ledger.ids import CardId
from ledger.log import event_store
from ledger.model.column_names import column_key
from ledger.queue import acted_requests
from ledger.queue.api_tokens import Scope
from ledger.queue.sign_ins import SignIn
from ledger.states import Priority
from ledger.views import boards, cards, jobs
from rules.card.agent_choice import find_choice, list_choices
from rules.card.move_rights import may_move
from rules.card.preferences import CardLimits, limit_problem
from rules.chatops.parser import Parsed, Permitted, permit
from rules.commands.budget import MAX_USD
from rules.commands.limit import MAX_MINUTES, MAX_TURNS
from rules.intents.outbound import CreateJob
from rules.policy.messages import unknown
from rules.runs.skills import MAX_NAMED, names_of
from rules.snapshot import Mover, is_outside
from rules.text import alternatives, plain

MAX_A_DAY, LATER_S = 200, 3600  # jobs of one account
METHOD, PATH = "POST", "/jobs"
SCOPE = Scope.CREATE
EXAMPLE: Mapping[str, Any] = {"board": "acme/1", "repository": "acme/shop", "title": "Say hello"}
REPOSITORY = f"^{NAME}/{NAME}$"
Label = Annotated[str, Field(min_length=1, max_length=50)]  # as at GitHub


class JobWish(ApiModel):
    """The job that is asked for."""

    board: str = Field(max_length=200, description="owner/number")
    repository: str = Field(pattern=REPOSITORY, max_length=201, description="owner/name of its issue")
    title: str = Field(min_length=1, max_length=200)
    body: str = Field("", max_length=20_000, description="The task, and how to tell when it is done")
    column: str = Field(
        "", max_length=200, description="Column to put it in, as a drag would; empty for the inbox"
    )
    labels: list[Label] = Field(default_factory=list, max_length=20)
    parents: list[str] = Field(
        default_factory=list, max_length=20, description="Jobs that must be done first, as owner/name#number"
    )
    skills: list[str] = Field(default_factory=list, max_length=MAX_NAMED, description="Skills for its runs")
    budget: float = Field(
        0.0,
        ge=0,
        le=MAX_USD,
        allow_inf_nan=False,
        description="Dollars to add to its column's budget for its first run, as `/cardinal budget` does",
    )
    workflow: str = Field(
        "", max_length=40, description="Workflow of its runs, as `/cardinal workflow` chooses it"
    )
    agent: str = Field(
        "",
        max_length=150,
        description="Who works on it: one of the policy's `agents`",
    )
    model: str = Field("", max_length=100, description="The agent's model, where `agents` has it with one")
    minutes: int = Field(0, ge=0, le=MAX_MINUTES, description="Minutes of work for a run; 0: the column's")
    turns: int = Field(0, ge=0, le=MAX_TURNS, description="Turns of a run; 0: the column's")
    effort: Literal["", "low", "medium", "high"] = Field(
        "", description="How much the agent's model thinks; empty for the column's"
    )
    priority: Literal["", "urgent", "high", "normal", "low"] = Field(
        "", description="Its priority; empty for that of its labels"
    )


Input, Output = JobWish, JobRequest


def run(call: SiteRequest, given: JobWish) -> JobRequest:
    """Record the request once; its card is made soon.

    Raises ApiError, BusyError, GithubError, ReusedKeyError.
    """
    board = call.board(given.board)
    given = _as_at_github(board, given)
    site, key, text = call.site, secrets.token_hex(12), given.model_dump_json()
    clock = ledger_clock(site.engine, site.clock)
    now = clock()
    with event_store.reading(site.engine) as db:
        made = _find_request(db, call.key, text, now)
    if made:
        return request_of(call, made)
    given = _require_fit(call, board, given)
    services = site.services.if_served(board.board_id)
    if services is None:
        raise not_found()
    role = roles.role_of_account(services.hub, given.repository, call.visit.login, call.visit.user_id)
    now = clock()
    with event_store.writing(site.engine) as db:
        made = _find_request(db, call.key, text, now)
        if not made:
            _require_leave(db, board, call.visit, role, now, given=given)
            wish, card = _request(call, board, given, key)
            (recorded,) = event_store.append(db, wish, at=now)
            acted_requests.keep(db, call.key, text, recorded.seq, now=now, ttl=KEPT)
            handlers.put_intent(db, card, now)
    wake(services)
    return request_of(call, made or key)


def _as_at_github(board: VisibleBoard, given: JobWish) -> JobWish:
    """Return the wish with repositories spelt as the board has them: at GitHub, case makes no difference."""
    known = {name.casefold(): name for name in board.seen}

    def spell(name: str) -> str:
        repository, mark, number = name.partition("#")
        return f"{known.get(repository.casefold(), repository)}{mark}{number}"

    parents = [spell(name) for name in given.parents]
    return given.model_copy(update={"repository": spell(given.repository), "parents": parents})


def _request(
    call: SiteRequest, board: VisibleBoard, given: JobWish, key: str
) -> tuple[JobRequested, CreateJob]:
    """Return the request, and the act that makes its card."""
    by, via, column = call.visit.login, call.token.name, given.column
    parents, skills, where = tuple(given.parents), tuple(given.skills), given.repository
    wish = JobRequested(
        *(board.board_id, key, where, given.title, column, parents, skills, by, call.visit.user_id, via),
        budget_usd=given.budget,
        workflow=given.workflow,
        agent=given.agent,
        minutes=given.minutes,
        turns=given.turns,
        effort=given.effort,
        priority=Priority(given.priority) if given.priority else None,
    )
    labels, card_id = tuple(given.labels), CardId(board.board_id)
    card = CreateJob(
        card_id=card_id,
        key=key,
        repository=where,
        title=given.title,
        body=given.body,
        labels=labels,
        parents=parents,
        column=column,
        skills=skills,
        by=by,
        via=via,
    )
    return wish, card


def _require_leave(
    db: Connection, board: VisibleBoard, visit: SignIn, role: str, now: datetime, *, given: JobWish
) -> None:
    """Raise ApiError where the account may move no cards or not give all it wants, or made too many."""
    policy = policies.in_force(db, board.board_id)
    if role == roles.NONE:  # also of whom the policy names to move cards
        because = f"{visit.login} may not read {given.repository}"
        raise ApiError(
            HTTPStatus.FORBIDDEN, "refused", because, "name a repository that the account may read"
        )
    commands = {"agent": "agent", "budget": "budget", "minutes": "limit", "priority": "priority"}
    commands |= {"effort": "limit", "skills": "skills", "turns": "limit", "workflow": "workflow"}
    for field, command in commands.items():
        allowed = permit(policy, Parsed(command, ""), role=role, login=visit.login)
        if getattr(given, field) and not isinstance(allowed, Permitted):
            because = f"{visit.login} may not give the command {command} there with the role {role}"
            remedy = f"leave `{field}` out, or ask an account that may"
            raise ApiError(HTTPStatus.FORBIDDEN, "refused", because, remedy)
    if not may_move(policy, Mover(visit.login, role)):
        because = f"{visit.login} may not move cards there with the role {role}"
        raise ApiError(HTTPStatus.FORBIDDEN, "refused", because, "ask an account that may")
    if jobs.count_since(db, visit.user_id, now - KEPT) >= MAX_A_DAY:
        because = f"{visit.login} created {MAX_A_DAY} jobs within a day"
        later = "continue tomorrow"
        raise ApiError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_jobs", because, later, LATER_S)


def _find_request(db: Connection, key: str, text: str, now: datetime) -> str:
    """Return the name of the request that was made under that key; empty for none. Raises ReusedKeyError."""
    seq = acted_requests.find(db, key, text, now)
    event = next((it.event for it in event_store.read(db, after=seq - 1, limit=1)), None) if seq else None
    return event.key if isinstance(event, JobRequested) else ""


def _require_fit(call: SiteRequest, board: VisibleBoard, given: JobWish) -> JobWish:
    """Return the wish with its agent as the policy has it. Raises ApiError for a column, a repository, a
    parent, a skill, an agent, a limit or a workflow that the board cannot have.
    """
    with event_store.reading(call.site.engine) as db:
        row, policy = boards.get(db, board.board_id), policies.in_force(db, board.board_id)
        strange = next((name for name in given.parents if not _is_job(db, board, name)), "")
    names = [column.name for column in row.columns] if row else []
    if given.column and column_key(given.column) not in map(column_key, names):
        raise _unfit(f"the board has no column {plain(given.column)}, only {alternatives(names)}")
    if is_outside(given.repository, board.owner):
        raise _unfit(f"{plain(given.repository)} is not owned by {board.owner}, as the board is")
    if strange:
        raise _unfit(f"{plain(strange)} is not a job on this board that the account may read")
    if given.workflow and given.workflow not in policy.board.workflows:
        raise _unfit(unknown("workflow", given.workflow, tuple(policy.board.workflows)))
    wrong = next((skill for skill in given.skills if names_of(skill) != (skill,)), "")
    if wrong:
        raise _unfit(f"{plain(wrong)} is not a valid skill name")
    if above := limit_problem(policy, CardLimits(given.minutes, given.turns)):
        raise _unfit(above)
    wanted = f"{given.agent}/{given.model}" if given.model else given.agent
    agent = find_choice(policy, wanted)
    if wanted and not agent:
        listed = alternatives(list_choices(policy)) or "an agent: no column has `agents`"
        raise _unfit(f"{plain(wanted)} is not in the `agents` of a column: choose {listed}")
    return given.model_copy(update={"agent": agent})


def _is_job(db: Connection, board: VisibleBoard, name: str) -> bool:
    repository, _, number = name.rpartition("#")
    if repository not in board.seen or not number.isascii() or not number.isdigit() or len(number) > 9:
        return False
    known = cards.of_issue(db, repository, int(number))
    return any(card.board_id == board.board_id and not card.archived for card in known)


def _unfit(because: str) -> ApiError:
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", because, "correct it, and send it again")
