"""Protected files, which leave only with a person's agreement, however their path is spelled."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.path_patterns import find_protected
from runner.run.run_spec import Guards

FINDS = "Changes of what `protect` names"
ACTION = "ask"
_ADVICE = "leave the file as the default branch has it"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield every path that a pattern protects: both ends of a rename, and links in place of folders."""
    pattern_by_path = dict(find_protected({touched.path for touched in change.touched}, rules.protect))
    for touched in change.touched:
        if touched.path in pattern_by_path:
            yield breach(touched, f"protect: {pattern_by_path[touched.path]}", "is protected", _ADVICE)
