"""Agents that a policy's columns ask for, each with the models it would be asked for."""

from rules.policy.model import Policy


def agents_of(policy: Policy) -> dict[str, set[str]]:
    """Return the models by agent, of columns that start runs and of those with an assistant."""
    wanted: dict[str, set[str]] = {}
    for name in working_columns(policy):
        column = policy.board.columns[name]
        for choice in ("", *column.agents):
            played = column.played_by(choice, policy.board.specialists)
            wanted.setdefault(played.agent, set()).add(played.model)
    return wanted


def working_columns(policy: Policy) -> tuple[str, ...]:
    kinds = ((name, policy.archetype(name)) for name in policy.board.columns)
    return tuple(name for name, kind in kinds if kind.STARTS_RUNS or kind.HAS_ASSISTANT)
