"""The limits of the cards and links that a run may make: the policy's `pipelines`."""

from dataclasses import dataclass

from runner.agents import board_tools
from runner.run.history import History
from runner.run.run_spec import RunSpec

_REST = "name further ones in `finish`, open_questions"


@dataclass(frozen=True, slots=True)
class LimitReached:
    """A limit that keeps a call from its effect.

    `limit`: cards, links or depth; `problem` is for the agent.
    """

    limit: str
    most: int
    problem: str


def limit_reached(given: board_tools.Tool, order: RunSpec, history: History) -> LimitReached | None:
    """Return the limit that a new card or link would exceed; None where it may be made."""
    limits = order.limits
    if history.cards.linked + _links(given) > limits.links:
        said = f"this run linked {history.cards.linked} cards already, and may link {limits.links}: {_REST}"
        return LimitReached("links", limits.links, said)
    if not isinstance(given, board_tools.CreateCardInput):
        return None
    if history.cards.proposed >= limits.cards:
        return LimitReached("cards", limits.cards, f"this run proposed {limits.cards} cards already: {_REST}")
    if order.depth >= limits.depth:
        said = f"this card came from {order.depth} cards of agents, so it may make none: {_REST}"
        return LimitReached("depth", limits.depth, said)
    return None


def _links(given: board_tools.Tool) -> int:
    match given:
        case board_tools.LinkCardInput():
            return 1
        case board_tools.CreateCardInput(parents=parents, after=after):
            return len(parents) + len(after)
    return 0
