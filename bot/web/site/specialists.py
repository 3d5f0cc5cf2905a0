"""Who works on what on a board: each agent and specialist with its load and its recent work."""

from collections import Counter
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection

from bot.state import policies
from bot.web.site.visibility import VisibleBoard
from ledger.queries import agents
from ledger.queries.agents import AgentRun
from ledger.states import RUN_HELD, RunState
from rules.card.agent_choice import label_of, list_choices
from rules.policy.model import Policy
from rules.policy.stages import MARK

_WAITS = (RunState.PARKED, RunState.AWAITING_APPROVAL)
MAX_RECENT = 3  # of each
MAX_LOOKED_AT = 300  # ended runs among which the recent ones of all are found


@dataclass(frozen=True, slots=True)
class AgentLoad:
    """An agent or specialist: its runs at work, how many wait for a person and in queues, how many open cards
    are given to it, and its newest runs that ended.

    `agent` and `model` are those that a specialist or a choice names; empty where a column does.
    """

    name: str
    agent: str
    model: str
    at_work: tuple[AgentRun, ...]
    waiting: int
    queued: int
    assigned: int
    recent: tuple[AgentRun, ...]


def list_loads(db: Connection, board: VisibleBoard) -> list[AgentLoad]:
    """Return all that the policy names, for those who may read it, and all with runs in sight: by name.

    Only runs and cards about repositories that the visitor may read count.
    """
    policy = policies.in_force(db, board.board_id)
    choices = _choices(policy) if board.home else ()
    alive = agents.list_alive(db, board.scope)
    recent = agents.list_recent(db, board.scope, MAX_LOOKED_AT)
    chosen = set(list_choices(policy))
    labels = {it: label_of(it) if it in chosen else "" for it in choices}
    assigned = agents.count_assigned(db, board.scope, labels)
    given = Counter[str]()
    for choice, number in assigned.items():
        given[_name(choice)] += number
    names = {*map(_name, choices), *(run.player for run in (*alive, *recent))} - {""}
    return [
        AgentLoad(
            name=name,
            agent=agent,
            model=model,
            at_work=tuple(run for run in alive if run.player == name and run.state in RUN_HELD),
            waiting=sum(run.player == name and run.state in _WAITS for run in alive),
            queued=sum(run.player == name and run.state is RunState.QUEUED for run in alive),
            assigned=given[name],
            recent=tuple(islice((run for run in recent if run.player == name), MAX_RECENT)),
        )
        for name in sorted(names)
        for agent, model in [_who(policy, name) if board.home else ("", "")]
    ]


def _choices(policy: Policy) -> tuple[str, ...]:
    """Return the agents of columns that start runs, and all that can be chosen."""
    columns = policy.board.columns
    own = (column.agent for name, column in columns.items() if policy.archetype(name).STARTS_RUNS)
    named = (f"{MARK}{name}" for name in policy.board.specialists)
    return tuple(dict.fromkeys((*own, *list_choices(policy), *named)))


def _name(choice: str) -> str:
    return choice.removeprefix(MARK)


def _who(policy: Policy, name: str) -> tuple[str, str]:
    specialist = policy.board.specialists.get(name)
    agent, _, model = (specialist.choice if specialist else name).partition("/")
    return agent, model


def name_of_card(run: AgentRun) -> str:
    return f"{run.repository}#{run.number}"
