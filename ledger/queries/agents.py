"""Who works on what on a board: the runs of each agent and specialist, and the cards that are theirs next."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, exists, false, func, or_, select, union_all

from ledger.events.run import CHECK
from ledger.ids import CardId, RunId
from ledger.queries.card_filter import LABELS, CardScope, in_sight, within_of_run
from ledger.states import CardState, Ending, RunState
from ledger.views.cards import cards
from ledger.views.instructions import agent_pins
from ledger.views.runs import IS_LIVE, PLAYER, runs

MAX_ALIVE = 500


class AgentRun(NamedTuple):
    """A run of an agent, with its card. `player` is the agent or specialist that plays it."""

    player: str
    run_id: RunId
    card_id: CardId
    repository: str
    number: int
    title: str
    state: RunState
    ending: Ending | None
    last_line: str
    claimed_at: datetime | None
    ended_at: datetime | None


def list_alive(db: Connection, scope: CardScope) -> tuple[AgentRun, ...]:
    """Return the runs in sight that have not ended, the oldest first."""
    live = runs.c.run_id.in_(union_all(*map(select(runs.c.run_id).where, IS_LIVE)))
    query = _select_runs(scope).where(live).order_by(runs.c.serial).limit(MAX_ALIVE)
    return tuple(AgentRun(*row) for row in db.execute(query))


def list_recent(
    db: Connection, scope: CardScope, limit: int, *, player: str = "", without: CardId | None = None
) -> tuple[AgentRun, ...]:
    """Return the newest runs in sight that ended; only of one player where that is named, and of other cards
    than `without`.
    """
    query = _select_runs(scope).where(runs.c.state == RunState.ENDED, runs.c.claimed_at.is_not(None))
    query = query.where(PLAYER.in_((player,))) if player else query
    query = query.where(runs.c.card_id != without) if without is not None else query
    return tuple(AgentRun(*row) for row in db.execute(query.order_by(runs.c.serial.desc()).limit(limit)))


def count_assigned(db: Connection, scope: CardScope, labels: Mapping[str, str]) -> dict[str, int]:
    """Return for each choice of an agent how many open cards in sight a command or a label gives to it.

    `labels` has the label of each choice, which counts in any case. A command counts before labels.
    """
    is_open = and_(in_sight([scope]), cards.c.state != CardState.DONE)
    pin, of_card = agent_pins.c.choice, agent_pins.c.card_id == cards.c.card_id
    is_pinned = exists().where(of_card, is_open), pin.in_(tuple(labels))
    pinned = select(pin, func.count()).select_from(agent_pins).where(*is_pinned).group_by(pin)
    counts = dict.fromkeys(labels, 0) | {it: int(n) for it, n in db.execute(pinned)}
    named = {choice: label.casefold() for choice, label in labels.items() if label}
    # Narrows as far as databases take no notice of case.
    starts = {json.dumps(label).partition("\\")[0] for label in labels.values() if label}
    has_any = or_(false(), *(LABELS.icontains(start, autoescape=True) for start in starts))
    unpinned = ~exists().where(of_card, pin != "")
    labelled = select(cards.c.labels, cards.c.barred).where(is_open, has_any, unpinned)
    for its, barred in db.execute(labelled) if named else ():
        has = {label.casefold() for label in its if label not in barred}
        for choice in (choice for choice, label in named.items() if label in has):
            counts[choice] += 1
    return counts


def _select_runs(scope: CardScope) -> Select[Any]:
    card = cards.c.card_id, cards.c.repository, cards.c.number, cards.c.title
    run = runs.c.state, runs.c.ending, runs.c.last_line, runs.c.claimed_at, runs.c.ended_at
    query = select(PLAYER, runs.c.run_id, *card, *run)
    query = query.select_from(runs.join(cards, cards.c.card_id == runs.c.card_id))
    return query.where(within_of_run(scope), runs.c.kind != CHECK, cards.c.number.is_not(None))
