"""The event that queues a run: its branch, repository, session and settings."""

import re
import unicodedata
from dataclasses import asdict, replace

from sqlalchemy import Connection

from bot.reactor import fork
from ledger.event import Event
from ledger.events.run import CHECK, OWN, RERUN, RunQueued
from ledger.ids import CardId, RunId
from ledger.model.run_modes import FOLDER, SCRATCH, SCRATCH_BEGINS, key_of_folder
from ledger.queries import attempts, same_issue
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import RunState
from ledger.views import cards, checkpoints, children, instructions, links, placements, runs
from rules.card.agent_choice import apply_choice, choose_agent
from rules.card.dependencies import may_name
from rules.card.preferences import apply_limits, queue_priority
from rules.card.target_repository import is_shared
from rules.card.workflow_choice import apply_workflow, choose_workflow
from rules.intents.internal import QueueRun
from rules.policy.column import OF_CARD, ColumnPolicy
from rules.policy.model import Policy
from rules.runs.rerun import limit_to_today

SLUG_LENGTH = 40


def branch_name(number: int, title: str, home: str = "") -> str:
    """Return `cardinal/<n>-<slug>`: ASCII letters, digits and dashes only, for any title.

    `home`, the issue's repository where it is another one, stands before the number: each numbers its own.
    """
    place = f"{_slug(home)}-" if home else ""
    return f"cardinal/{place}{number}-{_slug(title)}"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_LENGTH].rstrip("-") or "card"


def queue_run(db: Connection, policy: Policy, intent: QueueRun) -> tuple[Event, ...]:
    """Return the RunQueued event; nothing where the card has no issue yet, or a live run."""
    card = cards.get(db, intent.card_id)
    if card is None or card.repository is None or card.number is None or card.column is None:
        return ()
    if intent.kind == CHECK:
        return _check(db, policy, intent, card)
    if intent.kind == RERUN:
        return _rerun(db, policy, intent, card)
    newest = runs.get(db, RunId(card.run_id)) if card.run_id else None
    column = policy.column(card.column)
    repository = find_repository(db, policy, card)
    if column is None or not repository or (newest is not None and newest.state is not RunState.ENDED):
        return ()
    pinned, labels = instructions.find_pinned_agent(db, card.card_id), card.choosing_labels
    flow = choose_workflow(policy.board, column, *instructions.find_pinned_workflow(db, card.card_id), labels)
    own, by = apply_workflow(policy.board, column, flow), intent.other_agent or pinned
    column = apply_choice(policy, own, by, labels)
    played_by = choose_agent(own, by, labels)
    limited = apply_limits(policy, column, card, own_agent=not played_by)
    return (
        RunQueued(
            **asdict(intent),
            run_id=runs.next_id(db),
            attempt=card.attempts + 1,
            column=card.column,
            repository=repository,
            branch=_branch(db, card, repository),
            agent=column.agent,
            session_id=_session(newest, column.agent, intent.mode),
            settings=limited.to_json(),
            workflow=flow.name,
            workflow_rule=flow.rule,
            workflow_value=flow.value,
            priority=queue_priority(policy, card),
            played_by=played_by,
            folder=_folder(db, policy, card, column, intent.mode),
        ),
    )


def queue_own_run(db: Connection, policy: Policy, intent: QueueRun) -> RunQueued | None:
    """Return the RunQueued of a run for a worker of somebody's own, whoever the column's agent is; else as
    `queue_run`.
    """
    queued = next(iter(queue_run(db, policy, intent)), None)
    if not isinstance(queued, RunQueued):
        return None
    return replace(queued, agent=OWN, session_id="", plan_required=False)


def _folder(db: Connection, policy: Policy, card: CardRow, column: ColumnPolicy, mode: str) -> str:
    """Return the name of the files that the run works on; empty where it has the repository.

    A folder is of one repository, unless the policy lets readers of one know of the others: what is written
    there is read in the reports and files of other cards.
    """
    if mode == SCRATCH:
        return f"{SCRATCH_BEGINS}{card.card_id}"
    if mode != FOLDER:
        return ""
    shared = may_name(policy, open_to_readers=False)
    name = f"{OF_CARD}/{_top_card(db, card, shared=shared)}" if column.folder == OF_CARD else column.folder
    return key_of_folder(card.board_id, "" if shared else card.repository or "", name)


