"""Submodules: a whole foreign repository, in one line."""

from collections.abc import Iterator

from runner.guards.contract import SUBMODULE, Breach, Change, breach
from runner.guards.path_patterns import fold_case
from runner.run.run_spec import Guards

FINDS = "Submodules and `.gitmodules`"
ACTION = "deny"
_ADVICE = "remove the submodule and its entry in .gitmodules"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield added, moved and removed gitlinks, and every change of .gitmodules."""
    rule = f"submodules: {rules.action('submodules')}"
    for touched in change.touched:
        if SUBMODULE in (touched.mode, touched.before_mode):
            yield breach(touched, rule, "is a submodule", _ADVICE)
        elif fold_case(touched.path.rsplit("/", 1)[-1]) == ".gitmodules":
            yield breach(touched, rule, "says where submodules come from", _ADVICE)
