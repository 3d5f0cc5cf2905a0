"""Which rule answers an event: every rule in `rules/handlers/` says so on itself; no list names it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from ledger.event import Event
from rules.errors import TwoRulesError
from rules.intents.outbound import Decision
from rules.registry import HANDLERS

Decide = TypeVar("Decide", bound=Callable[..., Decision])


@dataclass(frozen=True, slots=True)
class Rule:
    """The one rule about events of a kind; `answers` explains the rest."""

    decide: Callable[..., Decision]
    by_mover: bool
    unsettles_merge: bool
    answers_pulls: bool
    changes_check: bool
    reads: tuple[str, ...]


_RULES: dict[type[Event], Rule] = {}


def answers(
    *kinds: type[Event],
    by_mover: bool = False,
    unsettles_merge: bool = False,
    answers_pulls: bool = False,
    changes_check: bool = False,
    reads: tuple[str, ...] = (),
) -> Callable[[Decide], Decide]:
    """Make a function the rule about events of these kinds.

    It is called with policy, snapshot, event and now; about a board's event without a snapshot. `by_mover`:
    the card's mover is responsible for its effects. `unsettles_merge`: after such an event nobody may want a
    pending merge any more. `answers_pulls`: also on a card that is a pull request. `changes_check`: it may
    change the result or the buttons of Cardinal's check. `reads`: the parts of the snapshot that are read for
    these kinds alone; to use another such part is an error. Raises TwoRulesError.
    """

    def register(decide: Decide) -> Decide:
        for kind in kinds:
            first = _RULES[kind].decide if kind in _RULES else decide
            if (first.__module__, first.__qualname__) != (decide.__module__, decide.__qualname__):
                raise TwoRulesError(kind.__name__, first.__module__, decide.__module__)
            _RULES[kind] = Rule(
                decide=decide,
                by_mover=by_mover,
                unsettles_merge=unsettles_merge,
                answers_pulls=answers_pulls,
                changes_check=changes_check,
                reads=reads,
            )
        return decide

    return register


def rule_about(kind: type[Event]) -> Rule | None:
    """Return the rule about events of the kind; None: other events carry it, or it is only recorded."""
    return all_rules().get(kind)


@cache
def all_rules() -> dict[type[Event], Rule]:
    """Return the rules by kind of event, with every file of the folder imported."""
    for name in HANDLERS.names():
        HANDLERS.load(name)
    return _RULES