def _top_card(db: Connection, card: CardRow, *, shared: bool) -> CardId:
    """Return the card of the board that this one is a part of, over all levels; itself if of none.

    Only cards of its repository count, unless a folder is `shared` by several.
    """
    seen = [card]
    while len(seen) <= children.MAX_DEPTH and (above := _card_above(db, seen[-1])):
        if above in seen or not (shared or above.repository == card.repository):
            break  # people can link issues in a circle
        seen.append(above)
    return seen[-1].card_id


def _card_above(db: Connection, card: CardRow) -> CardRow | None:
    parent = links.parent_of(db, card.card_id)
    if parent is not None:
        beside = cards.of_issue(db, parent.repository, parent.number)
        return next((it for it in beside if it.board_id == card.board_id), None)
    card_id = children.proposing_card(db, card.repository or "", card.number or -1)
    above = cards.get(db, card_id) if card_id else None
    return above if above is not None and above.board_id == card.board_id else None


def _check(db: Connection, policy: Policy, intent: QueueRun, card: CardRow) -> tuple[Event, ...]:
    """Return the RunQueued of a run that only checks, with the settings of the last run's column."""
    newest = runs.get(db, RunId(card.run_id)) if card.run_id else None
    if newest is None or newest.state is not RunState.ENDED or not card.has_open_pull:
        return ()
    if any(run.state is not RunState.ENDED for run in attempts.checking(db, card.card_id, limit=1)):
        return ()
    column = policy.column(newest.column)
    return (
        RunQueued(
            **asdict(replace(intent, plan_required=False)),
            run_id=runs.next_id(db),
            attempt=newest.attempt,
            column=newest.column,
            repository=newest.repository,
            branch=newest.branch,
            agent="",
            session_id="",
            settings=column.to_json() if column else newest.settings,
        ),
    )


def _rerun(db: Connection, policy: Policy, intent: QueueRun, card: CardRow) -> tuple[Event, ...]:
    """Return the RunQueued of a run beside the card's own, with the settings of the run that it repeats as
    far as today's let them count; the card's own limits are today's, too.
    """
    past = runs.get(db, intent.again_of)
    if past is None or past.card_id != intent.card_id:
        return ()
    origin = checkpoints.get(db, past.run_id, intent.forked_at) if intent.forked_at else None
    if intent.forked_at and origin is None:
        return ()
    then = limit_to_today(ColumnPolicy.model_validate_json(past.settings), policy.column(past.column))
    no_cards = then.pipelines.model_copy(update={"cards": 0, "links": 0})  # they would be the card's
    column = then.model_copy(update={"pipelines": no_cards})
    column = column.with_agent(intent.other_agent) if intent.other_agent else column
    column = apply_limits(policy, column, card, own_agent=False)
    run_id = runs.next_id(db)
    queued = RunQueued(
        **asdict(replace(intent, other_agent="")),
        run_id=run_id,
        attempt=past.attempt,
        column=past.column,
        repository=past.repository,
        branch=f"{past.branch}-{run_id}",
        agent=column.agent,
        session_id="",
        settings=column.to_json(),
        folder=f"{SCRATCH_BEGINS}{run_id}" if past.folder else "",
    )
    return fork.begin_at(db, queued, past, origin) if origin is not None else (queued,)


def _branch(db: Connection, card: CardRow, repository: str) -> str:
    """Return the card's branch, else that of the same issue on another board, else a new one."""
    known = card.branch or same_issue.branch_of(db, card.card_id, repository)
    return known or branch_name(card.number or 0, card.title, _elsewhere(card, repository))


def _elsewhere(card: CardRow, repository: str) -> str:
    """Return the issue's repository if the run works in another one, else an empty string."""
    home = card.repository or ""
    return "" if home.casefold() == repository.casefold() else home


def find_repository(db: Connection, policy: Policy, card: CardRow) -> str:
    """Return the repository that the run works in; empty if unclear."""
    if card.pull_repository is not None and card.has_open_pull:
        return card.pull_repository
    placed = placements.get(db, card.card_id)
    if placed is not None:
        return placed.repository
    return "" if is_shared(policy, card.repository) else card.repository or ""


def _session(newest: RunRow | None, agent: str, mode: str) -> str:
    """Return the session to resume; none of another mode, which has other rules and another workspace."""
    resumes = newest is not None and (newest.agent, newest.mode) == (agent, mode)
    return newest.session_id if newest is not None and resumes else ""
