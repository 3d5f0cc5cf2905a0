"""Submodules: a whole repository of somebody else's, in one line."""

from collections.abc import Iterator

from runner.guard import SUBMODULE, Breach, Change, breach
from runner.order import Guards
from runner.patterns import folded

_ADVICE = "remove the submodule and its entry in .gitmodules"


def look(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield gitlinks that come, move or go, and every change of .gitmodules."""
    rule = f"submodules: {rules.action('submodules')}"
    for one in change.touched:
        if SUBMODULE in (one.mode, one.before_mode):
            yield breach(one, rule, "is a submodule", _ADVICE)
        elif folded(one.path.rsplit("/", 1)[-1]) == ".gitmodules":
            yield breach(one, rule, "says where submodules come from", _ADVICE)
